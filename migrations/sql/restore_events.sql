-- Restore a page of an exported namespace, byte by byte (trust E-12). The application cannot call it: like a migration
-- it needs a login that may act as the owner. The namespace must hold nothing else. The pages must come in position
-- order; the caller has verified the whole file before the first page, and verifies the result.
CREATE FUNCTION ledger.restore_events(
    p_namespace_id uuid,
    e_position bigint[],
    e_version bigint[],
    e_stream_id uuid[],
    e_user_id text[],
    e_session_id text[],
    e_event_id uuid[],
    e_type text[],
    e_schema_version smallint[],
    e_codec smallint[],
    e_occurred_at timestamptz[],
    e_recorded_at timestamptz[],
    e_actor text[],
    e_item_id text[],
    e_key_id uuid[],
    e_key_commitment bytea[],
    e_content_digest bytea[],
    e_hash bytea[],
    e_structure bytea[],
    e_content bytea[]
) RETURNS bigint
LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
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
