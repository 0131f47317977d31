-- The unit of isolation and order. Its counter is the first lock of an append (trust R-2); the low fillfactor keeps its
-- updates on one page.
CREATE TABLE ledger.namespaces (
    namespace_id uuid PRIMARY KEY,
    namespace ledger.short_text NOT NULL,
    ledger_id uuid NOT NULL DEFAULT gen_random_uuid(),
    last_position bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 10);
