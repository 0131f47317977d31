-- Lock builds until the commit, always in the same order, and return their positions.
SELECT c.namespace_id, c."position"
FROM ledger.projection_checkpoints c
JOIN unnest(CAST(:namespaces AS uuid[]), CAST(:builds AS integer[])) AS g (namespace_id, build)
    ON c.namespace_id = g.namespace_id AND c.projection_version = g.build
WHERE c.namespace_id = ANY (CAST(:namespaces AS uuid[])) AND c.projection = :projection
ORDER BY c.namespace_id
FOR UPDATE OF c
