-- Finds the versions of the events of one stream about given items. A function, because under row security the index
-- on hashes is of no use: they are not leakproof. Like a query of the application it sees one namespace, the one it
-- is given. Item by item, so that each look-up has the whole key of the index; planned on an empty table, any other
-- condition in the inner query could take the index on positions.
CREATE FUNCTION ledger.find_items(p_namespace_id uuid, p_stream_id uuid, p_items text[])
RETURNS TABLE (item_id text, version bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = ledger, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('ledger.namespace', p_namespace_id::text, true);
    RETURN QUERY
        SELECT f.item_id::text, f.version::bigint
        FROM (SELECT DISTINCT unnest(p_items) AS item_id) AS wanted
        CROSS JOIN LATERAL (
            SELECT e.namespace_id, e.stream_id, e.item_id, e.version
            FROM events e
            WHERE e.item_id IS NOT NULL AND uuid_hash(e.stream_id) = uuid_hash(p_stream_id)
                AND hashtext(e.item_id) = hashtext(wanted.item_id)
            OFFSET 0
        ) AS f
        WHERE f.namespace_id = p_namespace_id AND f.stream_id = p_stream_id AND f.item_id = wanted.item_id
        ORDER BY f.item_id, f.version;
END
$$;
