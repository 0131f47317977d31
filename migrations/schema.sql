-- The schema that the migrations make, as pg_dump writes it: to read, and to see in a review what a migration changes.
-- Made by `make schema`, never edited; tests/postgres/test_schema.py compares it with a migrated database.

--
-- Name: ledger; Type: SCHEMA; Schema: -; Owner: ledger_owner
--

CREATE SCHEMA ledger;


ALTER SCHEMA ledger OWNER TO ledger_owner;

--
-- Name: hash; Type: DOMAIN; Schema: ledger; Owner: ledger_owner
--

CREATE DOMAIN ledger.hash AS bytea
	CONSTRAINT hash_check CHECK ((octet_length(VALUE) = 32));


ALTER DOMAIN ledger.hash OWNER TO ledger_owner;

--
-- Name: ordinal; Type: DOMAIN; Schema: ledger; Owner: ledger_owner
--

CREATE DOMAIN ledger.ordinal AS bigint
	CONSTRAINT ordinal_check CHECK ((VALUE > 0));


ALTER DOMAIN ledger.ordinal OWNER TO ledger_owner;

--
-- Name: short_text; Type: DOMAIN; Schema: ledger; Owner: ledger_owner
--

CREATE DOMAIN ledger.short_text AS text
	CONSTRAINT short_text_check CHECK ((octet_length(VALUE) <= 512));


ALTER DOMAIN ledger.short_text OWNER TO ledger_owner;

--
-- Name: stored_part; Type: DOMAIN; Schema: ledger; Owner: ledger_owner
--

CREATE DOMAIN ledger.stored_part AS bytea
	CONSTRAINT stored_part_check CHECK ((octet_length(VALUE) <= 8388608));


ALTER DOMAIN ledger.stored_part OWNER TO ledger_owner;

--
-- Name: append(uuid, text, boolean, boolean, uuid[], text[], text[], uuid[], bytea[], integer[], integer[], bigint[], bigint[], bigint[], timestamp with time zone[], uuid[], bigint[], integer[], uuid[], text[], smallint[], smallint[], timestamp with time zone[], text[], text[], uuid[], bytea[], bytea[], bytea[]); Type: FUNCTION; Schema: ledger; Owner: ledger_owner
--

CREATE FUNCTION ledger.append(p_namespace_id uuid, p_role text, p_unsafe boolean, p_retry boolean, h_stream_id uuid[], h_user_id text[], h_session_id text[], r_request_id uuid[], r_request_hash bytea[], r_writes integer[], w_head integer[], w_expected bigint[], w_items_after bigint[], w_life_after bigint[], w_live_until timestamp with time zone[], w_parent_id uuid[], w_parent_version bigint[], w_events integer[], e_event_id uuid[], e_type text[], e_schema_version smallint[], e_codec smallint[], e_occurred_at timestamp with time zone[], e_actor text[], e_item_id text[], e_key_id uuid[], e_key_commitment bytea[], e_structure bytea[], e_content bytea[]) RETURNS TABLE(request integer, code text, version bigint, "position" bigint, recorded_us bigint, receipts bytea[])
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ledger', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_nestloop TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    c_zero CONSTANT bytea := '\x0000000000000000000000000000000000000000000000000000000000000000';
    v_last bigint;         -- the last position
    v_clock timestamptz;
    v_writes integer := coalesce(cardinality(w_head), cardinality(h_stream_id));
    v_count integer := cardinality(e_event_id);
    v_h text := '[1:' || cardinality(h_stream_id) || ']'; -- the bounds of the arrays
    v_r text := '[1:' || coalesce(cardinality(r_writes), v_writes) || ']';
    v_w text := '[1:' || v_writes || ']';
    v_e text := '[1:' || v_count || ']';
    v_versions bigint[];   -- per head: version and hash of its newest event …
    v_hashes bytea[];
    v_refusals text[];     -- … why it accepts nothing …
    v_parents integer[];   -- … the write that forks it …
    v_missing boolean[];   -- … and whether the stream is new
    v_heads integer[];     -- per event: its head; null if each has the head of its own index
    v_accepted integer[];  -- indexes of the accepted events; null means all
    n_version bigint[];    -- per accepted event
    n_digest bytea[];
    n_tail bytea[];        -- its frame (trust §3) from the event id to the digests
    n_hash bytea[];
    v_answer record;
    h integer;
    w integer;
BEGIN
    IF p_namespace_id IS NULL OR p_role IS DISTINCT FROM coalesce(nullif(current_setting('role'), 'none'), session_user)
        OR current_setting('synchronous_commit') = 'off' AND p_unsafe IS NOT TRUE
        OR set_config('ledger.namespace', p_namespace_id::text, true) IS NULL
    THEN
        RAISE EXCEPTION 'append needs a namespace, the role it was opened with, and synchronous_commit'
            USING ERRCODE = '42501';
    END IF;

    -- (1) the arguments, whoever sent them; nulls where a value must be are refused by the tables
    IF (
        v_h = ALL (ARRAY[array_dims(h_stream_id), array_dims(h_user_id), array_dims(h_session_id)])
        AND v_r = ALL (ARRAY[
            coalesce(array_dims(r_writes), v_r), coalesce(array_dims(r_request_id), v_r),
            coalesce(array_dims(r_request_hash), v_r)
        ])
        AND v_w = ALL (ARRAY[
            coalesce(array_dims(w_head), v_w), coalesce(array_dims(w_events), v_w),
            coalesce(array_dims(w_expected), v_w), coalesce(array_dims(w_items_after), v_w),
            coalesce(array_dims(w_life_after), v_w), coalesce(array_dims(w_live_until), v_w),
            coalesce(array_dims(w_parent_id), v_w), coalesce(array_dims(w_parent_version), v_w)
        ])
        AND v_e = ALL (ARRAY[
            array_dims(e_event_id), array_dims(e_type), array_dims(e_schema_version), array_dims(e_codec),
            array_dims(e_occurred_at), array_dims(e_actor), array_dims(e_structure), coalesce(array_dims(e_content), v_e),
            coalesce(array_dims(e_item_id), v_e), coalesce(array_dims(e_key_id), v_e), coalesce(array_dims(e_key_commitment), v_e)
        ])
        AND coalesce(1 <= ALL (r_writes), r_writes IS NULL)
        AND coalesce(0 <= ALL (w_events) AND v_count >= ALL (w_events), w_events IS NULL)
        AND coalesce(1 <= ALL (w_head) AND cardinality(h_stream_id) >= ALL (w_head), w_head IS NULL)
    ) IS NOT TRUE THEN
        RAISE EXCEPTION 'the arrays of the append do not fit together' USING ERRCODE = '22023';
    END IF;
    IF w_head IS NOT NULL OR w_events IS NOT NULL THEN
        v_heads := '{}';
        FOR i IN 1 .. v_writes LOOP
            v_heads := v_heads || array_fill(coalesce(w_head[i], i), ARRAY[coalesce(w_events[i], 1)]);
        END LOOP;
    END IF;
    IF v_count <> coalesce(cardinality(v_heads), v_writes) THEN
        RAISE EXCEPTION 'the arrays of the append do not fit together' USING ERRCODE = '22023';
    END IF;

    -- (2) the lock, then the clock
    SELECT n.last_position INTO v_last FROM namespaces n WHERE n.namespace_id = p_namespace_id FOR UPDATE;
    v_clock := clock_timestamp();
    recorded_us := extract(epoch FROM v_clock) * 1000000;

    -- (3) the heads
    SELECT
        array_agg(coalesce(f.version, 0) ORDER BY f.head),
        array_agg(coalesce(f.head_hash, c_zero) ORDER BY f.head),
        array_agg(f.refusal ORDER BY f.head),
        array_agg(f.version IS NULL ORDER BY f.head)
    INTO v_versions, v_hashes, v_refusals, v_missing
    FROM (
        SELECT
            u.head,
            s.version,
            s.head_hash::bytea,
            CASE
                WHEN s.closed THEN 'LG002'
                WHEN s.user_id <> u.user_id OR s.session_id <> u.session_id THEN 'LG006'
                WHEN s.stream_id IS NULL
                    AND name_uuid(p_namespace_id, u.user_id || chr(31) || u.session_id) <> u.stream_id THEN 'LG006'
            END AS refusal
        FROM unnest(h_stream_id, h_user_id, h_session_id) WITH ORDINALITY AS u (stream_id, user_id, session_id, head)
        LEFT JOIN streams s ON s.namespace_id = p_namespace_id AND s.stream_id = u.stream_id
            AND s.stream_id = ANY (h_stream_id) -- for the index
    ) AS f;

    -- (4) what is refused, and what was executed before
    IF cardinality(array_remove(v_refusals, NULL)) > 0 OR w_expected IS NOT NULL OR r_request_id IS NOT NULL
        OR p_retry OR w_items_after IS NOT NULL OR w_parent_id IS NOT NULL OR v_count > 32000 -- EVENTS_PER_APPEND
        OR v_clock >= ANY (w_live_until)
        OR w_life_after IS NOT NULL AND (w_head IS NOT NULL OR w_life_after <> v_versions)
    THEN
        v_accepted := '{}';
        FOR v_answer IN
            SELECT * FROM append_checked(
                p_namespace_id, p_retry, v_last, v_clock, h_stream_id, v_versions, v_refusals, r_request_id,
                r_request_hash, coalesce(r_writes, array_fill(1, ARRAY[v_writes])),
                coalesce(w_head, ARRAY(SELECT generate_series(1, v_writes))), w_expected, w_items_after, w_life_after,
                w_live_until, w_parent_id, w_parent_version, coalesce(w_events, array_fill(1, ARRAY[v_writes])),
                e_event_id, e_item_id
            )
        LOOP
            IF v_answer.write IS NULL THEN
                request := v_answer.request;
                code := v_answer.code;
                version := v_answer.version;
                "position" := v_answer."position";
                receipts := v_answer.receipts;
                RETURN NEXT;
            ELSE
                w := v_answer.write;
                v_accepted := v_accepted || ARRAY(SELECT generate_series(v_answer.first_event, v_answer.last_event));
                IF w_parent_id[w] IS NOT NULL THEN
                    h := coalesce(w_head[w], w);
                    v_parents[h] := w;
                    v_versions[h] := w_parent_version[w];
                    v_hashes[h] := fork_point(p_namespace_id, w_parent_id[w], w_parent_version[w]);
                END IF;
            END IF;
        END LOOP;
        v_count := cardinality(v_accepted);
        IF v_count = 0 THEN
            RETURN;
        END IF;
    END IF;
    IF v_last IS NULL THEN -- only now, because a refused request creates no namespace
        RAISE EXCEPTION 'unknown namespace' USING ERRCODE = 'LG005';
    END IF;

    -- (5) number and chain; the frame is that of trust §3
    SELECT
        array_agg(f.digest ORDER BY f.k),
        array_agg(
            uuid_send(e_event_id[f.x])
            || int4send(octet_length(e_type[f.x])) || convert_to(e_type[f.x], 'UTF8')
            || int2send(e_schema_version[f.x])
            || int2send(e_codec[f.x])
            || int8send((extract(epoch FROM e_occurred_at[f.x]) * 1000000)::bigint)
            || int8send(recorded_us)
            || int4send(octet_length(e_actor[f.x])) || convert_to(e_actor[f.x], 'UTF8')
            || coalesce('\x01'::bytea || uuid_send(e_key_id[f.x]), '\x00'::bytea)
            || coalesce(e_key_commitment[f.x], c_zero)
            || sha256(e_structure[f.x])
            || coalesce(f.digest, c_zero)
            ORDER BY f.k
        )
    INTO n_digest, n_tail
    FROM (
        SELECT k, coalesce(v_accepted[k], k) AS x, sha256(e_content[coalesce(v_accepted[k], k)]) AS digest
        FROM generate_series(1, v_count) AS k
        OFFSET 0
    ) AS f;
    receipts := NULL;
    FOR i IN 1 .. v_count LOOP
        h := coalesce(v_accepted[i], i);
        h := coalesce(v_heads[h], h);
        v_versions[h] := v_versions[h] + 1;
        n_version[i] := v_versions[h];
        n_hash[i] := sha256(
            '\x6d6c65646765722f6576656e742f320a'::bytea
            || uuid_send(p_namespace_id)
            || uuid_send(h_stream_id[h])
            || int8send(v_versions[h])
            || int8send(v_last + i)
            || n_tail[i]
            || v_hashes[h]
        );
        receipts[i] := int8send(v_versions[h]) || v_hashes[h] || n_hash[i];
        v_hashes[h] := n_hash[i];
    END LOOP;

    -- (6) the events; by subscripts, because unnest would start a scan for each array
    INSERT INTO events (
        "position", version, occurred_at, recorded_at, namespace_id, stream_id, event_id, schema_version, codec,
        type, actor, item_id, key_id, key_commitment, content_digest, hash, structure, content
    )
    SELECT
        v_last + f.k, n_version[f.k], e_occurred_at[f.x], v_clock, p_namespace_id,
        h_stream_id[coalesce(v_heads[f.x], f.x)], e_event_id[f.x], e_schema_version[f.x], e_codec[f.x], e_type[f.x],
        e_actor[f.x], e_item_id[f.x], e_key_id[f.x], e_key_commitment[f.x], n_digest[f.k], n_hash[f.k],
        e_structure[f.x], e_content[f.x]
    FROM (SELECT k, coalesce(v_accepted[k], k) AS x FROM generate_series(1, v_count) AS k OFFSET 0) AS f;

    -- (7) the counter, the heads, and what is stored beside them
    UPDATE namespaces n SET last_position = v_last + v_count WHERE n.namespace_id = p_namespace_id;
    IF true = ANY (v_missing) THEN
        INSERT INTO streams (namespace_id, stream_id, user_id, session_id, parent_id, parent_version)
        SELECT
            p_namespace_id, u.stream_id, u.user_id, u.session_id, w_parent_id[v_parents[u.head]],
            w_parent_version[v_parents[u.head]]
        FROM unnest(h_stream_id, h_user_id, h_session_id) WITH ORDINALITY AS u (stream_id, user_id, session_id, head)
        WHERE v_missing[u.head]
            AND v_versions[u.head] > coalesce(w_parent_version[v_parents[u.head]], 0); -- has an event now
    END IF;
    UPDATE streams s SET version = u.version, head_hash = u.hash
    FROM unnest(h_stream_id, v_versions, v_hashes) AS u (stream_id, version, hash)
    WHERE s.namespace_id = p_namespace_id AND s.stream_id = u.stream_id AND s.stream_id = ANY (h_stream_id)
        AND s.version <> u.version;

    request := NULL;
    code := NULL;
    version := NULL;
    "position" := v_last + 1;
    RETURN NEXT;
