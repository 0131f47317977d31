-- Record how far builds, which are locked, are folded; a claim on one ends.
UPDATE ledger.projection_checkpoints AS c
SET "position" = g."position", updated_at = statement_timestamp(), last_error = NULL, claimed_by = NULL,
    claimed_until = NULL
FROM unnest(CAST(:namespaces AS uuid[]), CAST(:builds AS integer[]), CAST(:positions AS bigint[]))
    AS g (namespace_id, build, "position")
WHERE c.namespace_id = ANY (CAST(:namespaces AS uuid[])) AND c.namespace_id = g.namespace_id
    AND c.projection = :projection AND c.projection_version = g.build
