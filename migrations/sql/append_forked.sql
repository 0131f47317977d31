-- The part of `append` that starts forks: the head of each new stream is set to where it was forked, so that its first
-- event is numbered and chained after its parent's (trust H-16). Returns these heads.
CREATE FUNCTION ledger.append_forked(
    p_namespace_id uuid,
    h_stream_id uuid[],
    w_head integer[],
    w_parent_id uuid[],
    w_parent_version bigint[],
    w_events integer[],
    p_accepted integer[] -- indexes of the accepted events
) RETURNS TABLE (
    head integer,
    version bigint,
    hash bytea
)
LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
DECLARE
    e integer := 0; -- events before the current write
BEGIN
    FOR i IN 1 .. cardinality(w_head) LOOP
        IF w_parent_id[i] IS NOT NULL AND e + 1 = ANY (p_accepted) THEN
            head := w_head[i];
            version := w_parent_version[i];
            hash := fork_point(p_namespace_id, w_parent_id[i], w_parent_version[i]);
            UPDATE streams s SET parent_id = w_parent_id[i], parent_version = w_parent_version[i]
            WHERE s.namespace_id = p_namespace_id AND s.stream_id = h_stream_id[head];
            RETURN NEXT;
        END IF;
        e := e + w_events[i];
    END LOOP;
END
$$;
