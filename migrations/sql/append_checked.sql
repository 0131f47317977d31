-- The part of `append` that checks each request: whether it was executed before, whether each stream is at the expected
-- version, and whether the version to fork at exists. Returns the indexes of the events to append, a row for each
-- refused request, and the first answer to each repeated one. The caller has locked the heads, so this stays true
-- until it commits (trust R-3).
CREATE FUNCTION ledger.append_checked(
    p_namespace_id uuid,
    h_stream_id uuid[],
    h_user_id text[],
    h_session_id text[],
    h_version bigint[],
    r_request_id uuid[],
    r_request_hash bytea[],
    r_retry boolean[],
    r_writes integer[],
    w_head integer[],
    w_expected bigint[],
    w_parent_id uuid[],
    w_parent_version bigint[],
    w_events integer[],
    e_event_id uuid[]
) RETURNS TABLE (
    request integer,
    event integer,
    code text,
    replayed boolean,
    version bigint,
    "position" bigint,
    event_id uuid,
    recorded_us bigint,
    hash bytea,
    stream_id uuid
)
LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
DECLARE
    c_max_events CONSTANT integer := 32000;
    v_refusals text[];  -- per head: why it accepts nothing
    v_earlier record;
    v_first bigint;     -- position of the first event of an earlier attempt …
    v_stored integer;   -- … and how many it wrote: it may have been decided on another state
    v_events integer;
    v_anchor integer;   -- a request to several streams is stored under the lowest id (trust R-6) …
    v_written integer;  -- … and its first event is in its first stream
    h integer;
    w integer := 0;     -- writes before the current request
    e integer := 0;     -- events before the current request
BEGIN
    SELECT array_agg(
        CASE
            WHEN s.closed THEN 'LG002'
            WHEN s.user_id <> h_user_id[u.head] OR s.session_id <> h_session_id[u.head] THEN 'LG006'
        END ORDER BY u.head
    )
    INTO v_refusals
    FROM unnest(h_stream_id) WITH ORDINALITY AS u (stream_id, head)
    JOIN streams s ON s.namespace_id = p_namespace_id AND s.stream_id = u.stream_id;

    FOR r IN 1 .. cardinality(r_writes) LOOP
        request := r;
        event := NULL;
        code := NULL;
        replayed := false;
        version := NULL;
        "position" := NULL;
        v_events := 0;
        v_anchor := NULL;
        FOR i IN w + 1 .. w + r_writes[r] LOOP
            h := w_head[i];
            v_anchor := least(v_anchor, h);
            IF v_events = 0 THEN
                v_written := h;
            END IF;
            v_events := v_events + w_events[i];
            IF code IS NULL THEN
                code := v_refusals[h];
                IF code IS NULL AND w_expected[i] >= 0 AND w_expected[i] <> h_version[h] THEN
                    code := 'LG001';
                    version := h_version[h];
                    "position" := w_expected[i];
                ELSIF code IS NULL AND w_parent_id[i] IS NOT NULL THEN
                    IF h_version[h] <> 0 THEN -- a fork is a new stream
                        code := 'LG001';
                        version := h_version[h];
                        "position" := 0;
                    ELSIF fork_point(p_namespace_id, w_parent_id[i], w_parent_version[i]) IS NULL THEN
                        code := 'LG007';
                    END IF;
                END IF;
            END IF;
        END LOOP;
        IF code IS NULL AND v_events > c_max_events THEN
            code := 'LG004';
        END IF;

        v_first := NULL;
        IF r_request_id[r] IS NOT NULL THEN
            SELECT q.request_hash, q.first_position, q.event_count INTO v_earlier
            FROM append_requests q
            WHERE q.namespace_id = p_namespace_id AND q.stream_id = h_stream_id[v_anchor]
                AND q.request_id = r_request_id[r];
            IF v_earlier.request_hash <> r_request_hash[r] THEN
                code := 'LG003';
            ELSE
                v_first := v_earlier.first_position;
                v_stored := v_earlier.event_count;
            END IF;
        ELSIF r_retry[r] THEN
            v_stored := v_events;
            SELECT v.position INTO v_first
            FROM events v
            WHERE v.namespace_id = p_namespace_id AND v.stream_id = h_stream_id[v_written]
                AND v.event_id = e_event_id[e + 1];
        END IF;

        IF v_first IS NOT NULL THEN
            RETURN QUERY
            SELECT r, NULL::integer, NULL::text, true, v.version::bigint, v.position::bigint, v.event_id,
                (extract(epoch FROM v.recorded_at) * 1000000)::bigint, v.hash::bytea, v.stream_id
            FROM events v
            WHERE v.namespace_id = p_namespace_id
                AND v.position >= v_first AND v.position < v_first + v_stored
            ORDER BY v.position;
        ELSIF code IS NOT NULL THEN
            RETURN NEXT;
        ELSE
            FOR i IN w + 1 .. w + r_writes[r] LOOP
                h_version[w_head[i]] := coalesce(w_parent_version[i], h_version[w_head[i]]) + w_events[i];
            END LOOP;
            FOR x IN e + 1 .. e + v_events LOOP
                event := x;
                RETURN NEXT;
            END LOOP;
        END IF;
        w := w + r_writes[r];
        e := e + v_events;
    END LOOP;
END
$$;
