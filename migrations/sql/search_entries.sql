-- The full-text index, folded from the log: the words of entries, summaries and knowledge. The text itself stays in the
-- payloads; first_character and characters say which part of it a piece is. A piece belongs to the session whose event
-- added it, and its forks find it there: so a removed one stays, with the versions of the session at which it was added,
-- erased and removed. It is shown while any session has it; only then the index of words has it. The vector has the stems
-- of the words in the language of the text; those of its speaker's name have the label A.
CREATE TABLE ledger.search_entries (
    namespace_id uuid NOT NULL,
    projection_version integer NOT NULL,
    stream_id uuid NOT NULL,
    version ledger.ordinal NOT NULL,
    kind text NOT NULL CHECK (kind IN ('entry', 'summary', 'knowledge')),
    piece integer NOT NULL,
    added_in ledger.ordinal NOT NULL,
    erased_in ledger.ordinal,
    removed_in ledger.ordinal,
    "position" ledger.ordinal NOT NULL,
    first_character integer NOT NULL,
    characters integer NOT NULL,
    words integer NOT NULL,
    said_on date,
    language text NOT NULL,
    shown boolean NOT NULL DEFAULT true,
    user_id ledger.short_text NOT NULL,
    session_id ledger.short_text NOT NULL,
    collection ledger.short_text,
    item_id ledger.short_text NOT NULL,
    vector tsvector NOT NULL,
    PRIMARY KEY (namespace_id, projection_version, stream_id, version, kind, piece, added_in)
);
CREATE INDEX search_entries_vector ON ledger.search_entries USING gin (vector) WHERE shown;
CREATE INDEX search_entries_user ON ledger.search_entries (namespace_id, projection_version, user_id) WHERE shown;
CREATE INDEX search_entries_removed ON ledger.search_entries (namespace_id, projection_version, stream_id, removed_in)
    WHERE NOT shown;
