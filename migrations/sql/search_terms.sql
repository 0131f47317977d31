-- In how many pieces each word of a namespace stands: what makes a rare word count for more, and what lets a search
-- begin with it. The row of the empty word counts all pieces and their words. Pieces that left are still counted.
CREATE TABLE ledger.search_terms (
    namespace_id uuid NOT NULL,
    projection_version integer NOT NULL,
    lexeme ledger.short_text NOT NULL,
    pieces bigint NOT NULL,
    words bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (namespace_id, projection_version, lexeme)
) WITH (fillfactor = 80);
