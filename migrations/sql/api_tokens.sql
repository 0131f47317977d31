-- Tokens of the service (trust S-2). They are looked up before any namespace is known, so no policy of namespaces can
-- guard them: the application has no right on the table, and finds one row by its key id through a function. Only a
-- login that may act as the owner makes and revokes tokens, so that whoever takes over the service cannot.
CREATE TABLE ledger.api_tokens (
    key_id ledger.short_text PRIMARY KEY,
    token_hash bytea NOT NULL CHECK (octet_length(token_hash) = 32),
    name ledger.short_text NOT NULL,
    scopes text[] NOT NULL,
    namespaces text[],
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz,
    revoked_at timestamptz
);

ALTER TABLE ledger.api_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger.api_tokens FORCE ROW LEVEL SECURITY;
CREATE POLICY owner_keeps ON ledger.api_tokens TO CURRENT_USER USING (true);

CREATE FUNCTION ledger.find_token(p_key_id text) RETURNS TABLE (
    token_hash bytea, name text, scopes text[], namespaces text[], expires_at timestamptz, revoked_at timestamptz
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
    SELECT t.token_hash, t.name, t.scopes, t.namespaces, t.expires_at, t.revoked_at
    FROM ledger.api_tokens t WHERE t.key_id = p_key_id
$$;

REVOKE ALL ON ledger.api_tokens FROM PUBLIC;
REVOKE ALL ON FUNCTION ledger.find_token FROM PUBLIC;

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'ledger_app') THEN
        GRANT EXECUTE ON FUNCTION ledger.find_token TO ledger_app;
    END IF;
END
$$;
