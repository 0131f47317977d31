-- States of projections at a version: a cache that can be deleted at any time (style §4). The mac, under a key that is not
-- in the database, proves that the ledger wrote the row; head_hash is the hash of the event at the version (trust K-1).
CREATE TABLE ledger.snapshots (
    namespace_id uuid NOT NULL,
    stream_id uuid NOT NULL,
    projection ledger.short_text NOT NULL,
    projection_version integer NOT NULL,
    version ledger.ordinal NOT NULL,
    code_digest ledger.hash NOT NULL,
    head_hash ledger.hash NOT NULL,
    mac ledger.hash NOT NULL,
    state bytea NOT NULL,
    PRIMARY KEY (namespace_id, stream_id, projection, projection_version, version)
);
