-- The inherited versions that each event of a fork erased or removed: a fork of the fork inherits the changes before it.
CREATE TABLE ledger.search_fork_changes (
    namespace_id uuid NOT NULL,
    projection_version integer NOT NULL,
    stream_id uuid NOT NULL,
    version ledger.ordinal NOT NULL,
    erased int8multirange NOT NULL,
    removed int8multirange NOT NULL,
    PRIMARY KEY (namespace_id, projection_version, stream_id, version)
);
