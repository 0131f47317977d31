-- The only way to write to the log. One call appends to many streams of one namespace. A request succeeds or fails as
-- a whole; a refused one does not affect the others, and its row of the answer has an LG code (trust R-3).
--
-- The order of the locks matters: stream heads (by id) → idempotency look-up under these locks → expected versions (a
-- loser stops here and has numbered nothing) → the namespace's counter, locked until the commit. So position order is
-- commit order, without gaps (trust R-2).
--
-- The arguments are parallel arrays, one element per
--     h_  distinct stream, ascending by id
--     r_  request
--     w_  write: the events of one request for one stream
--     e_  event
-- Writes and events are in request order. An array without values is null: w_expected if any version is accepted,
-- w_parent_id and w_parent_version without forks, r_request_id without client keys, r_retry unless the answer to an
-- earlier attempt was lost.
--
-- The answer has a row per appended event (event: its index), in order; a row for each refused request (code; for
-- LG001 also version: where the stream is, position: where it was expected); and for a repeated request its first
-- answer (replayed, with the stream of each event).
--
-- What an ordinary append does not need is in append_checked: PL/pgSQL prepares every expression again in every
-- transaction, so each one costs as much as hashing a page.
CREATE FUNCTION ledger.append(
    p_namespace_id uuid,
    h_stream_id uuid[],
    h_user_id text[],
    h_session_id text[],
    r_request_id uuid[],
    r_request_hash bytea[],
    r_retry boolean[],
    r_writes integer[],
    w_head integer[],
    w_expected bigint[],
    w_config_digest bytea[],
    w_expires_at timestamptz[],
    w_ended boolean[],
    w_parent_id uuid[],
    w_parent_version bigint[],
    w_events integer[],
    e_head integer[],
    e_event_id uuid[],
    e_type text[],
    e_schema_version smallint[],
    e_codec smallint[],
    e_occurred_at timestamptz[],
    e_actor text[],
    e_item_id text[],
    e_key_id uuid[],
    e_key_commitment bytea[],
    e_mac bytea[],
    e_trace text[],
    e_bytes bytea[]
) RETURNS TABLE (
    request integer,
    event integer,
    code text,
    replayed boolean,
    version bigint,
    "position" bigint,
    event_id uuid,
    recorded_us bigint,
    previous_hash bytea,
    hash bytea,
    stream_id uuid
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = ledger, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    v_versions bigint[];   -- per head: its version as locked, later that of its newest event
    v_hashes bytea[];      -- per head: the hash of that event
    v_plain boolean;       -- no head is closed, and all have the names they were sent with
    v_accepted integer[];  -- indexes of the accepted events; null means all
    v_count integer := cardinality(e_event_id);
    v_clock timestamptz;
    v_prefix bytea;
    v_digest bytea;
    n_version bigint[];    -- per event: its version
    n_position bigint[];
    n_digest bytea[];
    n_hash bytea[];
    x integer;
    h integer;
BEGIN
    IF p_namespace_id IS NULL OR p_namespace_id::text IS DISTINCT FROM current_setting('ledger.namespace', true) THEN
        RAISE EXCEPTION 'append needs its namespace set, the role it was opened with, and synchronous_commit'
            USING ERRCODE = '42501';
    END IF;

    -- (1) lock the heads in the order of their ids; create the missing ones and lock again
    LOOP
        SELECT
            array_agg(locked.version),
            array_agg(locked.head_hash::bytea),
            array_agg(locked.user_id::text) = h_user_id AND array_agg(locked.session_id::text) = h_session_id
                AND NOT bool_or(locked.closed)
        INTO v_versions, v_hashes, v_plain
        FROM (
            SELECT s.version, s.head_hash, s.user_id, s.session_id, s.closed
            FROM streams s
            WHERE s.namespace_id = p_namespace_id AND s.stream_id = ANY (h_stream_id)
            ORDER BY s.stream_id
            FOR UPDATE
        ) AS locked;
        EXIT WHEN cardinality(v_versions) = cardinality(h_stream_id);
        INSERT INTO streams (namespace_id, stream_id, user_id, session_id)
        SELECT p_namespace_id, u.stream_id, u.user_id, u.session_id
        FROM unnest(h_stream_id, h_user_id, h_session_id) AS u (stream_id, user_id, session_id)
        ORDER BY u.stream_id
        ON CONFLICT DO NOTHING;
    END LOOP;

    -- (2) and (3): retries, expected versions and sizes, if there is something to check
    IF NOT v_plain OR w_expected IS NOT NULL OR r_request_id IS NOT NULL OR r_retry IS NOT NULL
        OR w_parent_id IS NOT NULL OR v_count > 32000 THEN -- EVENTS_PER_APPEND
        v_accepted := '{}';
        FOR request, event, code, replayed, version, "position", event_id, recorded_us, hash, stream_id IN
            SELECT * FROM append_checked(
                p_namespace_id, h_stream_id, h_user_id, h_session_id, v_versions, r_request_id, r_request_hash,
                r_retry, r_writes, w_head, w_expected, w_parent_id, w_parent_version, w_events, e_event_id
            )
        LOOP
            IF event IS NULL THEN
                RETURN NEXT;
            ELSE
                v_accepted := v_accepted || event;
            END IF;
        END LOOP;
        v_count := cardinality(v_accepted);
        -- refused requests, and writes that only check a version, leave nothing, not even an empty stream
        IF v_count < cardinality(e_event_id) OR 0 = ANY (w_events) THEN
            DELETE FROM streams s
            USING unnest(h_stream_id) WITH ORDINALITY AS u (stream_id, head)
            WHERE s.namespace_id = p_namespace_id AND s.stream_id = u.stream_id AND s.version = 0
                AND NOT EXISTS (SELECT FROM unnest(v_accepted) AS a (x) WHERE e_head[a.x] = u.head);
            IF v_count = 0 THEN
                RETURN;
            END IF;
        END IF;
        IF w_parent_id IS NOT NULL THEN
            FOR h, version, hash IN
                SELECT * FROM append_forked(
                    p_namespace_id, h_stream_id, w_head, w_parent_id, w_parent_version, w_events, v_accepted
                )
            LOOP
                v_versions[h] := version;
                v_hashes[h] := hash;
            END LOOP;
        END IF;
        request := NULL;
        code := NULL;
        replayed := false;
        event_id := NULL;
        stream_id := NULL;
    END IF;

    -- (4) the counter, last; (5) the clock
    UPDATE namespaces n SET last_position = n.last_position + v_count
    WHERE n.namespace_id = p_namespace_id
    RETURNING n.last_position - v_count, clock_timestamp(), '\x6d6c65646765722f6576656e742f310a'::bytea || uuid_send(n.namespace_id)
    INTO "position", v_clock, v_prefix;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'unknown namespace' USING ERRCODE = 'LG005';
    END IF;
    recorded_us := extract(epoch FROM v_clock) * 1000000;

    -- (6) number and chain, event by event; the frame is that of trust §3
    FOR i IN 1 .. v_count LOOP
        x := coalesce(v_accepted[i], i);
        h := e_head[x];
        event := x;
        version := v_versions[h] + 1;
        "position" := "position" + 1;
        previous_hash := v_hashes[h];
        v_digest := sha256(e_bytes[x]);
        hash := sha256(
            v_prefix
            || uuid_send(h_stream_id[h])
            || int8send(version)
            || int8send("position")
            || uuid_send(e_event_id[x])
            || int4send(octet_length(e_type[x])) || convert_to(e_type[x], 'UTF8')
            || int2send(e_schema_version[x])
            || int2send(e_codec[x])
            || int8send((extract(epoch FROM e_occurred_at[x]) * 1000000)::bigint)
            || int8send(recorded_us)
            || int4send(octet_length(e_actor[x])) || convert_to(e_actor[x], 'UTF8')
            || coalesce('\x01'::bytea || uuid_send(e_key_id[x]), '\x00'::bytea)
            || coalesce(
                e_key_commitment[x], '\x0000000000000000000000000000000000000000000000000000000000000000'::bytea
            )
            || v_digest
            || previous_hash
        );
        v_versions[h] := version;
        v_hashes[h] := hash;
        n_version[x] := version;
        n_position[x] := "position";
        n_digest[x] := v_digest;
        n_hash[x] := hash;
        RETURN NEXT;
    END LOOP;

    -- (7) the events; by subscripts, because unnest would start a scan for each array
    INSERT INTO events (
        "position", version, occurred_at, recorded_at, namespace_id, stream_id, event_id, schema_version, codec,
        type, actor, item_id, key_id, key_commitment, payload_digest, hash, mac, trace, payload
    )
    SELECT
        n_position[k], n_version[k], e_occurred_at[k], v_clock, p_namespace_id, h_stream_id[e_head[k]],
        e_event_id[k], e_schema_version[k], e_codec[k], e_type[k], e_actor[k], e_item_id[k], e_key_id[k],
        e_key_commitment[k], n_digest[k], n_hash[k], e_mac[k], e_trace[k], e_bytes[k]
    FROM generate_series(1, cardinality(e_event_id)) AS k
    WHERE n_version[k] IS NOT NULL;

    -- (8) the heads, one by one so that each uses the index, and what is stored beside the log
    FOR i IN 1 .. cardinality(h_stream_id) LOOP
        UPDATE streams s SET version = v_versions[i], head_hash = v_hashes[i]
        WHERE s.namespace_id = p_namespace_id AND s.stream_id = h_stream_id[i] AND s.version <> v_versions[i];
    END LOOP;
    IF r_request_id IS NOT NULL OR w_config_digest IS NOT NULL OR w_expires_at IS NOT NULL OR w_ended IS NOT NULL THEN
        PERFORM append_metadata(
            p_namespace_id, v_clock, h_stream_id, r_request_id, r_request_hash, r_writes, w_head, w_config_digest,
            w_expires_at, w_ended, w_events, n_position
        );
    END IF;
END
$$;
