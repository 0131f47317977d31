-- Create a namespace unless it exists; its id is that of its name (trust R-1).
CREATE FUNCTION ledger.create_namespace(p_namespace_id uuid, p_namespace text) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
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
