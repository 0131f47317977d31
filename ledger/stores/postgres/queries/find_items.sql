-- Item by item, so that each look-up has the whole key of the index: for a list of items, a generic plan scans the
-- stream, because it assumes one of average length. A last row without item says that the stream is a fork, whose
-- parents must be read too.
SELECT i.item_id, i.version
FROM (SELECT set_config('ledger.namespace', %(namespace)s, true)::uuid AS id OFFSET 0) AS ns
CROSS JOIN LATERAL (
    SELECT f.item_id::text, f.version::bigint
    FROM (SELECT DISTINCT unnest(%(items)s::text[]) AS item_id) AS wanted
    CROSS JOIN LATERAL (
        SELECT e.item_id, e.version
        FROM ledger.events e
        WHERE e.namespace_id = ns.id AND e.stream_id = %(stream)s AND e.item_id = wanted.item_id
        OFFSET 0
    ) AS f
    UNION ALL
    SELECT NULL, s.parent_version
    FROM ledger.streams s
    WHERE s.namespace_id = ns.id AND s.stream_id = %(stream)s AND s.parent_version IS NOT NULL
) AS i
ORDER BY i.item_id NULLS LAST, i.version
