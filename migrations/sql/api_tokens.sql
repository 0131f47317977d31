-- API tokens (trust S-2). They are looked up before the namespace is known, so no namespace policy can protect them:
-- the application has no privilege on the table and finds one row by its key id through a function. Only a login that
-- may act as the owner creates and revokes tokens, so an attacker who controls the service cannot.
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
