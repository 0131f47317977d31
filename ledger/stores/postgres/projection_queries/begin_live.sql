-- Record builds of namespaces that have none of this projection; they are live, since their rows follow at once.
INSERT INTO ledger.projection_checkpoints (
    namespace_id, projection, projection_version, "position", status, code_digest, updated_at
)
SELECT g.namespace_id, CAST(:projection AS text), g.build, 0, 'live', :code_digest, statement_timestamp()
FROM unnest(CAST(:namespaces AS uuid[]), CAST(:builds AS integer[])) AS g (namespace_id, build)
WHERE NOT EXISTS (
    SELECT FROM ledger.projection_checkpoints c
    WHERE c.namespace_id = g.namespace_id AND c.namespace_id = ANY (CAST(:namespaces AS uuid[]))
        AND c.projection = CAST(:projection AS text)
)
ORDER BY g.namespace_id
ON CONFLICT (namespace_id, projection, projection_version) DO NOTHING
