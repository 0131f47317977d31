-- The namespace is set by the statement itself, before the first policy is evaluated; see queries/read_stream.sql.
WITH inherited AS MATERIALIZED (
    SELECT f.ancestor_id, f.until, f.erased, f.removed
    FROM ledger.search_forks f
    WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
        AND f.namespace_id = %(namespace)s AND f.projection_version = %(build)s AND f.stream_id = %(stream)s
)
SELECT e.version
FROM ledger.search_entries e
WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
    AND e.namespace_id = %(namespace)s AND e.projection_version = %(build)s AND e.stream_id = %(stream)s
    AND e.version = ANY (%(versions)s::bigint[]) AND e.kind = 'entry' AND e.piece = 0 AND e.removed_in IS NULL
    AND (%(include_erased)s OR e.erased_in IS NULL)
UNION ALL
SELECT e.version
FROM inherited i
JOIN ledger.search_entries e ON e.stream_id = i.ancestor_id
WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
    AND e.namespace_id = %(namespace)s AND e.projection_version = %(build)s
    AND e.version = ANY (%(versions)s::bigint[]) AND e.kind = 'entry' AND e.piece = 0
    AND e.added_in <= i.until AND coalesce(e.removed_in > i.until, true) AND NOT i.removed @> e.version::bigint
    AND (%(include_erased)s OR (coalesce(e.erased_in > i.until, true) AND NOT i.erased @> e.version::bigint))
