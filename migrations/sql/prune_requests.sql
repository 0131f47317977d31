-- Delete requests that are too old to be repeated (trust R-6), but none of the last day.
CREATE FUNCTION ledger.prune_requests(p_namespace_id uuid, p_older_than interval) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_before timestamptz := v_now - p_older_than;
    v_count bigint;
BEGIN
    -- points in time, because intervals do not compare as they add up: a month counts as 30 days
    IF (v_before <= v_now - interval '24 hours') IS NOT TRUE THEN
        RAISE EXCEPTION 'requests are kept for at least 24 hours' USING ERRCODE = '22023';
    END IF;
    DELETE FROM ledger.append_requests q
        WHERE q.namespace_id = p_namespace_id AND q.recorded_at < v_before;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
