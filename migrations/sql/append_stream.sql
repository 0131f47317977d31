-- Append a few events to one stream: what `append` does for the usual call, at half its cost. It returns position of the
-- first event and time, and for each event version, previous hash, hash. It returns null, and has written nothing, if the
-- namespace is new, or the append is refused or repeated; then `append` has the answer.
--
-- The lock is the same as that of `append`: the counter of the namespace, first of all and until the commit.
CREATE FUNCTION ledger.append_stream(
    p_namespace_id uuid,
    p_role text,
    p_unsafe boolean,
    p_stream_id uuid,
    p_user_id text,
    p_session_id text,
    p_request_id uuid,
    p_request_hash bytea,
    p_expected bigint,
    p_items_after bigint,
    p_life_after bigint,
    p_live_until timestamptz,
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
) RETURNS bytea
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = ledger, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
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
