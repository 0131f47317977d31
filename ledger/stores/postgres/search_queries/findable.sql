-- The namespace is set by the statement itself, before the first policy is evaluated; see queries/read_stream.sql.
SELECT e.version
FROM ledger.search_entries e
WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
    AND e.namespace_id = %(namespace)s AND e.projection_version = %(build)s AND e.stream_id = %(stream)s
    AND e.version = ANY (%(versions)s::bigint[]) AND e.kind = 'entry' AND e.piece = 0
    AND (%(include_erased)s OR NOT e.erased)
