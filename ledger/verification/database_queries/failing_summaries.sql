-- Sessions whose summarizer fails repeatedly, in all namespaces, the longest ago first.
SELECT format('%%s of %%s, %%s in a row since %%s, %%s: %%s', i.session_id, n.namespace,
    i.failed_compactions, to_char(i.failing_since AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI UTC'),
    coalesce('model ' || i.failing_model, 'no model named'), i.last_failure) AS failing
FROM (
    SELECT DISTINCT ON (namespace_id, stream_id) *
    FROM ledger.session_index ORDER BY namespace_id, stream_id, projection_version DESC
) i JOIN ledger.namespaces n USING (namespace_id)
WHERE i.failed_compactions >= %(failures)s
ORDER BY i.failing_since LIMIT 10
