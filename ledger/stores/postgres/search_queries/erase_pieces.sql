-- Note at which version entries were erased from the window of the session that added them.
WITH given AS MATERIALIZED (
    SELECT g.*
    FROM unnest(
        CAST(:streams AS uuid[]), CAST(:versions AS bigint[]), CAST(:changes AS text[]), CAST(:firsts AS bigint[]),
        CAST(:lasts AS bigint[]), CAST(:items AS text[])
    ) AS g (stream_id, version, change, first, last, item_id)
)
UPDATE ledger.search_entries e SET erased_in = g.version
FROM given g
WHERE g.change = 'erase' AND e.namespace_id = :namespace AND e.projection_version = :build
    AND e.stream_id = g.stream_id AND e.version BETWEEN g.first AND g.last AND e.kind = 'entry'
    AND e.added_in < g.version AND e.erased_in IS NULL AND coalesce(e.removed_in > g.version, true)
