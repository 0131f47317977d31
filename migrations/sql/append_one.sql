-- Append one event to one stream: what `append` does for the usual call, at half its cost. It returns position, time,
-- version, previous hash, hash. It returns null, and has written nothing, if the namespace or the stream is new, or the
-- append is refused or repeated; then `append` has the answer.
--
-- The lock is the same as that of `append`: the counter of the namespace, first of all and until the commit.
CREATE FUNCTION ledger.append_one(
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
    p_event_id uuid,
    p_type text,
    p_schema_version smallint,
    p_codec smallint,
    p_occurred_at timestamptz,
    p_actor text,
    p_item_id text,
    p_key_id uuid,
    p_key_commitment bytea,
    p_bytes bytea
) RETURNS bytea
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = ledger, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $$
DECLARE
    v_position bigint;
    v_clock timestamptz;
    v_recorded_us bigint;
    v_version bigint;
    v_previous bytea;
    v_is_unusual boolean;
    v_digest bytea;
    v_hash bytea;
BEGIN
    IF p_namespace_id IS NULL OR p_role IS DISTINCT FROM coalesce(nullif(current_setting('role'), 'none'), session_user)
        OR current_setting('synchronous_commit') = 'off' AND p_unsafe IS NOT TRUE
        OR set_config('ledger.namespace', p_namespace_id::text, true) IS NULL
    THEN
        RAISE EXCEPTION 'append needs a namespace, the role it was opened with, and synchronous_commit'
            USING ERRCODE = '42501';
    END IF;

    UPDATE namespaces n SET last_position = n.last_position + 1
    WHERE n.namespace_id = p_namespace_id
    RETURNING n.last_position INTO v_position;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    v_clock := clock_timestamp();

    -- each look-up on its own: an expression with a query in it costs as much as a statement, whatever it looks at
    SELECT
        s.version + 1,
        s.head_hash::bytea,
        s.user_id <> p_user_id OR s.session_id <> p_session_id OR s.closed OR s.parent_version > p_items_after
    INTO v_version, v_previous, v_is_unusual
    FROM streams s
    WHERE s.namespace_id = p_namespace_id AND s.stream_id = p_stream_id;
    v_is_unusual := NOT FOUND OR v_is_unusual IS TRUE OR p_expected <> v_version - 1 AND p_expected >= 0;
    IF p_request_id IS NOT NULL AND v_is_unusual IS NOT TRUE THEN
        v_is_unusual := EXISTS (
            SELECT FROM append_requests q
            WHERE q.namespace_id = p_namespace_id AND q.stream_id = p_stream_id AND q.request_id = p_request_id
        );
    END IF;
    IF p_items_after IS NOT NULL AND v_is_unusual IS NOT TRUE THEN
        v_is_unusual := EXISTS (
            SELECT
            FROM ( -- see item_known
                SELECT e.namespace_id, e.stream_id, e.item_id, e.version
                FROM events e
                WHERE e.item_id IS NOT NULL AND uuid_hash(e.stream_id) = uuid_hash(p_stream_id)
                    AND hashtext(e.item_id) = hashtext(p_item_id)
                OFFSET 0
            ) AS f
            WHERE f.namespace_id = p_namespace_id AND f.stream_id = p_stream_id AND f.item_id = p_item_id AND f.version > p_items_after
        );
    END IF;
    IF v_is_unusual THEN
        UPDATE namespaces n SET last_position = n.last_position - 1 WHERE n.namespace_id = p_namespace_id;
        RETURN NULL;
    END IF;

    -- the frame is that of trust §3
    v_recorded_us := extract(epoch FROM v_clock) * 1000000;
    v_digest := sha256(p_bytes);
    v_hash := sha256(
        '\x6d6c65646765722f6576656e742f310a'::bytea
        || uuid_send(p_namespace_id)
        || uuid_send(p_stream_id)
        || int8send(v_version)
        || int8send(v_position)
        || uuid_send(p_event_id)
        || int4send(octet_length(p_type)) || convert_to(p_type, 'UTF8')
        || int2send(p_schema_version)
        || int2send(p_codec)
        || int8send((extract(epoch FROM p_occurred_at) * 1000000)::bigint)
        || int8send(v_recorded_us)
        || int4send(octet_length(p_actor)) || convert_to(p_actor, 'UTF8')
        || coalesce('\x01'::bytea || uuid_send(p_key_id), '\x00'::bytea)
        || coalesce(p_key_commitment, '\x0000000000000000000000000000000000000000000000000000000000000000'::bytea)
        || v_digest
        || v_previous
    );

    INSERT INTO events (
        "position", version, occurred_at, recorded_at, namespace_id, stream_id, event_id, schema_version, codec,
        type, actor, item_id, key_id, key_commitment, payload_digest, hash, payload
    ) VALUES (
        v_position, v_version, p_occurred_at, v_clock, p_namespace_id, p_stream_id, p_event_id, p_schema_version, p_codec,
        p_type, p_actor, p_item_id, p_key_id, p_key_commitment, v_digest, v_hash, p_bytes
    );
    UPDATE streams s SET version = v_version, head_hash = v_hash
    WHERE s.namespace_id = p_namespace_id AND s.stream_id = p_stream_id;
    IF p_request_id IS NOT NULL THEN
        INSERT INTO append_requests (
            namespace_id, stream_id, request_id, request_hash, first_position, event_count, recorded_at
        ) VALUES (
            p_namespace_id, p_stream_id, p_request_id, p_request_hash, v_position, 1, v_clock
        );
    END IF;
    RETURN int8send(v_position) || int8send(v_recorded_us) || int8send(v_version) || v_previous || v_hash;
END
$$;
