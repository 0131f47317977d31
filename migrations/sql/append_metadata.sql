-- The part of `append` that stores, beside the log, the requests that were executed, and the streams' configuration
-- and end. Requests without a position were refused.
CREATE FUNCTION ledger.append_metadata(
    p_namespace_id uuid,
    p_clock timestamptz,
    h_stream_id uuid[],
    r_request_id uuid[],
    r_request_hash bytea[],
    r_writes integer[],
    w_head integer[],
    w_config_digest bytea[],
    w_expires_at timestamptz[],
    w_ended boolean[],
    w_events integer[],
    n_position bigint[]
) RETURNS void
LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
DECLARE
    v_events integer;
    v_anchor integer; -- a request to several streams is stored under the lowest id (trust R-6)
    v_id uuid;
    w integer := 0; -- writes before the current request
    e integer := 0; -- events before the current request
BEGIN
    FOR r IN 1 .. cardinality(r_writes) LOOP
        v_events := 0;
        v_anchor := NULL;
        FOR i IN w + 1 .. w + r_writes[r] LOOP
            v_events := v_events + w_events[i];
            v_anchor := least(v_anchor, w_head[i]);
            IF n_position[e + 1] IS NOT NULL THEN
                v_id := h_stream_id[w_head[i]];
                UPDATE streams s SET
                    config_digest = coalesce(w_config_digest[i], s.config_digest),
                    expires_at = nullif(coalesce(w_expires_at[i], s.expires_at), 'infinity'),
                    ended = coalesce(w_ended[i], s.ended)
                WHERE s.namespace_id = p_namespace_id AND s.stream_id = v_id
                    AND (w_config_digest[i] IS NOT NULL OR w_expires_at[i] IS NOT NULL OR w_ended[i] IS NOT NULL);
            END IF;
        END LOOP;
        IF r_request_id[r] IS NOT NULL AND n_position[e + 1] IS NOT NULL THEN
            INSERT INTO append_requests (
                namespace_id, stream_id, request_id, request_hash, first_position, event_count, recorded_at
            ) VALUES (
                p_namespace_id, h_stream_id[v_anchor], r_request_id[r], r_request_hash[r], n_position[e + 1],
                v_events, p_clock
            );
        END IF;
        w := w + r_writes[r];
        e := e + v_events;
    END LOOP;
END
$$;
