-- Whether a stream has an event about an item after a version; the events that a fork shares with its parents count.
CREATE FUNCTION ledger.item_known(p_namespace_id uuid, p_stream_id uuid, p_item_id text, p_after bigint)
RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path = ledger, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $$
DECLARE
    v_stream_id uuid := p_stream_id;
    v_until bigint := 9223372036854775807;
    v_parent record;
BEGIN
    LOOP
        IF EXISTS (
            SELECT
            FROM ( -- planned on an empty table, any other condition here could take the index on positions
                SELECT e.namespace_id, e.stream_id, e.item_id, e.version
                FROM events e
                WHERE e.item_id IS NOT NULL AND uuid_hash(e.stream_id) = uuid_hash(v_stream_id)
                    AND hashtext(e.item_id) = hashtext(p_item_id)
                OFFSET 0
            ) AS f
            WHERE f.namespace_id = p_namespace_id AND f.stream_id = v_stream_id AND f.item_id = p_item_id
                AND f.version > p_after AND f.version <= v_until
        ) THEN
            RETURN true;
        END IF;
        SELECT s.parent_id, s.parent_version INTO v_parent
        FROM streams s
        WHERE s.namespace_id = p_namespace_id AND s.stream_id = v_stream_id AND s.parent_version > p_after;
        IF NOT FOUND THEN
            RETURN false;
        END IF;
        v_stream_id := v_parent.parent_id;
        v_until := least(v_until, v_parent.parent_version);
    END LOOP;
END
$$;
