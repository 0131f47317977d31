-- Whether a stream has an event after a version that starts, ends, resumes or limits the life of its session.
CREATE FUNCTION ledger.life_changed(p_namespace_id uuid, p_stream_id uuid, p_after bigint) RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path = ledger, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM events e
        WHERE e.namespace_id = p_namespace_id AND e.stream_id = p_stream_id AND e.item_id IS NULL
            AND e.type IN ('session.opened', 'session.cleared', 'session.restored', 'expiry.set')
            AND e.version > p_after
    );
END
$$;
