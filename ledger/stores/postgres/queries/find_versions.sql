-- The versions of the events of some types and an actor, each any if null, in a range that the caller keeps short. A last
-- row without version says that the stream is a fork; see read_stream.sql for the shape.
(
    SELECT e.version::bigint
    FROM ledger.events e
    WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
        AND e.namespace_id = %(namespace)s AND e.stream_id = %(stream)s
        AND e.version > %(after)s AND e.version <= %(until)s
        AND (%(types)s::text[] IS NULL OR e.type = ANY (%(types)s::text[]))
        AND (%(actor)s::text IS NULL OR e.actor = %(actor)s::text)
    ORDER BY e.version
    LIMIT greatest(%(until)s - %(after)s, 0)
)
UNION ALL
SELECT NULL
FROM ledger.streams s
WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
    AND s.namespace_id = %(namespace)s AND s.stream_id = %(stream)s AND s.parent_version IS NOT NULL
ORDER BY version NULLS LAST
