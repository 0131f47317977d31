INSERT INTO ledger.record_accesses AS a (namespace_id, stream_id, record_id, last_accessed, access_count)
SELECT g.namespace_id, g.stream_id, g.record_id, :now, 1
FROM unnest(CAST(:namespaces AS uuid[]), CAST(:streams AS uuid[]), CAST(:ids AS text[])) AS g (
    namespace_id, stream_id, record_id
)
ON CONFLICT (namespace_id, stream_id, record_id) DO UPDATE
    SET last_accessed = greatest(a.last_accessed, excluded.last_accessed), access_count = a.access_count + 1
    WHERE a.access_count = 0 OR a.last_accessed <= excluded.last_accessed - make_interval(secs => :pause)