END
$$;


ALTER FUNCTION ledger.append(p_namespace_id uuid, p_role text, p_unsafe boolean, p_retry boolean, h_stream_id uuid[], h_user_id text[], h_session_id text[], r_request_id uuid[], r_request_hash bytea[], r_writes integer[], w_head integer[], w_expected bigint[], w_items_after bigint[], w_life_after bigint[], w_live_until timestamp with time zone[], w_parent_id uuid[], w_parent_version bigint[], w_events integer[], e_event_id uuid[], e_type text[], e_schema_version smallint[], e_codec smallint[], e_occurred_at timestamp with time zone[], e_actor text[], e_item_id text[], e_key_id uuid[], e_key_commitment bytea[], e_structure bytea[], e_content bytea[]) OWNER TO ledger_owner;

--
-- Name: append_checked(uuid, boolean, bigint, timestamp with time zone, uuid[], bigint[], text[], uuid[], bytea[], integer[], integer[], bigint[], bigint[], bigint[], timestamp with time zone[], uuid[], bigint[], integer[], uuid[], text[]); Type: FUNCTION; Schema: ledger; Owner: ledger_owner
--

CREATE FUNCTION ledger.append_checked(p_namespace_id uuid, p_retry boolean, p_last bigint, p_clock timestamp with time zone, h_stream_id uuid[], h_version bigint[], h_refusal text[], r_request_id uuid[], r_request_hash bytea[], r_writes integer[], w_head integer[], w_expected bigint[], w_items_after bigint[], w_life_after bigint[], w_live_until timestamp with time zone[], w_parent_id uuid[], w_parent_version bigint[], w_events integer[], e_event_id uuid[], e_item_id text[]) RETURNS TABLE(request integer, code text, version bigint, "position" bigint, receipts bytea[], write integer, first_event integer, last_event integer)
    LANGUAGE plpgsql
    SET search_path TO 'ledger', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
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


ALTER FUNCTION ledger.append_checked(p_namespace_id uuid, p_retry boolean, p_last bigint, p_clock timestamp with time zone, h_stream_id uuid[], h_version bigint[], h_refusal text[], r_request_id uuid[], r_request_hash bytea[], r_writes integer[], w_head integer[], w_expected bigint[], w_items_after bigint[], w_life_after bigint[], w_live_until timestamp with time zone[], w_parent_id uuid[], w_parent_version bigint[], w_events integer[], e_event_id uuid[], e_item_id text[]) OWNER TO ledger_owner;

--
-- Name: append_stream(uuid, text, boolean, uuid, text, text, uuid, bytea, bigint, bigint, bigint, timestamp with time zone, uuid[], text[], smallint[], smallint[], timestamp with time zone[], text[], text[], uuid[], bytea[], bytea[], bytea[]); Type: FUNCTION; Schema: ledger; Owner: ledger_owner
--

CREATE FUNCTION ledger.append_stream(p_namespace_id uuid, p_role text, p_unsafe boolean, p_stream_id uuid, p_user_id text, p_session_id text, p_request_id uuid, p_request_hash bytea, p_expected bigint, p_items_after bigint, p_life_after bigint, p_live_until timestamp with time zone, e_event_id uuid[], e_type text[], e_schema_version smallint[], e_codec smallint[], e_occurred_at timestamp with time zone[], e_actor text[], e_item_id text[], e_key_id uuid[], e_key_commitment bytea[], e_structure bytea[], e_content bytea[]) RETURNS bytea
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ledger', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    c_zero CONSTANT bytea := '\x0000000000000000000000000000000000000000000000000000000000000000';
    v_count integer := cardinality(e_event_id);
    v_e text := '[1:' || v_count || ']'; -- the bounds of the arrays
    v_position bigint;
    v_clock timestamptz;
    v_recorded_us bigint;
    v_version bigint;
    v_previous bytea;
    v_digest bytea;
    v_hash bytea;
    v_answer bytea;
    v_is_new boolean;
    v_is_unusual boolean;
BEGIN
    IF p_namespace_id IS NULL OR p_role IS DISTINCT FROM coalesce(nullif(current_setting('role'), 'none'), session_user)
        OR current_setting('synchronous_commit') = 'off' AND p_unsafe IS NOT TRUE
        OR set_config('ledger.namespace', p_namespace_id::text, true) IS NULL
    THEN
        RAISE EXCEPTION 'append needs a namespace, the role it was opened with, and synchronous_commit'
            USING ERRCODE = '42501';
    END IF;
    IF (v_e = ALL (ARRAY[
        array_dims(e_event_id), array_dims(e_type), array_dims(e_schema_version), array_dims(e_codec),
        array_dims(e_occurred_at), array_dims(e_actor), array_dims(e_structure), coalesce(array_dims(e_content), v_e),
        coalesce(array_dims(e_item_id), v_e), coalesce(array_dims(e_key_id), v_e), coalesce(array_dims(e_key_commitment), v_e)
    ])) IS NOT TRUE THEN
        RAISE EXCEPTION 'the arrays of the append do not fit together' USING ERRCODE = '22023';
    END IF;

    UPDATE namespaces n SET last_position = n.last_position + v_count
    WHERE n.namespace_id = p_namespace_id
    RETURNING n.last_position - v_count INTO v_position;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    v_clock := clock_timestamp();

    -- each look-up on its own: an expression with a query in it costs as much as a statement, whatever it looks at
    SELECT
        s.version,
        s.head_hash::bytea,
        s.user_id <> p_user_id OR s.session_id <> p_session_id OR s.closed OR s.parent_version > p_items_after
    INTO v_version, v_previous, v_is_unusual
    FROM streams s
    WHERE s.namespace_id = p_namespace_id AND s.stream_id = p_stream_id;
    v_is_new := NOT FOUND;
    IF v_is_new THEN
        v_version := 0;
        v_previous := c_zero;
        v_is_unusual := name_uuid(p_namespace_id, p_user_id || chr(31) || p_session_id) <> p_stream_id;
    END IF;
    v_is_unusual := v_is_unusual IS TRUE OR p_expected <> v_version AND p_expected >= 0 OR p_live_until <= v_clock;
    IF p_life_after < v_version AND v_is_unusual IS NOT TRUE THEN
        v_is_unusual := life_changed(p_namespace_id, p_stream_id, p_life_after);
    END IF;
    IF p_request_id IS NOT NULL AND v_is_unusual IS NOT TRUE THEN
        v_is_unusual := EXISTS (
            SELECT FROM append_requests q
            WHERE q.namespace_id = p_namespace_id AND q.stream_id = p_stream_id AND q.request_id = p_request_id
        );
    END IF;
    IF p_items_after IS NOT NULL AND v_is_unusual IS NOT TRUE THEN
        v_is_unusual := EXISTS (
            SELECT
            FROM unnest(e_item_id) AS i (item_id)
            CROSS JOIN LATERAL ( -- see item_known
                SELECT e.namespace_id, e.stream_id, e.item_id, e.version
                FROM events e
                WHERE e.item_id IS NOT NULL AND uuid_hash(e.stream_id) = uuid_hash(p_stream_id)
                    AND hashtext(e.item_id) = hashtext(i.item_id)
                OFFSET 0
            ) AS f
            WHERE f.namespace_id = p_namespace_id AND f.stream_id = p_stream_id AND f.item_id = i.item_id
                AND f.version > p_items_after
        );
    END IF;
    IF v_is_unusual THEN
        UPDATE namespaces n SET last_position = n.last_position - v_count WHERE n.namespace_id = p_namespace_id;
        RETURN NULL;
    END IF;

    v_recorded_us := extract(epoch FROM v_clock) * 1000000;
    v_answer := int8send(v_position + 1) || int8send(v_recorded_us);
    FOR i IN 1 .. v_count LOOP
        v_position := v_position + 1;
        v_version := v_version + 1;
        v_digest := sha256(e_content[i]); -- null without content
        v_hash := sha256( -- the frame is that of trust §3
            '\x6d6c65646765722f6576656e742f320a'::bytea
            || uuid_send(p_namespace_id)
            || uuid_send(p_stream_id)
            || int8send(v_version)
            || int8send(v_position)
            || uuid_send(e_event_id[i])
            || int4send(octet_length(e_type[i])) || convert_to(e_type[i], 'UTF8')
            || int2send(e_schema_version[i])
            || int2send(e_codec[i])
            || int8send((extract(epoch FROM e_occurred_at[i]) * 1000000)::bigint)
            || int8send(v_recorded_us)
            || int4send(octet_length(e_actor[i])) || convert_to(e_actor[i], 'UTF8')
            || coalesce('\x01'::bytea || uuid_send(e_key_id[i]), '\x00'::bytea)
            || coalesce(e_key_commitment[i], c_zero)
            || sha256(e_structure[i])
            || coalesce(v_digest, c_zero)
            || v_previous
        );
        INSERT INTO events (
            "position", version, occurred_at, recorded_at, namespace_id, stream_id, event_id, schema_version, codec,
            type, actor, item_id, key_id, key_commitment, content_digest, hash, structure, content
        ) VALUES (
            v_position, v_version, e_occurred_at[i], v_clock, p_namespace_id, p_stream_id, e_event_id[i],
            e_schema_version[i], e_codec[i], e_type[i], e_actor[i], e_item_id[i], e_key_id[i], e_key_commitment[i],
            v_digest, v_hash, e_structure[i], e_content[i]
        );
        v_answer := v_answer || int8send(v_version) || v_previous || v_hash;
        v_previous := v_hash;
    END LOOP;

    IF v_is_new THEN
        INSERT INTO streams (namespace_id, stream_id, user_id, session_id, version, head_hash)
        VALUES (p_namespace_id, p_stream_id, p_user_id, p_session_id, v_version, v_hash);
    ELSE
        UPDATE streams s SET version = v_version, head_hash = v_hash
        WHERE s.namespace_id = p_namespace_id AND s.stream_id = p_stream_id;
    END IF;
    IF p_request_id IS NOT NULL THEN
        INSERT INTO append_requests (
            namespace_id, stream_id, request_id, request_hash, first_position, event_count, recorded_at
        ) VALUES (
            p_namespace_id, p_stream_id, p_request_id, p_request_hash, v_position - v_count + 1, v_count, v_clock
        );
    END IF;
    RETURN v_answer;
END
$$;


ALTER FUNCTION ledger.append_stream(p_namespace_id uuid, p_role text, p_unsafe boolean, p_stream_id uuid, p_user_id text, p_session_id text, p_request_id uuid, p_request_hash bytea, p_expected bigint, p_items_after bigint, p_life_after bigint, p_live_until timestamp with time zone, e_event_id uuid[], e_type text[], e_schema_version smallint[], e_codec smallint[], e_occurred_at timestamp with time zone[], e_actor text[], e_item_id text[], e_key_id uuid[], e_key_commitment bytea[], e_structure bytea[], e_content bytea[]) OWNER TO ledger_owner;

--
-- Name: create_namespace(uuid, text); Type: FUNCTION; Schema: ledger; Owner: ledger_owner
--

CREATE FUNCTION ledger.create_namespace(p_namespace_id uuid, p_namespace text) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ledger', 'pg_temp'
    AS $$
DECLARE
    v_ledger_id uuid;
BEGIN
    IF p_namespace_id IS DISTINCT FROM name_uuid('6ba7b811-9dad-11d1-80b4-00c04fd430c8', 'mledger:' || p_namespace) THEN
        RAISE EXCEPTION 'the namespace id belongs to another name' USING ERRCODE = 'LG006';
    END IF;
    PERFORM set_config('ledger.namespace', p_namespace_id::text, true);
    INSERT INTO ledger.namespaces (namespace_id, namespace) VALUES (p_namespace_id, p_namespace)
        ON CONFLICT (namespace_id) DO NOTHING;
    SELECT n.ledger_id INTO v_ledger_id FROM ledger.namespaces n WHERE n.namespace_id = p_namespace_id;
    RETURN v_ledger_id;
END
$$;


ALTER FUNCTION ledger.create_namespace(p_namespace_id uuid, p_namespace text) OWNER TO ledger_owner;

--
-- Name: find_items(uuid, uuid, text[]); Type: FUNCTION; Schema: ledger; Owner: ledger_owner
--

