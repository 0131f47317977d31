-- Finds a token by its key id for the application, which has no privilege on the table (trust S-2).
CREATE FUNCTION ledger.find_token(p_key_id text) RETURNS TABLE (
    token_hash bytea, name text, scopes text[], namespaces text[], expires_at timestamptz, revoked_at timestamptz
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
    SELECT t.token_hash, t.name, t.scopes, t.namespaces, t.expires_at, t.revoked_at
    FROM ledger.api_tokens t WHERE t.key_id = p_key_id
$$;
