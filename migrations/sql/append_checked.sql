-- The part of `append` that checks each request: whether it was executed before, and whether each stream is at the
-- expected version, has the version to fork at, and lacks the items. It returns a row for each write to append; a row for
-- each refused request; a row with the first answer to each repeated one. The caller holds the lock of the namespace, so
-- this stays true until it commits (trust R-3). Requests with an id are stored here.
CREATE FUNCTION ledger.append_checked(
    p_namespace_id uuid,
    p_retry boolean,
    p_last bigint,
    p_clock timestamptz,
    h_stream_id uuid[],
    h_version bigint[],
    h_refusal text[],
    r_request_id uuid[],
    r_request_hash bytea[],
    r_writes integer[],
    w_head integer[],
    w_expected bigint[],
    w_items_after bigint[],
    w_life_after bigint[],
    w_live_until timestamptz[],
    w_parent_id uuid[],
    w_parent_version bigint[],
    w_events integer[],
    e_event_id uuid[],
    e_item_id text[]
) RETURNS TABLE (
    request integer,
    code text,
    version bigint,
    "position" bigint,
    receipts bytea[],
    write integer,
    first_event integer,
    last_event integer
)
LANGUAGE plpgsql
SET search_path = ledger, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    c_max_events CONSTANT integer := 32000;
    v_earlier record;
    v_first bigint;      -- position of the first event of an earlier attempt …
    v_stored integer;    -- … and how many it wrote: it may have been decided on another state
    v_events integer;
    v_anchor uuid;       -- a request to several streams is stored under the lowest id (trust R-6) …
    v_written integer;   -- … and its first event is in its first stream
    v_new bigint := 0;   -- events of the requests accepted so far
    v_life_changed boolean[]; -- per head: an earlier request of this call may have changed it, as its event has no item
    v_taken text[] := '{}'; -- stream and item of these events, if a request needs to know
    h integer;
    w integer := 0;      -- writes before the current request
    e integer := 0;      -- events before the current request
    x integer;           -- events before the current write
BEGIN
    FOR r IN 1 .. cardinality(r_writes) LOOP
        request := r;
        code := NULL;
        version := NULL;
        "position" := NULL;
        receipts := NULL;
        write := NULL;
        v_events := 0;
        v_anchor := NULL;
        FOR i IN w + 1 .. w + r_writes[r] LOOP
            h := w_head[i];
            v_anchor := least(v_anchor, h_stream_id[h]);
            IF v_events = 0 THEN
                v_written := h;
            END IF;
            x := e + v_events;
            v_events := v_events + w_events[i];
            IF code IS NOT NULL THEN
                CONTINUE;
            END IF;
            code := h_refusal[h];
            IF code IS NULL AND w_expected[i] >= 0 AND w_expected[i] <> h_version[h] THEN
                code := 'LG001';
                version := h_version[h];
                "position" := w_expected[i];
            ELSIF code IS NULL AND w_live_until[i] <= p_clock THEN
                code := 'LG008';
                version := h_version[h];
            ELSIF code IS NULL AND w_life_after[i] < h_version[h] AND (
                v_life_changed[h] IS TRUE
                OR life_changed(p_namespace_id, h_stream_id[h], w_life_after[i])
            ) THEN
                code := 'LG001';
                version := h_version[h];
                "position" := w_life_after[i];
            ELSIF code IS NULL AND w_parent_id[i] IS NOT NULL THEN
                IF h_version[h] <> 0 THEN -- a fork is a new stream
                    code := 'LG001';
                    version := h_version[h];
                    "position" := 0;
                ELSIF fork_point(p_namespace_id, w_parent_id[i], w_parent_version[i]) IS NULL THEN
                    code := 'LG007';
                END IF;
            ELSIF code IS NULL AND w_items_after[i] IS NOT NULL THEN
                FOR k IN x + 1 .. e + v_events LOOP
                    IF h_stream_id[h] || e_item_id[k] = ANY (v_taken)
                        OR item_known(p_namespace_id, h_stream_id[h], e_item_id[k], w_items_after[i])
                    THEN
                        code := 'LG001';
                        version := h_version[h];
                        "position" := w_items_after[i];
                        EXIT;
                    END IF;
                END LOOP;
            END IF;
        END LOOP;
        IF code IS NULL AND v_events > c_max_events THEN
            code := 'LG004';
        END IF;

        v_first := NULL;
        IF r_request_id[r] IS NOT NULL THEN
            SELECT q.request_hash, q.first_position, q.event_count INTO v_earlier
            FROM append_requests q
            WHERE q.namespace_id = p_namespace_id AND q.stream_id = v_anchor AND q.request_id = r_request_id[r];
            IF v_earlier.request_hash <> r_request_hash[r] THEN
                code := 'LG003';
                version := NULL;
                "position" := NULL;
            ELSE
                v_first := v_earlier.first_position;
                v_stored := v_earlier.event_count;
            END IF;
        ELSIF p_retry THEN
            v_stored := v_events;
            SELECT v."position" INTO v_first
            FROM events v
            WHERE v.namespace_id = p_namespace_id AND v.stream_id = h_stream_id[v_written]
                AND v.event_id = e_event_id[e + 1];
        END IF;

        IF v_first IS NOT NULL THEN
            code := NULL;
            version := NULL;
            "position" := NULL;
            SELECT array_agg(
                uuid_send(v.stream_id) || int8send(v.version) || int8send(v."position") || uuid_send(v.event_id)
                || int8send((extract(epoch FROM v.recorded_at) * 1000000)::bigint) || v.hash
                ORDER BY v."position"
            )
            INTO receipts
            FROM events v
            WHERE v.namespace_id = p_namespace_id AND v."position" >= v_first AND v."position" < v_first + v_stored;
            RETURN NEXT;
        ELSIF code IS NOT NULL THEN
            RETURN NEXT;
        ELSE
            IF r_request_id[r] IS NOT NULL AND v_events > 0 AND p_last IS NOT NULL THEN
                INSERT INTO append_requests (
                    namespace_id, stream_id, request_id, request_hash, first_position, event_count, recorded_at
                ) VALUES (
                    p_namespace_id, v_anchor, r_request_id[r], r_request_hash[r], p_last + v_new + 1, v_events, p_clock
                );
            END IF;
            v_new := v_new + v_events;
            x := e;
            FOR i IN w + 1 .. w + r_writes[r] LOOP
                h := w_head[i];
                IF w_parent_id[i] IS NOT NULL THEN
                    h_version[h] := w_parent_version[i];
                END IF;
                h_version[h] := h_version[h] + w_events[i];
                write := i;
                first_event := x + 1;
                last_event := x + w_events[i];
                IF w_items_after IS NOT NULL THEN
                    FOR k IN first_event .. last_event LOOP
                        v_taken := v_taken || (h_stream_id[h] || e_item_id[k]);
                    END LOOP;
                END IF;
                v_life_changed[h] := v_life_changed[h] IS TRUE
                    OR cardinality(array_positions(e_item_id[first_event:last_event], NULL)) > 0 OR e_item_id IS NULL;
                x := last_event;
                RETURN NEXT;
            END LOOP;
        END IF;
        w := w + r_writes[r];
        e := e + v_events;
    END LOOP;
    IF w <> cardinality(w_head) THEN
        RAISE EXCEPTION 'the arrays of the append do not fit together' USING ERRCODE = '22023';
    END IF;
END
$$;
