-- Create a namespace unless it exists; the caller computes the id from the name (trust R-1).
CREATE FUNCTION ledger.create_namespace(p_namespace_id uuid, p_namespace text) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
    v_ledger_id uuid;
BEGIN
    PERFORM set_config('ledger.namespace', p_namespace_id::text, true);
    INSERT INTO ledger.namespaces (namespace_id, namespace) VALUES (p_namespace_id, p_namespace)
        ON CONFLICT (namespace_id) DO NOTHING;
    SELECT n.ledger_id INTO v_ledger_id FROM ledger.namespaces n
        WHERE n.namespace_id = p_namespace_id AND n.namespace = p_namespace;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the namespace id belongs to another name' USING ERRCODE = 'LG006';
    END IF;
    RETURN v_ledger_id;
END
$$;
