-- Append to many streams of one namespace: together with `append_stream` the only way to write to the log. A request
-- succeeds or fails as a whole; a refused one does not affect the others, and its row of the answer has an LG code
-- (trust R-3).
--
-- The first lock is the counter of the namespace, until the commit. So the appends of a namespace form one queue: nothing
-- that is read below changes before the commit, no other lock is needed, nothing can deadlock, and position order is
-- commit order, without gaps (trust R-2). A request that is refused numbers nothing.
--
-- The arguments are parallel arrays, one element per
--     h_  distinct stream
--     r_  request
--     w_  write: the events of one request for one stream
--     e_  event
-- Writes and events are in request order. An array of nulls may be null. Null for all: r_writes if each request has one
-- write, w_head if each write has its own stream, in the order of h_, w_events if each write has one event.
--
-- The answer has a row for each refused request (code; for LG001 also version: where the stream is, and position: where
-- it was expected); a row for each repeated request, with its first answer; and one row without a request for all that
-- were appended (position: of the first event). A receipt is bytes, because rows and columns cost more: of an appended
-- event version, previous hash, hash; of a repeated one stream id, version, position, event id, time, hash.
CREATE FUNCTION ledger.append(
    p_namespace_id uuid,
    p_role text,
    p_unsafe boolean, -- whether synchronous_commit may be off
    p_retry boolean,  -- whether the answer to an earlier attempt was lost
    h_stream_id uuid[],
    h_user_id text[],
    h_session_id text[],
    r_request_id uuid[],
    r_request_hash bytea[],
    r_writes integer[],
    w_head integer[],
    w_expected bigint[],    -- -1, as null: any version
    w_items_after bigint[], -- refused if the stream has an event about one of the same items after this version
    w_life_after bigint[],  -- refused if the life of the session changed after this version
    w_live_until timestamptz[], -- refused from this moment on
    w_parent_id uuid[],
    w_parent_version bigint[],
    w_events integer[],
    e_event_id uuid[],
    e_type text[],
    e_schema_version smallint[],
    e_codec smallint[],
    e_occurred_at timestamptz[],
    e_actor text[],
    e_item_id text[],
    e_key_id uuid[],
    e_key_commitment bytea[],
    e_structure bytea[],
    e_content bytea[]
) RETURNS TABLE (
    request integer,
    code text,
    version bigint,
    "position" bigint,
    recorded_us bigint,
    receipts bytea[]
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = ledger, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_nestloop = off
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