CREATE FUNCTION ledger.find_items(p_namespace_id uuid, p_stream_id uuid, p_items text[]) RETURNS TABLE(item_id text, version bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ledger', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
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


ALTER FUNCTION ledger.find_items(p_namespace_id uuid, p_stream_id uuid, p_items text[]) OWNER TO ledger_owner;

--
-- Name: find_token(text); Type: FUNCTION; Schema: ledger; Owner: ledger_owner
--

CREATE FUNCTION ledger.find_token(p_key_id text) RETURNS TABLE(key_id text, token_hash bytea, name text, scopes text[], namespaces text[], expires_at timestamp with time zone, revoked_at timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'ledger', 'pg_temp'
    AS $$
    SELECT t.key_id, t.token_hash, t.name, t.scopes, t.namespaces, t.expires_at, t.revoked_at
    FROM ledger.api_tokens t WHERE t.key_id = p_key_id OR p_key_id IS NULL
$$;


ALTER FUNCTION ledger.find_token(p_key_id text) OWNER TO ledger_owner;

--
-- Name: fork_point(uuid, uuid, bigint); Type: FUNCTION; Schema: ledger; Owner: ledger_owner
--

CREATE FUNCTION ledger.fork_point(p_namespace_id uuid, p_stream_id uuid, p_version bigint) RETURNS bytea
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ledger', 'pg_temp'
    AS $$
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


ALTER FUNCTION ledger.fork_point(p_namespace_id uuid, p_stream_id uuid, p_version bigint) OWNER TO ledger_owner;

--
-- Name: item_known(uuid, uuid, text, bigint); Type: FUNCTION; Schema: ledger; Owner: ledger_owner
--

CREATE FUNCTION ledger.item_known(p_namespace_id uuid, p_stream_id uuid, p_item_id text, p_after bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ledger', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
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


ALTER FUNCTION ledger.item_known(p_namespace_id uuid, p_stream_id uuid, p_item_id text, p_after bigint) OWNER TO ledger_owner;

--
-- Name: life_changed(uuid, uuid, bigint); Type: FUNCTION; Schema: ledger; Owner: ledger_owner
--

CREATE FUNCTION ledger.life_changed(p_namespace_id uuid, p_stream_id uuid, p_after bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ledger', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
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


ALTER FUNCTION ledger.life_changed(p_namespace_id uuid, p_stream_id uuid, p_after bigint) OWNER TO ledger_owner;

--
-- Name: name_uuid(uuid, text); Type: FUNCTION; Schema: ledger; Owner: ledger_owner
--

CREATE FUNCTION ledger.name_uuid(p_space uuid, p_name text) RETURNS uuid
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'ledger', 'pg_temp'
    AS $$
DECLARE
    c_mask CONSTANT bigint := 4294967295;
    v_bytes bytea := uuid_send(p_space) || convert_to(p_name, 'UTF8');
    v_length bigint := octet_length(v_bytes);
    v_state bigint[] := '{1732584193,4023233417,2562383102,271733878,3285377520}';
    w bigint[];
    a bigint;
    b bigint;
    c bigint;
    d bigint;
    e bigint;
    x bigint;
BEGIN
    v_bytes := v_bytes || '\x80'::bytea || decode(repeat('00', ((119 - v_length % 64) % 64)::integer), 'hex')
        || int8send(v_length * 8);
    FOR block IN 0 .. octet_length(v_bytes) / 64 - 1 LOOP
        FOR t IN 0 .. 15 LOOP
            w[t] := ('x' || encode(substr(v_bytes, block * 64 + t * 4 + 1, 4), 'hex'))::bit(32)::bigint;
        END LOOP;
        FOR t IN 16 .. 79 LOOP
            x := w[t - 3] # w[t - 8] # w[t - 14] # w[t - 16];
            w[t] := ((x << 1) | (x >> 31)) & c_mask;
        END LOOP;
        a := v_state[1];
        b := v_state[2];
        c := v_state[3];
        d := v_state[4];
        e := v_state[5];
        FOR t IN 0 .. 79 LOOP
            IF t < 20 THEN
                x := ((b & c) | ((~b) & d)) + 1518500249;
            ELSIF t < 40 THEN
                x := (b # c # d) + 1859775393;
            ELSIF t < 60 THEN
                x := ((b & c) | (b & d) | (c & d)) + 2400959708;
            ELSE
                x := (b # c # d) + 3395469782;
            END IF;
            x := ((((a << 5) | (a >> 27)) & c_mask) + x + e + w[t]) & c_mask;
            e := d;
            d := c;
            c := ((b << 30) | (b >> 2)) & c_mask;
            b := a;
            a := x;
        END LOOP;
        v_state := ARRAY[
            (v_state[1] + a) & c_mask, (v_state[2] + b) & c_mask, (v_state[3] + c) & c_mask,
            (v_state[4] + d) & c_mask, (v_state[5] + e) & c_mask
        ];
    END LOOP;
    RETURN encode( -- of the first 16 bytes, with version and variant
        int8send((v_state[1] << 32) | (v_state[2] & 4294905855) | 20480)
        || int8send((((v_state[3] & 1073741823) | 2147483648) << 32) | v_state[4]),
        'hex'
    )::uuid;
END
$$;


ALTER FUNCTION ledger.name_uuid(p_space uuid, p_name text) OWNER TO ledger_owner;

--
-- Name: namespace_ids(); Type: FUNCTION; Schema: ledger; Owner: ledger_owner
--

CREATE FUNCTION ledger.namespace_ids() RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'ledger', 'pg_temp'
    AS $$
    SELECT namespace_id FROM ledger.namespaces WHERE namespace <> '/ledger' ORDER BY namespace_id
$$;


ALTER FUNCTION ledger.namespace_ids() OWNER TO ledger_owner;

--
-- Name: prune_requests(uuid, interval); Type: FUNCTION; Schema: ledger; Owner: ledger_owner
--

CREATE FUNCTION ledger.prune_requests(p_namespace_id uuid, p_older_than interval) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ledger', 'pg_temp'
    AS $$
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


ALTER FUNCTION ledger.prune_requests(p_namespace_id uuid, p_older_than interval) OWNER TO ledger_owner;

--
-- Name: refuse_change(); Type: FUNCTION; Schema: ledger; Owner: ledger_owner
--

CREATE FUNCTION ledger.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND EXISTS (
        SELECT FROM pg_proc p JOIN pg_roles r ON r.oid = p.proowner
        WHERE p.pronamespace = 'ledger'::regnamespace AND p.proname = 'erase' AND p.prosecdef
            AND r.rolname = current_user
    ) THEN
        IF OLD.content IS NOT NULL AND NEW.content IS NULL THEN
            OLD.content := NULL;
            IF OLD *= NEW THEN
                RETURN NEW;
            END IF;
        END IF;
    END IF;
    RAISE EXCEPTION 'the log is append-only: % of %.% refused', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
        USING ERRCODE = 'LG000';
END
$$;


ALTER FUNCTION ledger.refuse_change() OWNER TO ledger_owner;

--
-- Name: restore_events(uuid, bigint[], bigint[], uuid[], text[], text[], uuid[], text[], smallint[], smallint[], timestamp with time zone[], timestamp with time zone[], text[], text[], uuid[], bytea[], bytea[], bytea[], bytea[], bytea[]); Type: FUNCTION; Schema: ledger; Owner: ledger_owner
--

CREATE FUNCTION ledger.restore_events(p_namespace_id uuid, e_position bigint[], e_version bigint[], e_stream_id uuid[], e_user_id text[], e_session_id text[], e_event_id uuid[], e_type text[], e_schema_version smallint[], e_codec smallint[], e_occurred_at timestamp with time zone[], e_recorded_at timestamp with time zone[], e_actor text[], e_item_id text[], e_key_id uuid[], e_key_commitment bytea[], e_content_digest bytea[], e_hash bytea[], e_structure bytea[], e_content bytea[]) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'ledger', 'pg_temp'
    AS $$
DECLARE
    v_last bigint;
BEGIN
    SELECT n.last_position INTO v_last FROM namespaces n WHERE n.namespace_id = p_namespace_id FOR UPDATE;
    IF v_last + 1 IS DISTINCT FROM e_position[1] THEN
        RAISE EXCEPTION 'the namespace is at %, the page begins at %', v_last, e_position[1] USING ERRCODE = 'LG001';
    END IF;

    INSERT INTO streams (namespace_id, stream_id, user_id, session_id)
    SELECT DISTINCT p_namespace_id, u.stream_id, u.user_id, u.session_id
    FROM unnest(e_stream_id, e_user_id, e_session_id) AS u (stream_id, user_id, session_id)
    ON CONFLICT DO NOTHING;

    INSERT INTO events (
        "position", version, occurred_at, recorded_at, namespace_id, stream_id, event_id, schema_version, codec,
        type, actor, item_id, key_id, key_commitment, content_digest, hash, structure, content
    )
    SELECT
        e_position[k], e_version[k], e_occurred_at[k], e_recorded_at[k], p_namespace_id, e_stream_id[k],
        e_event_id[k], e_schema_version[k], e_codec[k], e_type[k], e_actor[k], e_item_id[k], e_key_id[k],
        e_key_commitment[k], e_content_digest[k], e_hash[k],
        e_structure[k], e_content[k]
    FROM generate_series(1, cardinality(e_position)) AS k;

    UPDATE streams s SET version = head.version, head_hash = head.hash
    FROM (
        SELECT DISTINCT ON (u.stream_id) u.stream_id, u.version, u.hash
        FROM unnest(e_stream_id, e_version, e_hash) AS u (stream_id, version, hash)
        ORDER BY u.stream_id, u.version DESC
    ) AS head
    WHERE s.namespace_id = p_namespace_id AND s.stream_id = head.stream_id;

    v_last := e_position[cardinality(e_position)];
    UPDATE namespaces n SET last_position = v_last
    WHERE n.namespace_id = p_namespace_id;
    RETURN cardinality(e_position);
END
$$;


ALTER FUNCTION ledger.restore_events(p_namespace_id uuid, e_position bigint[], e_version bigint[], e_stream_id uuid[], e_user_id text[], e_session_id text[], e_event_id uuid[], e_type text[], e_schema_version smallint[], e_codec smallint[], e_occurred_at timestamp with time zone[], e_recorded_at timestamp with time zone[], e_actor text[], e_item_id text[], e_key_id uuid[], e_key_commitment bytea[], e_content_digest bytea[], e_hash bytea[], e_structure bytea[], e_content bytea[]) OWNER TO ledger_owner;

--
-- Name: search(uuid, integer, text[], jsonb, jsonb, text[], uuid, text, text, boolean, integer); Type: FUNCTION; Schema: ledger; Owner: ledger_owner
--

CREATE FUNCTION ledger.search(p_namespace_id uuid, p_projection_version integer, p_words text[], p_dates jsonb, p_ranking jsonb, p_kinds text[], p_stream_id uuid, p_user_id text, p_collection text, p_include_erased boolean, p_limit integer) RETURNS TABLE(stream_id uuid, user_id text, session_id text, origin_id uuid, added_in bigint, version bigint, kind text, piece integer, "position" bigint, first_character integer, characters integer, score double precision, by_words double precision, by_neighbours double precision, by_speaker double precision, by_date double precision)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'ledger', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    c_candidates CONSTANT bigint := 2000;
    c_words CONSTANT integer := 32;
    c_best CONSTANT integer := 200;
    c_counted CONSTANT integer := 2000;
    c_now CONSTANT bigint := 9223372036854775807; -- until which version a session has its own pieces
    c_alike CONSTANT real[] := '{0.1, 0.1, 0.1, 0.1}'; -- what a word weighs for ts_rank, whatever its label
    c_k1 CONSTANT double precision := p_ranking ->> 'k1';
    c_b CONSTANT double precision := p_ranking ->> 'b';
    c_before CONSTANT double precision[] := translate(p_ranking ->> 'before', '[]', '{}');
    c_after CONSTANT double precision := p_ranking ->> 'after';
    c_short CONSTANT double precision := p_ranking ->> 'short';
    c_speaker CONSTANT double precision := p_ranking ->> 'speaker';
    c_date CONSTANT double precision := p_ranking ->> 'date';
    v_total double precision;
    v_average double precision;
    v_lexemes tsquery[];
    v_weights double precision[];
    v_rarest tsquery;
    v_all tsquery;
    v_any tsquery;
    v_names tsquery;
    v_texts bigint;
    v_own double precision[];
    v_forks search_forks[];
    v_streams uuid[];
    v_inherits boolean;
BEGIN
    PERFORM set_config('ledger.namespace', p_namespace_id::text, true);
    SELECT sum(t.pieces), sum(t.words)::double precision / nullif(sum(t.pieces), 0) INTO v_total, v_average
        FROM search_terms t
        WHERE t.namespace_id = p_namespace_id AND t.projection_version = p_projection_version AND t.lexeme = '';
    IF v_total IS NULL THEN
        RETURN;
    END IF;
    WITH known AS (
        SELECT w.lexeme, sum(t.pieces)::double precision AS pieces
        FROM unnest(p_words) AS w (lexeme)
        JOIN search_terms t ON t.namespace_id = p_namespace_id AND t.projection_version = p_projection_version
            AND t.lexeme = w.lexeme
        GROUP BY w.lexeme
        ORDER BY pieces, w.lexeme
        LIMIT c_words
    ), quoted AS (
        SELECT
            k.pieces, k.lexeme,
            '''' || replace(replace(k.lexeme, '\', '\\'), '''', '''''') || '''' AS word,
            sum(k.pieces) OVER (ORDER BY k.pieces, k.lexeme) AS reached,
            row_number() OVER (ORDER BY k.pieces, k.lexeme) AS place
        FROM known k
    )
    SELECT
        array_agg(q.word::tsquery ORDER BY q.place),
        array_agg(ln(1 + greatest(v_total - q.pieces + 0.5, 0.0) / (q.pieces + 0.5)) ORDER BY q.place),
        string_agg(q.word, ' | ') FILTER (WHERE q.place = 1 OR q.reached <= c_candidates)::tsquery,
        string_agg(q.word, ' | ')::tsquery,
        string_agg(q.word || ':A', ' | ')::tsquery
    INTO v_lexemes, v_weights, v_rarest, v_all, v_names
    FROM quoted q;
    IF v_lexemes IS NULL THEN
        RETURN;
    END IF;
    IF p_stream_id IS NOT NULL THEN
        SELECT array_agg(f), array_agg(f.ancestor_id) || p_stream_id, count(*) > 0 INTO v_forks, v_streams, v_inherits
            FROM search_forks f
            WHERE f.namespace_id = p_namespace_id AND f.projection_version = p_projection_version
                AND f.stream_id = p_stream_id;
    ELSIF p_user_id IS NOT NULL THEN
        SELECT array_agg(DISTINCT f.ancestor_id), count(*) > 0 INTO v_streams, v_inherits
            FROM search_forks f
            WHERE f.namespace_id = p_namespace_id AND f.projection_version = p_projection_version
                AND f.user_id = p_user_id;
    ELSE
        v_inherits := EXISTS (
            SELECT FROM search_forks f
            WHERE f.namespace_id = p_namespace_id AND f.projection_version = p_projection_version
        );
    END IF;
    IF p_stream_id IS NOT NULL THEN
        SELECT
            max(n.texts),
            array_agg(
                CASE WHEN n.pieces > 0 THEN ln(1 + greatest(n.texts - n.pieces + 0.5, 0.0) / (n.pieces + 0.5)) ELSE 0.0 END
                ORDER BY n.place
            )
        INTO v_texts, v_own
        FROM (
            SELECT w.place, count(*) AS texts, count(*) FILTER (WHERE t.vector @@ w.lexeme) AS pieces
            FROM (
                SELECT e.vector
                FROM search_entries e
                WHERE e.namespace_id = p_namespace_id AND e.projection_version = p_projection_version
                    AND e.shown AND e.vector @@ v_all AND e.kind = ANY (p_kinds)
                    AND CASE
                        WHEN e.stream_id = p_stream_id THEN e.removed_in IS NULL
                        ELSE e.stream_id = ANY (v_streams) AND e.kind <> 'knowledge' AND EXISTS (
                            SELECT FROM unnest(v_forks) AS f
                            WHERE f.ancestor_id = e.stream_id AND e.added_in <= f.until
                                AND coalesce(e.removed_in > f.until, true) AND NOT f.removed @> e.version::bigint
                        )
                    END
                LIMIT c_counted + 1
            ) AS t
            CROSS JOIN unnest(v_lexemes) WITH ORDINALITY AS w (lexeme, place)
            GROUP BY w.place
        ) AS n;
        v_weights := CASE WHEN v_texts <= c_counted THEN v_own ELSE v_weights END;
    END IF;
    v_any := CASE WHEN p_stream_id IS NULL THEN v_rarest ELSE v_all END;
    LOOP
        RETURN QUERY
            WITH best AS MATERIALIZED (
            SELECT e.*, s.score
            FROM (
                SELECT
                    o.stream_id AS showing_id, o.user_id, o.session_id, e.stream_id, e.added_in, e.version, e.kind,
                    e.piece, e."position", e.first_character, e.characters, e.words, e.said_on, e.vector
                FROM search_entries e
                LEFT JOIN unnest(v_forks) AS i ON i.ancestor_id = e.stream_id
                CROSS JOIN LATERAL (
                    SELECT e.removed_in IS NULL AND (p_include_erased OR e.erased_in IS NULL)
                        AND (p_stream_id IS NULL OR e.stream_id = p_stream_id)
                        AND (p_user_id IS NULL OR e.user_id = p_user_id) AS has_it
                ) AS own
                CROSS JOIN LATERAL (
                    SELECT e.stream_id, e.user_id, e.session_id
                    WHERE own.has_it
                    UNION ALL
                    (
                        SELECT f.stream_id, f.user_id, f.session_id
                        FROM (
                            SELECT i.stream_id, i.user_id, i.session_id, i.until, i.erased, i.removed, i."position"
                            WHERE p_stream_id IS NOT NULL
                            UNION ALL
                            SELECT f.stream_id, f.user_id, f.session_id, f.until, f.erased, f.removed, f."position"
                            FROM search_forks f
                            WHERE p_stream_id IS NULL AND f.namespace_id = p_namespace_id
                                AND f.projection_version = p_projection_version AND f.ancestor_id = e.stream_id
                                AND (p_user_id IS NULL OR f.user_id = p_user_id)
                        ) AS f
                        WHERE v_inherits AND NOT own.has_it AND e.kind <> 'knowledge'
                            AND f.until >= e.added_in
                            AND coalesce(f.until < e.removed_in, true) AND NOT f.removed @> e.version::bigint
                            AND (
                                p_include_erased
                                OR (
                                    coalesce(f.until < e.erased_in, true)
                                    AND (e.kind <> 'entry' OR NOT f.erased @> e.version::bigint)
                                )
                            )
                        ORDER BY CASE WHEN p_stream_id IS NULL THEN f."position"::bigint END
                        LIMIT 1
                    )
                ) AS o
                WHERE e.namespace_id = p_namespace_id AND e.projection_version = p_projection_version
                    AND e.shown AND e.vector @@ v_any AND e.kind = ANY (p_kinds)
                    AND (v_inherits OR own.has_it)
                    AND (p_stream_id IS NULL OR e.stream_id = ANY (v_streams))
                    AND (p_user_id IS NULL OR e.user_id = p_user_id
                        OR (v_inherits AND e.stream_id = ANY (v_streams)))
                    AND (p_collection IS NULL OR e.collection = p_collection)
                OFFSET 0
            ) AS e
            CROSS JOIN LATERAL (
                SELECT sum(w.weight * f.h * (c_k1 + 1) / (f.h + c_k1 * (1 - c_b + c_b * e.words / v_average))) AS score
                FROM (SELECT e.vector || ''::tsvector AS vector OFFSET 0) AS v
                CROSS JOIN unnest(v_lexemes, v_weights) AS w (lexeme, weight)
                CROSS JOIN LATERAL (SELECT ts_rank(c_alike, v.vector, w.lexeme) * 16.4493406685::double precision AS h) AS f
                WHERE f.h > 0.01
            ) AS s
            ORDER BY s.score DESC, CASE e.kind WHEN 'knowledge' THEN e."position" ELSE -e."position" END, e.piece, e.added_in DESC
            LIMIT greatest(p_limit, c_best)
            )
            SELECT
                b.showing_id, b.user_id::text, b.session_id::text, b.stream_id, b.added_in::bigint, b.version::bigint,
                b.kind, b.piece, b."position"::bigint, b.first_character, b.characters,
                b.score + l.lent + a.named + a.dated AS total, b.score, l.lent, a.named, a.dated
            FROM best b
            CROSS JOIN LATERAL (
                SELECT least(1.0, c_short / greatest(b.words, 1)) * coalesce(sum(n.share * s.score), 0.0) AS lent
                FROM (
                    SELECT
                        p.words, p.vector,
                        c_before[(row_number() OVER (ORDER BY p.version DESC))::integer] AS share
                    FROM (
                        SELECT e.version, e.words, e.vector
                        FROM (
                            SELECT
                                b.showing_id AS source_id, c_now AS until, '{}'::int8multirange AS erased,
                                '{}'::int8multirange AS removed
                            UNION ALL
                            SELECT f.ancestor_id, f.until::bigint, f.erased, f.removed
                            FROM search_forks f
                            WHERE v_inherits AND f.namespace_id = p_namespace_id
                                AND f.projection_version = p_projection_version AND f.stream_id = b.showing_id
                        ) AS o
                        CROSS JOIN LATERAL (
                            SELECT e.version, e.words, e.vector
                            FROM search_entries e
                            WHERE e.namespace_id = p_namespace_id AND e.projection_version = p_projection_version
                                AND e.stream_id = o.source_id AND e.version < b.version AND e.kind = 'entry'
                                AND e.piece = 0 AND e.added_in <= o.until AND coalesce(e.removed_in > o.until, true)
                                AND NOT o.removed @> e.version::bigint
                                AND (p_include_erased
                                    OR (coalesce(e.erased_in > o.until, true) AND NOT o.erased @> e.version::bigint))
                            ORDER BY e.version DESC
                            LIMIT 3
                        ) AS e
                        ORDER BY e.version DESC
                        LIMIT 3
                    ) AS p
                    UNION ALL
                    (
                        SELECT e.words, e.vector, c_after
                        FROM (
                            SELECT
                                b.showing_id AS source_id, c_now AS until, '{}'::int8multirange AS erased,
                                '{}'::int8multirange AS removed
                            UNION ALL
                            SELECT f.ancestor_id, f.until::bigint, f.erased, f.removed
                            FROM search_forks f
                            WHERE v_inherits AND f.namespace_id = p_namespace_id
                                AND f.projection_version = p_projection_version AND f.stream_id = b.showing_id
                        ) AS o
                        CROSS JOIN LATERAL (
                            SELECT e.version, e.words, e.vector
                            FROM search_entries e
                            WHERE e.namespace_id = p_namespace_id AND e.projection_version = p_projection_version
                                AND e.stream_id = o.source_id AND e.version > b.version AND e.kind = 'entry'
                                AND e.piece = 0 AND e.added_in <= o.until AND coalesce(e.removed_in > o.until, true)
                                AND NOT o.removed @> e.version::bigint
                                AND (p_include_erased
                                    OR (coalesce(e.erased_in > o.until, true) AND NOT o.erased @> e.version::bigint))
                            ORDER BY e.version
                            LIMIT 1
                        ) AS e
                        ORDER BY e.version
                        LIMIT 1
                    )
                ) AS n
                CROSS JOIN LATERAL (
                    SELECT sum(w.weight * f.h * (c_k1 + 1) / (f.h + c_k1 * (1 - c_b + c_b * n.words / v_average))) AS score
                    FROM (SELECT n.vector || ''::tsvector AS vector OFFSET 0) AS v
                    CROSS JOIN unnest(v_lexemes, v_weights) AS w (lexeme, weight)
                    CROSS JOIN LATERAL (
                        SELECT ts_rank(c_alike, v.vector, w.lexeme) * 16.4493406685::double precision AS h
                    ) AS f
                    WHERE f.h > 0.01
                ) AS s
                WHERE b.kind = 'entry'
            ) AS l
            CROSS JOIN LATERAL (
                SELECT
                    CASE WHEN b.vector @@ v_names THEN (b.score + l.lent) * (c_speaker - 1) ELSE 0.0 END AS named,
                    CASE WHEN p_dates <> '[]' THEN
                        c_date * (SELECT max(w) FROM unnest(v_weights) AS w) * coalesce(
                            (
                                SELECT avg((date_part(d.field, b.said_on) = d.number)::integer)
                                FROM jsonb_to_recordset(p_dates) AS d (field text, number integer)
                            ),
                            0.0
                        )
                    ELSE 0.0 END AS dated
            ) AS a
            ORDER BY total DESC, CASE b.kind WHEN 'knowledge' THEN b."position" ELSE -b."position" END, b.piece, b.added_in DESC
            LIMIT p_limit;
        EXIT WHEN v_any = v_all OR FOUND;
        v_any := v_all; -- no piece in this scope has the rare words
    END LOOP;
END
$$;


ALTER FUNCTION ledger.search(p_namespace_id uuid, p_projection_version integer, p_words text[], p_dates jsonb, p_ranking jsonb, p_kinds text[], p_stream_id uuid, p_user_id text, p_collection text, p_include_erased boolean, p_limit integer) OWNER TO ledger_owner;

--
-- Name: search_records(uuid[], integer[], text[], integer); Type: FUNCTION; Schema: ledger; Owner: ledger_owner
--

CREATE FUNCTION ledger.search_records(p_namespaces uuid[], p_builds integer[], p_words text[], p_most integer) RETURNS TABLE(namespace_id uuid, projection_version integer, stream_id uuid, record_id text, score double precision)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'ledger', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET enable_nestloop TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    c_scopes CONSTANT integer := 16;
    v_total double precision;
    v_words tsquery[];
    v_any tsquery;
BEGIN
    PERFORM set_config('ledger.namespace', array_to_string(p_namespaces, ','), true);
    SELECT array_agg(a.word::tsquery ORDER BY a.place), string_agg(a.word, ' | ')::tsquery INTO v_words, v_any
    FROM (
        SELECT
            '''' || replace(replace(w.lexeme, '\', '\\'), '''', '''''') || '''' AS word,
            row_number() OVER (ORDER BY char_length(w.lexeme) DESC, w.lexeme COLLATE "C") AS place
        FROM unnest(p_words) AS w (lexeme)
    ) AS a
    WHERE a.place <= p_most;
    IF v_words IS NULL THEN
        RETURN;
    END IF;
    IF cardinality(p_namespaces) <= c_scopes THEN
        v_any := v_any && (
            SELECT string_agg('''' || n.namespace::text || '''', ' | ') FROM unnest(p_namespaces) AS n (namespace)
        )::tsquery;
    END IF;
    SELECT count(*) INTO v_total
    FROM unnest(p_namespaces, p_builds) AS b (namespace, build)
    CROSS JOIN LATERAL (
        SELECT r.namespace_id FROM records r
        WHERE r.namespace_id = b.namespace AND r.projection_version = b.build AND r.live
        OFFSET 0
    ) AS l
    WHERE l.namespace_id = ANY (p_namespaces);
    RETURN QUERY
        WITH matched AS MATERIALIZED (
            SELECT m.namespace_id, m.projection_version, m.stream_id, m.record_id, f.places
            FROM (
                SELECT r.namespace_id, r.projection_version, r.stream_id, r.record_id, r.live, r.vector
                FROM records r
                WHERE r.vector @@ v_any
                OFFSET 0
            ) AS m
            JOIN unnest(p_namespaces, p_builds) AS b (namespace, build) ON m.namespace_id = b.namespace
                AND m.projection_version = b.build
            CROSS JOIN LATERAL (
                SELECT array_agg(w.place) AS places
                FROM unnest(v_words) WITH ORDINALITY AS w (word, place)
                WHERE m.vector @@ w.word
            ) AS f
            WHERE m.namespace_id = ANY (p_namespaces) AND m.live
        ), found AS (
            SELECT p.place, count(*)::double precision AS records
            FROM matched CROSS JOIN LATERAL unnest(matched.places) AS p (place)
            GROUP BY p.place
        ), weights AS (
            SELECT
                array_agg(ln(1 + greatest(v_total - n.records + 0.5, 0.0) / (n.records + 0.5)) ORDER BY n.place) AS each,
                sum(ln(1 + greatest(v_total - n.records + 0.5, 0.0) / (n.records + 0.5))) AS whole
            FROM (
                SELECT w.place, coalesce(found.records, 0.0) AS records
                FROM generate_series(1, cardinality(v_words)) AS w (place) LEFT JOIN found ON found.place = w.place
            ) AS n
        )
        SELECT
            matched.namespace_id, matched.projection_version, matched.stream_id, matched.record_id::text,
            least((SELECT sum(weights.each[p.place]) FROM unnest(matched.places) AS p (place)) / weights.whole, 1.0)
        FROM matched CROSS JOIN weights;
END
$$;


ALTER FUNCTION ledger.search_records(p_namespaces uuid[], p_builds integer[], p_words text[], p_most integer) OWNER TO ledger_owner;



--
-- Name: alembic_version; Type: TABLE; Schema: ledger; Owner: ledger_owner
--

CREATE TABLE ledger.alembic_version (
    version_num character varying(32) NOT NULL
);


ALTER TABLE ledger.alembic_version OWNER TO ledger_owner;

--
-- Name: api_tokens; Type: TABLE; Schema: ledger; Owner: ledger_owner
--

CREATE TABLE ledger.api_tokens (
    key_id ledger.short_text NOT NULL,
    token_hash bytea NOT NULL,
    name ledger.short_text NOT NULL,
    scopes text[] NOT NULL,
    namespaces text[],
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    CONSTRAINT api_tokens_token_hash_check CHECK ((octet_length(token_hash) = 32))
);

ALTER TABLE ONLY ledger.api_tokens FORCE ROW LEVEL SECURITY;


ALTER TABLE ledger.api_tokens OWNER TO ledger_owner;

--
-- Name: append_requests; Type: TABLE; Schema: ledger; Owner: ledger_owner
--

CREATE TABLE ledger.append_requests (
    namespace_id uuid NOT NULL,
    stream_id uuid NOT NULL,
    request_id uuid NOT NULL,
    request_hash ledger.hash NOT NULL,
    first_position ledger.ordinal NOT NULL,
    event_count integer NOT NULL,
    recorded_at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY ledger.append_requests FORCE ROW LEVEL SECURITY;


ALTER TABLE ledger.append_requests OWNER TO ledger_owner;

--
-- Name: events; Type: TABLE; Schema: ledger; Owner: ledger_owner
--

CREATE TABLE ledger.events (
    "position" ledger.ordinal NOT NULL,
    version ledger.ordinal NOT NULL,
    occurred_at timestamp with time zone NOT NULL,
    recorded_at timestamp with time zone NOT NULL,
    namespace_id uuid NOT NULL,
    stream_id uuid NOT NULL,
    event_id uuid NOT NULL,
    schema_version smallint NOT NULL,
    codec smallint NOT NULL,
    type ledger.short_text NOT NULL,
    actor ledger.short_text NOT NULL,
    item_id ledger.short_text,
    key_id uuid,
    key_commitment ledger.hash,
    content_digest ledger.hash,
    hash ledger.hash NOT NULL,
    mac ledger.hash,
    trace text,
    structure ledger.stored_part NOT NULL,
    content ledger.stored_part,
    CONSTRAINT events_check CHECK ((((key_id IS NULL) = (key_commitment IS NULL)) AND ((codec = 0) = (content_digest IS NULL)) AND ((content IS NULL) OR (content_digest IS NOT NULL))))
);
ALTER TABLE ONLY ledger.events ALTER COLUMN content SET STORAGE EXTERNAL;

ALTER TABLE ONLY ledger.events FORCE ROW LEVEL SECURITY;


ALTER TABLE ledger.events OWNER TO ledger_owner;

--
-- Name: namespaces; Type: TABLE; Schema: ledger; Owner: ledger_owner
--

CREATE TABLE ledger.namespaces (
    namespace_id uuid NOT NULL,
    namespace ledger.short_text NOT NULL,
    ledger_id uuid DEFAULT gen_random_uuid() NOT NULL,
    last_position bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
)
WITH (fillfactor='10');

ALTER TABLE ONLY ledger.namespaces FORCE ROW LEVEL SECURITY;


ALTER TABLE ledger.namespaces OWNER TO ledger_owner;

--
-- Name: streams; Type: TABLE; Schema: ledger; Owner: ledger_owner
--

CREATE TABLE ledger.streams (
    namespace_id uuid NOT NULL,
    stream_id uuid NOT NULL,
    version bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    closed boolean DEFAULT false NOT NULL,
    head_hash ledger.hash DEFAULT decode(repeat('00'::text, 32), 'hex'::text) NOT NULL,
    user_id ledger.short_text NOT NULL,
    session_id ledger.short_text NOT NULL,
    parent_id uuid,
    parent_version ledger.ordinal,
    CONSTRAINT streams_check CHECK (((parent_id IS NULL) = (parent_version IS NULL)))
)
WITH (fillfactor='70');

ALTER TABLE ONLY ledger.streams FORCE ROW LEVEL SECURITY;


ALTER TABLE ledger.streams OWNER TO ledger_owner;

--
-- Name: events_readable; Type: VIEW; Schema: ledger; Owner: ledger_owner
--

CREATE VIEW ledger.events_readable WITH (security_invoker='true') AS
 SELECT n.namespace,
    s.user_id,
    s.session_id,
    e.version,
    e."position",
    e.event_id,
    e.type,
    e.schema_version,
    e.actor,
    e.occurred_at,
    e.recorded_at,
    e.item_id,
    (convert_from((e.structure)::bytea, 'UTF8'::name))::jsonb AS structure,
        CASE e.codec
            WHEN 1 THEN (convert_from(SUBSTRING(e.content FROM 17), 'UTF8'::name))::jsonb
            ELSE NULL::jsonb
        END AS content,
    e.hash
   FROM ((ledger.events e
     JOIN ledger.streams s USING (namespace_id, stream_id))
     JOIN ledger.namespaces n USING (namespace_id));


ALTER VIEW ledger.events_readable OWNER TO ledger_owner;

--
-- Name: jobs; Type: TABLE; Schema: ledger; Owner: ledger_owner
--

CREATE TABLE ledger.jobs (
    namespace_id uuid NOT NULL,
    projection_version integer NOT NULL,
    stream_id uuid NOT NULL,
    due_at timestamp with time zone NOT NULL,
    leased_until timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    kind text NOT NULL,
    work ledger.short_text NOT NULL,
    user_id ledger.short_text NOT NULL,
    session_id ledger.short_text NOT NULL,
    leased_by ledger.short_text,
    last_error ledger.short_text,
    CONSTRAINT jobs_kind_check CHECK ((kind = ANY (ARRAY['compact'::text, 'extract'::text, 'promote'::text, 'index'::text, 'summarize'::text])))
)
WITH (fillfactor='50');

ALTER TABLE ONLY ledger.jobs FORCE ROW LEVEL SECURITY;


ALTER TABLE ledger.jobs OWNER TO ledger_owner;

--
-- Name: projection_checkpoints; Type: TABLE; Schema: ledger; Owner: ledger_owner
--

CREATE TABLE ledger.projection_checkpoints (
    namespace_id uuid NOT NULL,
    projection ledger.short_text NOT NULL,
    projection_version integer NOT NULL,
    "position" bigint DEFAULT 0 NOT NULL,
    status text DEFAULT 'live'::text NOT NULL,
    code_digest ledger.hash NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    claimed_by text,
    claimed_until timestamp with time zone,
    last_error text,
    CONSTRAINT projection_checkpoints_status_check CHECK ((status = ANY (ARRAY['building'::text, 'live'::text])))
)
WITH (fillfactor='50');

ALTER TABLE ONLY ledger.projection_checkpoints FORCE ROW LEVEL SECURITY;


ALTER TABLE ledger.projection_checkpoints OWNER TO ledger_owner;

--
-- Name: record_accesses; Type: TABLE; Schema: ledger; Owner: ledger_owner
--

CREATE TABLE ledger.record_accesses (
    namespace_id uuid NOT NULL,
    stream_id uuid NOT NULL,
    record_id ledger.short_text NOT NULL,
    last_accessed timestamp with time zone NOT NULL,
    access_count bigint NOT NULL
)
WITH (fillfactor='80');

ALTER TABLE ONLY ledger.record_accesses FORCE ROW LEVEL SECURITY;


ALTER TABLE ledger.record_accesses OWNER TO ledger_owner;

--
-- Name: record_embeddings; Type: TABLE; Schema: ledger; Owner: ledger_owner
--

CREATE TABLE ledger.record_embeddings (
    namespace_id uuid NOT NULL,
    model ledger.short_text NOT NULL,
    stream_id uuid NOT NULL,
    record_id ledger.short_text NOT NULL,
    text_digest ledger.hash NOT NULL,
    embedding public.vector NOT NULL
);

ALTER TABLE ONLY ledger.record_embeddings FORCE ROW LEVEL SECURITY;


ALTER TABLE ledger.record_embeddings OWNER TO ledger_owner;

--
-- Name: records; Type: TABLE; Schema: ledger; Owner: ledger_owner
--

CREATE TABLE ledger.records (
    namespace_id uuid NOT NULL,
    projection_version integer NOT NULL,
    stream_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    persisted_at timestamp with time zone NOT NULL,
    event_date timestamp with time zone,
    live boolean NOT NULL,
    record_id ledger.short_text NOT NULL,
    user_id ledger.short_text NOT NULL,
    session_id ledger.short_text,
    memory_type text NOT NULL,
    extraction_strategy ledger.short_text NOT NULL,
    topics text[] NOT NULL,
    entities text[] NOT NULL,
    identity ledger.hash NOT NULL,
    text_digest ledger.hash NOT NULL,
    record bytea NOT NULL,
    vector tsvector NOT NULL
)
WITH (fillfactor='80');

ALTER TABLE ONLY ledger.records FORCE ROW LEVEL SECURITY;


ALTER TABLE ledger.records OWNER TO ledger_owner;

--
-- Name: search_embeddings; Type: TABLE; Schema: ledger; Owner: ledger_owner
--

CREATE TABLE ledger.search_embeddings (
    namespace_id uuid NOT NULL,
    model ledger.short_text NOT NULL,
    stream_id uuid NOT NULL,
    version ledger.ordinal NOT NULL,
    kind text NOT NULL,
    piece integer NOT NULL,
    added_in ledger.ordinal NOT NULL,
    embedding public.vector NOT NULL
);

ALTER TABLE ONLY ledger.search_embeddings FORCE ROW LEVEL SECURITY;


ALTER TABLE ledger.search_embeddings OWNER TO ledger_owner;

--
-- Name: search_entries; Type: TABLE; Schema: ledger; Owner: ledger_owner
--

CREATE TABLE ledger.search_entries (
    namespace_id uuid NOT NULL,
    projection_version integer NOT NULL,
    stream_id uuid NOT NULL,
    version ledger.ordinal NOT NULL,
    kind text NOT NULL,
    piece integer NOT NULL,
    added_in ledger.ordinal NOT NULL,
    erased_in ledger.ordinal,
    removed_in ledger.ordinal,
    "position" ledger.ordinal NOT NULL,
    first_character integer NOT NULL,
    characters integer NOT NULL,
    words integer NOT NULL,
    said_on date,
    language text NOT NULL,
    shown boolean DEFAULT true NOT NULL,
    user_id ledger.short_text NOT NULL,
    session_id ledger.short_text NOT NULL,
    collection ledger.short_text,
    item_id ledger.short_text NOT NULL,
    vector tsvector NOT NULL,
    CONSTRAINT search_entries_kind_check CHECK ((kind = ANY (ARRAY['entry'::text, 'summary'::text, 'knowledge'::text])))
);

ALTER TABLE ONLY ledger.search_entries FORCE ROW LEVEL SECURITY;


ALTER TABLE ledger.search_entries OWNER TO ledger_owner;

--
-- Name: search_fork_changes; Type: TABLE; Schema: ledger; Owner: ledger_owner
--

CREATE TABLE ledger.search_fork_changes (
    namespace_id uuid NOT NULL,
    projection_version integer NOT NULL,
    stream_id uuid NOT NULL,
    version ledger.ordinal NOT NULL,
    erased int8multirange NOT NULL,
    removed int8multirange NOT NULL
);

ALTER TABLE ONLY ledger.search_fork_changes FORCE ROW LEVEL SECURITY;


ALTER TABLE ledger.search_fork_changes OWNER TO ledger_owner;

--
-- Name: search_forks; Type: TABLE; Schema: ledger; Owner: ledger_owner
--

CREATE TABLE ledger.search_forks (
    namespace_id uuid NOT NULL,
    projection_version integer NOT NULL,
    stream_id uuid NOT NULL,
    ancestor_id uuid NOT NULL,
    until ledger.ordinal NOT NULL,
    "position" ledger.ordinal NOT NULL,
    erased int8multirange NOT NULL,
    removed int8multirange NOT NULL,
    user_id ledger.short_text NOT NULL,
    session_id ledger.short_text NOT NULL
);

ALTER TABLE ONLY ledger.search_forks FORCE ROW LEVEL SECURITY;


ALTER TABLE ledger.search_forks OWNER TO ledger_owner;

--
-- Name: search_terms; Type: TABLE; Schema: ledger; Owner: ledger_owner
--

CREATE TABLE ledger.search_terms (
    namespace_id uuid NOT NULL,
    projection_version integer NOT NULL,
    lexeme ledger.short_text NOT NULL,
    pieces bigint NOT NULL,
    words bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='80');

ALTER TABLE ONLY ledger.search_terms FORCE ROW LEVEL SECURITY;


ALTER TABLE ledger.search_terms OWNER TO ledger_owner;

--
-- Name: served_views; Type: TABLE; Schema: ledger; Owner: ledger_owner
--

CREATE TABLE ledger.served_views (
    namespace_id uuid NOT NULL,
    stream_id uuid NOT NULL,
    view ledger.short_text NOT NULL,
    version ledger.ordinal NOT NULL,
    first_version ledger.ordinal NOT NULL,
    left_out bigint[] NOT NULL,
    served_at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY ledger.served_views FORCE ROW LEVEL SECURITY;


ALTER TABLE ledger.served_views OWNER TO ledger_owner;

--
-- Name: session_index; Type: TABLE; Schema: ledger; Owner: ledger_owner
--

CREATE TABLE ledger.session_index (
    namespace_id uuid NOT NULL,
    projection_version integer NOT NULL,
    stream_id uuid NOT NULL,
    version bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    entries bigint NOT NULL,
    active bigint NOT NULL,
    summaries bigint NOT NULL,
    total_tokens bigint NOT NULL,
    active_tokens bigint NOT NULL,
    failed_compactions bigint NOT NULL,
    failing_since timestamp with time zone,
    status text NOT NULL,
    user_id ledger.short_text NOT NULL,
    session_id ledger.short_text NOT NULL,
    last_failure text,
    failing_model text,
    CONSTRAINT session_index_status_check CHECK ((status = ANY (ARRAY['live'::text, 'ended'::text, 'unreadable'::text])))
)
WITH (fillfactor='80');

ALTER TABLE ONLY ledger.session_index FORCE ROW LEVEL SECURITY;


ALTER TABLE ledger.session_index OWNER TO ledger_owner;

--
-- Name: session_runs; Type: TABLE; Schema: ledger; Owner: ledger_owner
--

CREATE TABLE ledger.session_runs (
    namespace_id uuid NOT NULL,
    projection_version integer NOT NULL,
    stream_id uuid NOT NULL,
    version bigint NOT NULL,
    run_id ledger.short_text NOT NULL
);

ALTER TABLE ONLY ledger.session_runs FORCE ROW LEVEL SECURITY;


ALTER TABLE ledger.session_runs OWNER TO ledger_owner;

--
-- Name: snapshots; Type: TABLE; Schema: ledger; Owner: ledger_owner
--

CREATE TABLE ledger.snapshots (
    namespace_id uuid NOT NULL,
    stream_id uuid NOT NULL,
    projection ledger.short_text NOT NULL,
    projection_version integer NOT NULL,
    version ledger.ordinal NOT NULL,
    code_digest ledger.hash NOT NULL,
    head_hash ledger.hash NOT NULL,
    mac ledger.hash NOT NULL,
    state bytea NOT NULL
);

ALTER TABLE ONLY ledger.snapshots FORCE ROW LEVEL SECURITY;


ALTER TABLE ledger.snapshots OWNER TO ledger_owner;

--
-- Name: alembic_version alembic_version_pkc; Type: CONSTRAINT; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ONLY ledger.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);


--
-- Name: api_tokens api_tokens_pkey; Type: CONSTRAINT; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ONLY ledger.api_tokens
    ADD CONSTRAINT api_tokens_pkey PRIMARY KEY (key_id);


--
-- Name: append_requests append_requests_pkey; Type: CONSTRAINT; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ONLY ledger.append_requests
    ADD CONSTRAINT append_requests_pkey PRIMARY KEY (namespace_id, stream_id, request_id);


--
-- Name: events events_namespace_id_position_key; Type: CONSTRAINT; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ONLY ledger.events
    ADD CONSTRAINT events_namespace_id_position_key UNIQUE (namespace_id, "position");


--
-- Name: events events_pkey; Type: CONSTRAINT; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ONLY ledger.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (namespace_id, stream_id, version);


--
-- Name: jobs jobs_pkey; Type: CONSTRAINT; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ONLY ledger.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (namespace_id, projection_version, stream_id, kind);


--
-- Name: namespaces namespaces_pkey; Type: CONSTRAINT; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ONLY ledger.namespaces
    ADD CONSTRAINT namespaces_pkey PRIMARY KEY (namespace_id);


--
-- Name: projection_checkpoints projection_checkpoints_pkey; Type: CONSTRAINT; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ONLY ledger.projection_checkpoints
    ADD CONSTRAINT projection_checkpoints_pkey PRIMARY KEY (namespace_id, projection, projection_version);


--
-- Name: record_accesses record_accesses_pkey; Type: CONSTRAINT; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ONLY ledger.record_accesses
    ADD CONSTRAINT record_accesses_pkey PRIMARY KEY (namespace_id, stream_id, record_id);


--
-- Name: record_embeddings record_embeddings_pkey; Type: CONSTRAINT; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ONLY ledger.record_embeddings
    ADD CONSTRAINT record_embeddings_pkey PRIMARY KEY (namespace_id, model, stream_id, record_id);


--
-- Name: records records_pkey; Type: CONSTRAINT; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ONLY ledger.records
    ADD CONSTRAINT records_pkey PRIMARY KEY (namespace_id, projection_version, stream_id, record_id);


--
-- Name: search_embeddings search_embeddings_pkey; Type: CONSTRAINT; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ONLY ledger.search_embeddings
    ADD CONSTRAINT search_embeddings_pkey PRIMARY KEY (namespace_id, model, stream_id, version, kind, piece, added_in);


--
-- Name: search_entries search_entries_pkey; Type: CONSTRAINT; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ONLY ledger.search_entries
    ADD CONSTRAINT search_entries_pkey PRIMARY KEY (namespace_id, projection_version, stream_id, version, kind, piece, added_in);


--
-- Name: search_fork_changes search_fork_changes_pkey; Type: CONSTRAINT; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ONLY ledger.search_fork_changes
    ADD CONSTRAINT search_fork_changes_pkey PRIMARY KEY (namespace_id, projection_version, stream_id, version);


--
-- Name: search_forks search_forks_pkey; Type: CONSTRAINT; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ONLY ledger.search_forks
    ADD CONSTRAINT search_forks_pkey PRIMARY KEY (namespace_id, projection_version, stream_id, ancestor_id);


--
-- Name: search_terms search_terms_pkey; Type: CONSTRAINT; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ONLY ledger.search_terms
    ADD CONSTRAINT search_terms_pkey PRIMARY KEY (namespace_id, projection_version, lexeme);


--
-- Name: served_views served_views_pkey; Type: CONSTRAINT; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ONLY ledger.served_views
    ADD CONSTRAINT served_views_pkey PRIMARY KEY (namespace_id, stream_id, view);


--
-- Name: session_index session_index_pkey; Type: CONSTRAINT; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ONLY ledger.session_index
    ADD CONSTRAINT session_index_pkey PRIMARY KEY (namespace_id, projection_version, stream_id);


--
-- Name: session_runs session_runs_pkey; Type: CONSTRAINT; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ONLY ledger.session_runs
    ADD CONSTRAINT session_runs_pkey PRIMARY KEY (namespace_id, projection_version, stream_id, run_id);


--
-- Name: snapshots snapshots_pkey; Type: CONSTRAINT; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ONLY ledger.snapshots
    ADD CONSTRAINT snapshots_pkey PRIMARY KEY (namespace_id, stream_id, projection, projection_version, version);


--
-- Name: streams streams_pkey; Type: CONSTRAINT; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ONLY ledger.streams
    ADD CONSTRAINT streams_pkey PRIMARY KEY (namespace_id, stream_id);


--
-- Name: append_requests_recorded_at; Type: INDEX; Schema: ledger; Owner: ledger_owner
--

CREATE INDEX append_requests_recorded_at ON ledger.append_requests USING brin (recorded_at);


--
-- Name: events_item_id; Type: INDEX; Schema: ledger; Owner: ledger_owner
--

CREATE INDEX events_item_id ON ledger.events USING btree (uuid_hash(stream_id), hashtext((item_id)::text)) WHERE (item_id IS NOT NULL);


--
-- Name: events_kept; Type: INDEX; Schema: ledger; Owner: ledger_owner
--

CREATE INDEX events_kept ON ledger.events USING btree (namespace_id, stream_id, item_id COLLATE "C", version) WHERE ((type)::text = ANY (ARRAY['kept.removed'::text, 'kept.set'::text]));


--
-- Name: events_type; Type: INDEX; Schema: ledger; Owner: ledger_owner
--

CREATE INDEX events_type ON ledger.events USING btree (namespace_id, stream_id, type, version) WHERE (item_id IS NULL);


--
-- Name: jobs_due_at; Type: INDEX; Schema: ledger; Owner: ledger_owner
--

CREATE INDEX jobs_due_at ON ledger.jobs USING btree (namespace_id, kind, due_at);


--
-- Name: records_created_at; Type: INDEX; Schema: ledger; Owner: ledger_owner
--

CREATE INDEX records_created_at ON ledger.records USING btree (namespace_id, projection_version, created_at DESC) WHERE live;


--
-- Name: records_id; Type: INDEX; Schema: ledger; Owner: ledger_owner
--

CREATE INDEX records_id ON ledger.records USING btree (namespace_id, projection_version, record_id);


--
-- Name: records_identity; Type: INDEX; Schema: ledger; Owner: ledger_owner
--

CREATE INDEX records_identity ON ledger.records USING btree (namespace_id, projection_version, stream_id, identity) WHERE live;


--
-- Name: records_vector; Type: INDEX; Schema: ledger; Owner: ledger_owner
--

CREATE INDEX records_vector ON ledger.records USING gin (vector);


--
-- Name: search_entries_removed; Type: INDEX; Schema: ledger; Owner: ledger_owner
--

CREATE INDEX search_entries_removed ON ledger.search_entries USING btree (namespace_id, projection_version, stream_id, removed_in) WHERE (NOT shown);


--
-- Name: search_entries_user; Type: INDEX; Schema: ledger; Owner: ledger_owner
--

CREATE INDEX search_entries_user ON ledger.search_entries USING btree (namespace_id, projection_version, user_id) WHERE shown;


--
-- Name: search_entries_vector; Type: INDEX; Schema: ledger; Owner: ledger_owner
--

CREATE INDEX search_entries_vector ON ledger.search_entries USING gin (vector) WHERE shown;


--
-- Name: search_forks_ancestor; Type: INDEX; Schema: ledger; Owner: ledger_owner
--

CREATE INDEX search_forks_ancestor ON ledger.search_forks USING btree (namespace_id, projection_version, ancestor_id, "position");


--
-- Name: search_forks_user; Type: INDEX; Schema: ledger; Owner: ledger_owner
--

CREATE INDEX search_forks_user ON ledger.search_forks USING btree (namespace_id, projection_version, user_id);


--
-- Name: served_views_served_at; Type: INDEX; Schema: ledger; Owner: ledger_owner
--

CREATE INDEX served_views_served_at ON ledger.served_views USING btree (namespace_id, served_at);


--
-- Name: session_index_session_id; Type: INDEX; Schema: ledger; Owner: ledger_owner
--

CREATE INDEX session_index_session_id ON ledger.session_index USING btree (namespace_id, projection_version, session_id COLLATE "C") WHERE (((session_id)::text COLLATE "C") > ''::text);


--
-- Name: session_index_updated_at; Type: INDEX; Schema: ledger; Owner: ledger_owner
--

CREATE INDEX session_index_updated_at ON ledger.session_index USING btree (namespace_id, projection_version, updated_at DESC, stream_id);


--
-- Name: session_index_user_id; Type: INDEX; Schema: ledger; Owner: ledger_owner
--

CREATE INDEX session_index_user_id ON ledger.session_index USING btree (namespace_id, projection_version, user_id COLLATE "C") WHERE (((user_id)::text COLLATE "C") > ''::text);


--
-- Name: session_runs_run_id; Type: INDEX; Schema: ledger; Owner: ledger_owner
--

CREATE INDEX session_runs_run_id ON ledger.session_runs USING btree (run_id COLLATE "C", namespace_id, projection_version);


--
-- Name: streams_parent_id; Type: INDEX; Schema: ledger; Owner: ledger_owner
--

CREATE INDEX streams_parent_id ON ledger.streams USING btree (parent_id) WHERE (parent_id IS NOT NULL);


--
-- Name: streams_session_id; Type: INDEX; Schema: ledger; Owner: ledger_owner
--

CREATE INDEX streams_session_id ON ledger.streams USING btree (session_id, namespace_id);


--
-- Name: events events_append_only; Type: TRIGGER; Schema: ledger; Owner: ledger_owner
--

CREATE TRIGGER events_append_only BEFORE DELETE OR UPDATE ON ledger.events FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();

ALTER TABLE ledger.events ENABLE ALWAYS TRIGGER events_append_only;


--
-- Name: events events_no_truncate; Type: TRIGGER; Schema: ledger; Owner: ledger_owner
--

CREATE TRIGGER events_no_truncate BEFORE TRUNCATE ON ledger.events FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

ALTER TABLE ledger.events ENABLE ALWAYS TRIGGER events_no_truncate;


--
-- Name: api_tokens; Type: ROW SECURITY; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ledger.api_tokens ENABLE ROW LEVEL SECURITY;

--
-- Name: append_requests; Type: ROW SECURITY; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ledger.append_requests ENABLE ROW LEVEL SECURITY;

--
-- Name: events; Type: ROW SECURITY; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ledger.events ENABLE ROW LEVEL SECURITY;

--
-- Name: jobs; Type: ROW SECURITY; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ledger.jobs ENABLE ROW LEVEL SECURITY;

--
-- Name: append_requests namespace_isolation; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY namespace_isolation ON ledger.append_requests USING ((array_position(( SELECT (string_to_array(NULLIF(current_setting('ledger.namespace'::text, true), ''::text), ','::text))::uuid[] AS string_to_array), namespace_id) IS NOT NULL));


--
-- Name: events namespace_isolation; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY namespace_isolation ON ledger.events USING ((array_position(( SELECT (string_to_array(NULLIF(current_setting('ledger.namespace'::text, true), ''::text), ','::text))::uuid[] AS string_to_array), namespace_id) IS NOT NULL));


--
-- Name: jobs namespace_isolation; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY namespace_isolation ON ledger.jobs USING ((array_position(( SELECT (string_to_array(NULLIF(current_setting('ledger.namespace'::text, true), ''::text), ','::text))::uuid[] AS string_to_array), namespace_id) IS NOT NULL));


--
-- Name: namespaces namespace_isolation; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY namespace_isolation ON ledger.namespaces USING ((array_position(( SELECT (string_to_array(NULLIF(current_setting('ledger.namespace'::text, true), ''::text), ','::text))::uuid[] AS string_to_array), namespace_id) IS NOT NULL));


--
-- Name: projection_checkpoints namespace_isolation; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY namespace_isolation ON ledger.projection_checkpoints USING ((array_position(( SELECT (string_to_array(NULLIF(current_setting('ledger.namespace'::text, true), ''::text), ','::text))::uuid[] AS string_to_array), namespace_id) IS NOT NULL));


--
-- Name: record_accesses namespace_isolation; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY namespace_isolation ON ledger.record_accesses USING ((array_position(( SELECT (string_to_array(NULLIF(current_setting('ledger.namespace'::text, true), ''::text), ','::text))::uuid[] AS string_to_array), namespace_id) IS NOT NULL));


--
-- Name: record_embeddings namespace_isolation; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY namespace_isolation ON ledger.record_embeddings USING ((array_position(( SELECT (string_to_array(NULLIF(current_setting('ledger.namespace'::text, true), ''::text), ','::text))::uuid[] AS string_to_array), namespace_id) IS NOT NULL));


--
-- Name: records namespace_isolation; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY namespace_isolation ON ledger.records USING ((array_position(( SELECT (string_to_array(NULLIF(current_setting('ledger.namespace'::text, true), ''::text), ','::text))::uuid[] AS string_to_array), namespace_id) IS NOT NULL));


--
-- Name: search_embeddings namespace_isolation; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY namespace_isolation ON ledger.search_embeddings USING ((array_position(( SELECT (string_to_array(NULLIF(current_setting('ledger.namespace'::text, true), ''::text), ','::text))::uuid[] AS string_to_array), namespace_id) IS NOT NULL));


--
-- Name: search_entries namespace_isolation; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY namespace_isolation ON ledger.search_entries USING ((array_position(( SELECT (string_to_array(NULLIF(current_setting('ledger.namespace'::text, true), ''::text), ','::text))::uuid[] AS string_to_array), namespace_id) IS NOT NULL));


--
-- Name: search_fork_changes namespace_isolation; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY namespace_isolation ON ledger.search_fork_changes USING ((array_position(( SELECT (string_to_array(NULLIF(current_setting('ledger.namespace'::text, true), ''::text), ','::text))::uuid[] AS string_to_array), namespace_id) IS NOT NULL));


--
-- Name: search_forks namespace_isolation; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY namespace_isolation ON ledger.search_forks USING ((array_position(( SELECT (string_to_array(NULLIF(current_setting('ledger.namespace'::text, true), ''::text), ','::text))::uuid[] AS string_to_array), namespace_id) IS NOT NULL));


--
-- Name: search_terms namespace_isolation; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY namespace_isolation ON ledger.search_terms USING ((array_position(( SELECT (string_to_array(NULLIF(current_setting('ledger.namespace'::text, true), ''::text), ','::text))::uuid[] AS string_to_array), namespace_id) IS NOT NULL));


--
-- Name: served_views namespace_isolation; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY namespace_isolation ON ledger.served_views USING ((array_position(( SELECT (string_to_array(NULLIF(current_setting('ledger.namespace'::text, true), ''::text), ','::text))::uuid[] AS string_to_array), namespace_id) IS NOT NULL));


--
-- Name: session_index namespace_isolation; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY namespace_isolation ON ledger.session_index USING ((array_position(( SELECT (string_to_array(NULLIF(current_setting('ledger.namespace'::text, true), ''::text), ','::text))::uuid[] AS string_to_array), namespace_id) IS NOT NULL));


--
-- Name: session_runs namespace_isolation; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY namespace_isolation ON ledger.session_runs USING ((array_position(( SELECT (string_to_array(NULLIF(current_setting('ledger.namespace'::text, true), ''::text), ','::text))::uuid[] AS string_to_array), namespace_id) IS NOT NULL));


--
-- Name: snapshots namespace_isolation; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY namespace_isolation ON ledger.snapshots USING ((array_position(( SELECT (string_to_array(NULLIF(current_setting('ledger.namespace'::text, true), ''::text), ','::text))::uuid[] AS string_to_array), namespace_id) IS NOT NULL));


--
-- Name: streams namespace_isolation; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY namespace_isolation ON ledger.streams USING ((array_position(( SELECT (string_to_array(NULLIF(current_setting('ledger.namespace'::text, true), ''::text), ','::text))::uuid[] AS string_to_array), namespace_id) IS NOT NULL));


--
-- Name: namespaces; Type: ROW SECURITY; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ledger.namespaces ENABLE ROW LEVEL SECURITY;

--
-- Name: api_tokens owner_filters; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY owner_filters ON ledger.api_tokens TO ledger_owner USING (true);


--
-- Name: append_requests owner_filters; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY owner_filters ON ledger.append_requests TO ledger_owner USING (true);


--
-- Name: events owner_filters; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY owner_filters ON ledger.events TO ledger_owner USING (true);


--
-- Name: jobs owner_filters; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY owner_filters ON ledger.jobs TO ledger_owner USING (true);


--
-- Name: namespaces owner_filters; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY owner_filters ON ledger.namespaces TO ledger_owner USING (true);


--
-- Name: projection_checkpoints owner_filters; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY owner_filters ON ledger.projection_checkpoints TO ledger_owner USING (true);


--
-- Name: record_accesses owner_filters; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY owner_filters ON ledger.record_accesses TO ledger_owner USING (true);


--
-- Name: record_embeddings owner_filters; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY owner_filters ON ledger.record_embeddings TO ledger_owner USING (true);


--
-- Name: records owner_filters; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY owner_filters ON ledger.records TO ledger_owner USING (true);


--
-- Name: search_embeddings owner_filters; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY owner_filters ON ledger.search_embeddings TO ledger_owner USING (true);


--
-- Name: search_entries owner_filters; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY owner_filters ON ledger.search_entries TO ledger_owner USING (true);


--
-- Name: search_fork_changes owner_filters; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY owner_filters ON ledger.search_fork_changes TO ledger_owner USING (true);


--
-- Name: search_forks owner_filters; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY owner_filters ON ledger.search_forks TO ledger_owner USING (true);


--
-- Name: search_terms owner_filters; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY owner_filters ON ledger.search_terms TO ledger_owner USING (true);


--
-- Name: served_views owner_filters; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY owner_filters ON ledger.served_views TO ledger_owner USING (true);


--
-- Name: session_index owner_filters; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY owner_filters ON ledger.session_index TO ledger_owner USING (true);


--
-- Name: session_runs owner_filters; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY owner_filters ON ledger.session_runs TO ledger_owner USING (true);


--
-- Name: snapshots owner_filters; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY owner_filters ON ledger.snapshots TO ledger_owner USING (true);


--
-- Name: streams owner_filters; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY owner_filters ON ledger.streams TO ledger_owner USING (true);


--
-- Name: projection_checkpoints; Type: ROW SECURITY; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ledger.projection_checkpoints ENABLE ROW LEVEL SECURITY;

--
-- Name: record_accesses; Type: ROW SECURITY; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ledger.record_accesses ENABLE ROW LEVEL SECURITY;

--
-- Name: record_embeddings; Type: ROW SECURITY; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ledger.record_embeddings ENABLE ROW LEVEL SECURITY;

--
-- Name: records; Type: ROW SECURITY; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ledger.records ENABLE ROW LEVEL SECURITY;

--
-- Name: search_embeddings; Type: ROW SECURITY; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ledger.search_embeddings ENABLE ROW LEVEL SECURITY;

--
-- Name: search_entries; Type: ROW SECURITY; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ledger.search_entries ENABLE ROW LEVEL SECURITY;

--
-- Name: search_fork_changes; Type: ROW SECURITY; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ledger.search_fork_changes ENABLE ROW LEVEL SECURITY;

--
-- Name: search_forks; Type: ROW SECURITY; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ledger.search_forks ENABLE ROW LEVEL SECURITY;

--
-- Name: search_terms; Type: ROW SECURITY; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ledger.search_terms ENABLE ROW LEVEL SECURITY;

--
-- Name: served_views; Type: ROW SECURITY; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ledger.served_views ENABLE ROW LEVEL SECURITY;

--
-- Name: session_index; Type: ROW SECURITY; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ledger.session_index ENABLE ROW LEVEL SECURITY;

--
-- Name: session_runs; Type: ROW SECURITY; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ledger.session_runs ENABLE ROW LEVEL SECURITY;

--
-- Name: snapshots; Type: ROW SECURITY; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ledger.snapshots ENABLE ROW LEVEL SECURITY;

--
-- Name: streams; Type: ROW SECURITY; Schema: ledger; Owner: ledger_owner
--

ALTER TABLE ledger.streams ENABLE ROW LEVEL SECURITY;

--
-- Name: append_requests verifier_reads; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY verifier_reads ON ledger.append_requests FOR SELECT TO ledger_verifier USING (true);


--
-- Name: events verifier_reads; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY verifier_reads ON ledger.events FOR SELECT TO ledger_verifier USING (true);


--
-- Name: jobs verifier_reads; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY verifier_reads ON ledger.jobs FOR SELECT TO ledger_verifier USING (true);


--
-- Name: namespaces verifier_reads; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY verifier_reads ON ledger.namespaces FOR SELECT TO ledger_verifier USING (true);


--
-- Name: projection_checkpoints verifier_reads; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY verifier_reads ON ledger.projection_checkpoints FOR SELECT TO ledger_verifier USING (true);


--
-- Name: record_accesses verifier_reads; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY verifier_reads ON ledger.record_accesses FOR SELECT TO ledger_verifier USING (true);


--
-- Name: record_embeddings verifier_reads; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY verifier_reads ON ledger.record_embeddings FOR SELECT TO ledger_verifier USING (true);


--
-- Name: records verifier_reads; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY verifier_reads ON ledger.records FOR SELECT TO ledger_verifier USING (true);


--
-- Name: search_embeddings verifier_reads; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY verifier_reads ON ledger.search_embeddings FOR SELECT TO ledger_verifier USING (true);


--
-- Name: search_entries verifier_reads; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY verifier_reads ON ledger.search_entries FOR SELECT TO ledger_verifier USING (true);


--
-- Name: search_fork_changes verifier_reads; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY verifier_reads ON ledger.search_fork_changes FOR SELECT TO ledger_verifier USING (true);


--
-- Name: search_forks verifier_reads; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY verifier_reads ON ledger.search_forks FOR SELECT TO ledger_verifier USING (true);


--
-- Name: search_terms verifier_reads; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY verifier_reads ON ledger.search_terms FOR SELECT TO ledger_verifier USING (true);


--
-- Name: served_views verifier_reads; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY verifier_reads ON ledger.served_views FOR SELECT TO ledger_verifier USING (true);


--
-- Name: session_index verifier_reads; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY verifier_reads ON ledger.session_index FOR SELECT TO ledger_verifier USING (true);


--
-- Name: session_runs verifier_reads; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY verifier_reads ON ledger.session_runs FOR SELECT TO ledger_verifier USING (true);


--
-- Name: snapshots verifier_reads; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY verifier_reads ON ledger.snapshots FOR SELECT TO ledger_verifier USING (true);


--
-- Name: streams verifier_reads; Type: POLICY; Schema: ledger; Owner: ledger_owner
--

CREATE POLICY verifier_reads ON ledger.streams FOR SELECT TO ledger_verifier USING (true);


--
-- Name: SCHEMA ledger; Type: ACL; Schema: -; Owner: ledger_owner
--

GRANT USAGE ON SCHEMA ledger TO ledger_app;
GRANT USAGE ON SCHEMA ledger TO ledger_verifier;


--
-- Name: FUNCTION append(p_namespace_id uuid, p_role text, p_unsafe boolean, p_retry boolean, h_stream_id uuid[], h_user_id text[], h_session_id text[], r_request_id uuid[], r_request_hash bytea[], r_writes integer[], w_head integer[], w_expected bigint[], w_items_after bigint[], w_life_after bigint[], w_live_until timestamp with time zone[], w_parent_id uuid[], w_parent_version bigint[], w_events integer[], e_event_id uuid[], e_type text[], e_schema_version smallint[], e_codec smallint[], e_occurred_at timestamp with time zone[], e_actor text[], e_item_id text[], e_key_id uuid[], e_key_commitment bytea[], e_structure bytea[], e_content bytea[]); Type: ACL; Schema: ledger; Owner: ledger_owner
--

REVOKE ALL ON FUNCTION ledger.append(p_namespace_id uuid, p_role text, p_unsafe boolean, p_retry boolean, h_stream_id uuid[], h_user_id text[], h_session_id text[], r_request_id uuid[], r_request_hash bytea[], r_writes integer[], w_head integer[], w_expected bigint[], w_items_after bigint[], w_life_after bigint[], w_live_until timestamp with time zone[], w_parent_id uuid[], w_parent_version bigint[], w_events integer[], e_event_id uuid[], e_type text[], e_schema_version smallint[], e_codec smallint[], e_occurred_at timestamp with time zone[], e_actor text[], e_item_id text[], e_key_id uuid[], e_key_commitment bytea[], e_structure bytea[], e_content bytea[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.append(p_namespace_id uuid, p_role text, p_unsafe boolean, p_retry boolean, h_stream_id uuid[], h_user_id text[], h_session_id text[], r_request_id uuid[], r_request_hash bytea[], r_writes integer[], w_head integer[], w_expected bigint[], w_items_after bigint[], w_life_after bigint[], w_live_until timestamp with time zone[], w_parent_id uuid[], w_parent_version bigint[], w_events integer[], e_event_id uuid[], e_type text[], e_schema_version smallint[], e_codec smallint[], e_occurred_at timestamp with time zone[], e_actor text[], e_item_id text[], e_key_id uuid[], e_key_commitment bytea[], e_structure bytea[], e_content bytea[]) TO ledger_app;


--
-- Name: FUNCTION append_checked(p_namespace_id uuid, p_retry boolean, p_last bigint, p_clock timestamp with time zone, h_stream_id uuid[], h_version bigint[], h_refusal text[], r_request_id uuid[], r_request_hash bytea[], r_writes integer[], w_head integer[], w_expected bigint[], w_items_after bigint[], w_life_after bigint[], w_live_until timestamp with time zone[], w_parent_id uuid[], w_parent_version bigint[], w_events integer[], e_event_id uuid[], e_item_id text[]); Type: ACL; Schema: ledger; Owner: ledger_owner
--

REVOKE ALL ON FUNCTION ledger.append_checked(p_namespace_id uuid, p_retry boolean, p_last bigint, p_clock timestamp with time zone, h_stream_id uuid[], h_version bigint[], h_refusal text[], r_request_id uuid[], r_request_hash bytea[], r_writes integer[], w_head integer[], w_expected bigint[], w_items_after bigint[], w_life_after bigint[], w_live_until timestamp with time zone[], w_parent_id uuid[], w_parent_version bigint[], w_events integer[], e_event_id uuid[], e_item_id text[]) FROM PUBLIC;


--
-- Name: FUNCTION append_stream(p_namespace_id uuid, p_role text, p_unsafe boolean, p_stream_id uuid, p_user_id text, p_session_id text, p_request_id uuid, p_request_hash bytea, p_expected bigint, p_items_after bigint, p_life_after bigint, p_live_until timestamp with time zone, e_event_id uuid[], e_type text[], e_schema_version smallint[], e_codec smallint[], e_occurred_at timestamp with time zone[], e_actor text[], e_item_id text[], e_key_id uuid[], e_key_commitment bytea[], e_structure bytea[], e_content bytea[]); Type: ACL; Schema: ledger; Owner: ledger_owner
--

REVOKE ALL ON FUNCTION ledger.append_stream(p_namespace_id uuid, p_role text, p_unsafe boolean, p_stream_id uuid, p_user_id text, p_session_id text, p_request_id uuid, p_request_hash bytea, p_expected bigint, p_items_after bigint, p_life_after bigint, p_live_until timestamp with time zone, e_event_id uuid[], e_type text[], e_schema_version smallint[], e_codec smallint[], e_occurred_at timestamp with time zone[], e_actor text[], e_item_id text[], e_key_id uuid[], e_key_commitment bytea[], e_structure bytea[], e_content bytea[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.append_stream(p_namespace_id uuid, p_role text, p_unsafe boolean, p_stream_id uuid, p_user_id text, p_session_id text, p_request_id uuid, p_request_hash bytea, p_expected bigint, p_items_after bigint, p_life_after bigint, p_live_until timestamp with time zone, e_event_id uuid[], e_type text[], e_schema_version smallint[], e_codec smallint[], e_occurred_at timestamp with time zone[], e_actor text[], e_item_id text[], e_key_id uuid[], e_key_commitment bytea[], e_structure bytea[], e_content bytea[]) TO ledger_app;


--
-- Name: FUNCTION create_namespace(p_namespace_id uuid, p_namespace text); Type: ACL; Schema: ledger; Owner: ledger_owner
--

REVOKE ALL ON FUNCTION ledger.create_namespace(p_namespace_id uuid, p_namespace text) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.create_namespace(p_namespace_id uuid, p_namespace text) TO ledger_app;


--
-- Name: FUNCTION find_items(p_namespace_id uuid, p_stream_id uuid, p_items text[]); Type: ACL; Schema: ledger; Owner: ledger_owner
--

REVOKE ALL ON FUNCTION ledger.find_items(p_namespace_id uuid, p_stream_id uuid, p_items text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.find_items(p_namespace_id uuid, p_stream_id uuid, p_items text[]) TO ledger_app;


--
-- Name: FUNCTION find_token(p_key_id text); Type: ACL; Schema: ledger; Owner: ledger_owner
--

REVOKE ALL ON FUNCTION ledger.find_token(p_key_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.find_token(p_key_id text) TO ledger_app;


--
-- Name: FUNCTION fork_point(p_namespace_id uuid, p_stream_id uuid, p_version bigint); Type: ACL; Schema: ledger; Owner: ledger_owner
--

REVOKE ALL ON FUNCTION ledger.fork_point(p_namespace_id uuid, p_stream_id uuid, p_version bigint) FROM PUBLIC;


--
-- Name: FUNCTION item_known(p_namespace_id uuid, p_stream_id uuid, p_item_id text, p_after bigint); Type: ACL; Schema: ledger; Owner: ledger_owner
--

REVOKE ALL ON FUNCTION ledger.item_known(p_namespace_id uuid, p_stream_id uuid, p_item_id text, p_after bigint) FROM PUBLIC;


--
-- Name: FUNCTION life_changed(p_namespace_id uuid, p_stream_id uuid, p_after bigint); Type: ACL; Schema: ledger; Owner: ledger_owner
--

REVOKE ALL ON FUNCTION ledger.life_changed(p_namespace_id uuid, p_stream_id uuid, p_after bigint) FROM PUBLIC;


--
-- Name: FUNCTION name_uuid(p_space uuid, p_name text); Type: ACL; Schema: ledger; Owner: ledger_owner
--

REVOKE ALL ON FUNCTION ledger.name_uuid(p_space uuid, p_name text) FROM PUBLIC;


--
-- Name: FUNCTION namespace_ids(); Type: ACL; Schema: ledger; Owner: ledger_owner
--

REVOKE ALL ON FUNCTION ledger.namespace_ids() FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.namespace_ids() TO ledger_app;
GRANT ALL ON FUNCTION ledger.namespace_ids() TO ledger_verifier;


--
-- Name: FUNCTION prune_requests(p_namespace_id uuid, p_older_than interval); Type: ACL; Schema: ledger; Owner: ledger_owner
--

REVOKE ALL ON FUNCTION ledger.prune_requests(p_namespace_id uuid, p_older_than interval) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.prune_requests(p_namespace_id uuid, p_older_than interval) TO ledger_app;


--
-- Name: FUNCTION refuse_change(); Type: ACL; Schema: ledger; Owner: ledger_owner
--

REVOKE ALL ON FUNCTION ledger.refuse_change() FROM PUBLIC;


--
-- Name: FUNCTION restore_events(p_namespace_id uuid, e_position bigint[], e_version bigint[], e_stream_id uuid[], e_user_id text[], e_session_id text[], e_event_id uuid[], e_type text[], e_schema_version smallint[], e_codec smallint[], e_occurred_at timestamp with time zone[], e_recorded_at timestamp with time zone[], e_actor text[], e_item_id text[], e_key_id uuid[], e_key_commitment bytea[], e_content_digest bytea[], e_hash bytea[], e_structure bytea[], e_content bytea[]); Type: ACL; Schema: ledger; Owner: ledger_owner
--

REVOKE ALL ON FUNCTION ledger.restore_events(p_namespace_id uuid, e_position bigint[], e_version bigint[], e_stream_id uuid[], e_user_id text[], e_session_id text[], e_event_id uuid[], e_type text[], e_schema_version smallint[], e_codec smallint[], e_occurred_at timestamp with time zone[], e_recorded_at timestamp with time zone[], e_actor text[], e_item_id text[], e_key_id uuid[], e_key_commitment bytea[], e_content_digest bytea[], e_hash bytea[], e_structure bytea[], e_content bytea[]) FROM PUBLIC;


--
-- Name: FUNCTION search(p_namespace_id uuid, p_projection_version integer, p_words text[], p_dates jsonb, p_ranking jsonb, p_kinds text[], p_stream_id uuid, p_user_id text, p_collection text, p_include_erased boolean, p_limit integer); Type: ACL; Schema: ledger; Owner: ledger_owner
--

REVOKE ALL ON FUNCTION ledger.search(p_namespace_id uuid, p_projection_version integer, p_words text[], p_dates jsonb, p_ranking jsonb, p_kinds text[], p_stream_id uuid, p_user_id text, p_collection text, p_include_erased boolean, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.search(p_namespace_id uuid, p_projection_version integer, p_words text[], p_dates jsonb, p_ranking jsonb, p_kinds text[], p_stream_id uuid, p_user_id text, p_collection text, p_include_erased boolean, p_limit integer) TO ledger_app;


--
-- Name: FUNCTION search_records(p_namespaces uuid[], p_builds integer[], p_words text[], p_most integer); Type: ACL; Schema: ledger; Owner: ledger_owner
--

REVOKE ALL ON FUNCTION ledger.search_records(p_namespaces uuid[], p_builds integer[], p_words text[], p_most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ledger.search_records(p_namespaces uuid[], p_builds integer[], p_words text[], p_most integer) TO ledger_app;


--
-- Name: TABLE alembic_version; Type: ACL; Schema: ledger; Owner: ledger_owner
--

GRANT SELECT ON TABLE ledger.alembic_version TO ledger_app;
GRANT SELECT ON TABLE ledger.alembic_version TO ledger_verifier;


--
-- Name: TABLE append_requests; Type: ACL; Schema: ledger; Owner: ledger_owner
--

GRANT SELECT ON TABLE ledger.append_requests TO ledger_app;
GRANT SELECT ON TABLE ledger.append_requests TO ledger_verifier;


--
-- Name: TABLE events; Type: ACL; Schema: ledger; Owner: ledger_owner
--

GRANT SELECT ON TABLE ledger.events TO ledger_app;
GRANT SELECT ON TABLE ledger.events TO ledger_verifier;


--
-- Name: TABLE namespaces; Type: ACL; Schema: ledger; Owner: ledger_owner
--

GRANT SELECT ON TABLE ledger.namespaces TO ledger_app;
GRANT SELECT ON TABLE ledger.namespaces TO ledger_verifier;


--
-- Name: TABLE streams; Type: ACL; Schema: ledger; Owner: ledger_owner
--

GRANT SELECT ON TABLE ledger.streams TO ledger_app;
GRANT SELECT ON TABLE ledger.streams TO ledger_verifier;


--
-- Name: TABLE events_readable; Type: ACL; Schema: ledger; Owner: ledger_owner
--

GRANT SELECT ON TABLE ledger.events_readable TO ledger_app;
GRANT SELECT ON TABLE ledger.events_readable TO ledger_verifier;


--
-- Name: TABLE jobs; Type: ACL; Schema: ledger; Owner: ledger_owner
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.jobs TO ledger_app;
GRANT SELECT ON TABLE ledger.jobs TO ledger_verifier;


--
-- Name: TABLE projection_checkpoints; Type: ACL; Schema: ledger; Owner: ledger_owner
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.projection_checkpoints TO ledger_app;
GRANT SELECT ON TABLE ledger.projection_checkpoints TO ledger_verifier;


--
-- Name: TABLE record_accesses; Type: ACL; Schema: ledger; Owner: ledger_owner
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.record_accesses TO ledger_app;
GRANT SELECT ON TABLE ledger.record_accesses TO ledger_verifier;


--
-- Name: TABLE record_embeddings; Type: ACL; Schema: ledger; Owner: ledger_owner
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.record_embeddings TO ledger_app;
GRANT SELECT ON TABLE ledger.record_embeddings TO ledger_verifier;


--
-- Name: TABLE records; Type: ACL; Schema: ledger; Owner: ledger_owner
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.records TO ledger_app;
GRANT SELECT ON TABLE ledger.records TO ledger_verifier;


--
-- Name: TABLE search_embeddings; Type: ACL; Schema: ledger; Owner: ledger_owner
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.search_embeddings TO ledger_app;
GRANT SELECT ON TABLE ledger.search_embeddings TO ledger_verifier;


--
-- Name: TABLE search_entries; Type: ACL; Schema: ledger; Owner: ledger_owner
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.search_entries TO ledger_app;
GRANT SELECT ON TABLE ledger.search_entries TO ledger_verifier;


--
-- Name: TABLE search_fork_changes; Type: ACL; Schema: ledger; Owner: ledger_owner
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.search_fork_changes TO ledger_app;
GRANT SELECT ON TABLE ledger.search_fork_changes TO ledger_verifier;


--
-- Name: TABLE search_forks; Type: ACL; Schema: ledger; Owner: ledger_owner
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.search_forks TO ledger_app;
GRANT SELECT ON TABLE ledger.search_forks TO ledger_verifier;


--
-- Name: TABLE search_terms; Type: ACL; Schema: ledger; Owner: ledger_owner
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.search_terms TO ledger_app;
GRANT SELECT ON TABLE ledger.search_terms TO ledger_verifier;


--
-- Name: TABLE served_views; Type: ACL; Schema: ledger; Owner: ledger_owner
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.served_views TO ledger_app;
GRANT SELECT ON TABLE ledger.served_views TO ledger_verifier;


--
-- Name: TABLE session_index; Type: ACL; Schema: ledger; Owner: ledger_owner
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.session_index TO ledger_app;
GRANT SELECT ON TABLE ledger.session_index TO ledger_verifier;


--
-- Name: TABLE session_runs; Type: ACL; Schema: ledger; Owner: ledger_owner
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.session_runs TO ledger_app;
GRANT SELECT ON TABLE ledger.session_runs TO ledger_verifier;


--
-- Name: TABLE snapshots; Type: ACL; Schema: ledger; Owner: ledger_owner
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ledger.snapshots TO ledger_app;
GRANT SELECT ON TABLE ledger.snapshots TO ledger_verifier;
