-- A namespace isolates and orders. Its counter is the last lock an append takes (trust R-2); the low
-- fillfactor keeps its updates on one page.
CREATE TABLE ledger.namespaces (
    namespace_id uuid PRIMARY KEY,
    namespace ledger.short_text NOT NULL,
    ledger_id uuid NOT NULL DEFAULT gen_random_uuid(),
    last_position bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 10);

ALTER TABLE ledger.namespaces ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger.namespaces FORCE ROW LEVEL SECURITY;
CREATE POLICY namespace_isolation ON ledger.namespaces USING (
    array_position(
        (SELECT string_to_array(nullif(current_setting('ledger.namespace', true), ''), ',')::uuid[]), namespace_id
    ) IS NOT NULL
);
