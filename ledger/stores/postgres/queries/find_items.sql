-- Item by item, for so each look-up has the whole key of its index: asked for any of several, a plan made for all
-- values walks through the stream, which it takes for one of average length.
SELECT i.item_id, i.version
FROM (SELECT set_config('ledger.namespace', %(namespace)s, true)::uuid AS id OFFSET 0) AS ns
CROSS JOIN (SELECT DISTINCT unnest(%(items)s::text[]) AS item_id) AS wanted
CROSS JOIN LATERAL (
    SELECT e.item_id, e.version
    FROM ledger.events e
    WHERE e.namespace_id = ns.id AND e.stream_id = %(stream)s AND e.item_id = wanted.item_id
    OFFSET 0
) AS i
ORDER BY i.item_id, i.version
