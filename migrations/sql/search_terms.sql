-- The number of pieces that contain each word of a namespace, so that search can weigh rare words more and start with
-- them. The row of the empty word counts all pieces and their words.
CREATE TABLE ledger.search_terms (
    namespace_id uuid NOT NULL,
    projection_version integer NOT NULL,
    lexeme ledger.short_text NOT NULL,
    pieces bigint NOT NULL,
    words bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (namespace_id, projection_version, lexeme)
) WITH (fillfactor = 80);
