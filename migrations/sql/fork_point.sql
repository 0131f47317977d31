-- The hash of a stream's event at a version, which may be an event of one of its parents; null if there is no such
-- version. No lock is needed, because events never change.
CREATE FUNCTION ledger.fork_point(p_namespace_id uuid, p_stream_id uuid, p_version bigint) RETURNS bytea
LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
DECLARE
    v_stream_id uuid := p_stream_id;
    v_parent record;
BEGIN
    LOOP
        SELECT s.parent_id, s.parent_version INTO v_parent
        FROM streams s
        WHERE s.namespace_id = p_namespace_id AND s.stream_id = v_stream_id AND s.version >= p_version;
        EXIT WHEN v_parent.parent_version IS NULL OR v_parent.parent_version < p_version;
        v_stream_id := v_parent.parent_id;
    END LOOP;
    RETURN (
        SELECT e.hash
        FROM events e
        WHERE e.namespace_id = p_namespace_id AND e.stream_id = v_stream_id AND e.version = p_version
    );
END
$$;
