-- The full-text index, folded from the log: the words of entries, summaries and knowledge. The text itself stays in the
-- payloads; first_character and characters say which part of it a piece is.
CREATE TABLE ledger.search_entries (
    namespace_id uuid NOT NULL,
    projection_version integer NOT NULL,
    stream_id uuid NOT NULL,
    version ledger.ordinal NOT NULL,
    kind text NOT NULL CHECK (kind IN ('entry', 'summary', 'knowledge')),
    piece integer NOT NULL,
    "position" ledger.ordinal NOT NULL,
    first_character integer NOT NULL,
    characters integer NOT NULL,
    words integer NOT NULL,
    erased boolean NOT NULL DEFAULT false,
    user_id ledger.short_text NOT NULL,
    session_id ledger.short_text NOT NULL,
    collection ledger.short_text,
    item_id ledger.short_text NOT NULL,
    vector tsvector NOT NULL,
    PRIMARY KEY (namespace_id, projection_version, stream_id, version, kind, piece)
);
CREATE INDEX search_entries_vector ON ledger.search_entries USING gin (vector);
CREATE INDEX search_entries_user ON ledger.search_entries (namespace_id, projection_version, user_id);
