-- Finds a token by its key id, or for null all tokens, for the application, which has no privilege on the table (trust
-- S-2). A row proves nothing: a token holds only as its events say (trust K-6).
CREATE FUNCTION ledger.find_token(p_key_id text) RETURNS TABLE (
    key_id text, token_hash bytea, name text, scopes text[], namespaces text[], expires_at timestamptz,
    revoked_at timestamptz
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
    SELECT t.key_id, t.token_hash, t.name, t.scopes, t.namespaces, t.expires_at, t.revoked_at
    FROM ledger.api_tokens t WHERE t.key_id = p_key_id OR p_key_id IS NULL
$$;
