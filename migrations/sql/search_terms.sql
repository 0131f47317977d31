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

ALTER TABLE ledger.search_terms ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger.search_terms FORCE ROW LEVEL SECURITY;
CREATE POLICY namespace_isolation ON ledger.search_terms USING (
    array_position(
        (SELECT string_to_array(nullif(current_setting('ledger.namespace', true), ''), ',')::uuid[]), namespace_id
    ) IS NOT NULL
);
