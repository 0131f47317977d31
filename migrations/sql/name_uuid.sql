-- The UUIDv5 of a name (trust R-1), so that no stream and no namespace has an id that is not of its names. PostgreSQL has
-- no SHA-1 of its own; this one takes 50 to 100 µs for the names of sessions, once for each stream.
CREATE FUNCTION ledger.name_uuid(p_space uuid, p_name text) RETURNS uuid
LANGUAGE plpgsql IMMUTABLE SET search_path = ledger, pg_temp AS $$
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
