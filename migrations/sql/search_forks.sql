-- What forks find of their parents, which is not copied: of each ancestor the pieces that it had at version "until",
-- but for the versions that the fork, or a fork between the two, removed. The oldest opening comes first.
CREATE TABLE ledger.search_forks (
    namespace_id uuid NOT NULL,
    projection_version integer NOT NULL,
    stream_id uuid NOT NULL,
    ancestor_id uuid NOT NULL,
    until ledger.ordinal NOT NULL,
    "position" ledger.ordinal NOT NULL,
    erased int8multirange NOT NULL,
    removed int8multirange NOT NULL,
    user_id ledger.short_text NOT NULL,
    session_id ledger.short_text NOT NULL,
    PRIMARY KEY (namespace_id, projection_version, stream_id, ancestor_id)
);
CREATE INDEX search_forks_ancestor ON ledger.search_forks (namespace_id, projection_version, ancestor_id, "position");
CREATE INDEX search_forks_user ON ledger.search_forks (namespace_id, projection_version, user_id);
