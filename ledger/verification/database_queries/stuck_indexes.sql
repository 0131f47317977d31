-- Stored projections whose last catch-up failed, in all namespaces, the longest ago first.
SELECT format('%%s of %%s behind position %%s (%%s)', b.projection, n.namespace, b."position",
    b.last_error) AS stuck
FROM ledger.projection_checkpoints b JOIN ledger.namespaces n USING (namespace_id)
WHERE b.last_error IS NOT NULL
ORDER BY b.updated_at LIMIT 10
