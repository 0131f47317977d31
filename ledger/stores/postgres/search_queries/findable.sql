SELECT v.version
FROM (SELECT set_config('ledger.namespace', %(namespace)s, true)::uuid AS id OFFSET 0) AS ns
CROSS JOIN LATERAL (
    SELECT e.version
    FROM ledger.search_entries e
    WHERE e.namespace_id = ns.id AND e.projection_version = %(build)s AND e.stream_id = %(stream)s
        AND e.version = ANY (%(versions)s::bigint[]) AND e.kind = 'entry' AND e.piece = 0
        AND (%(include_erased)s OR NOT e.erased)
) AS v
