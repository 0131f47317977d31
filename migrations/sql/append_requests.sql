-- The client requests that were executed, so that a retry gets the first answer (trust R-6).
CREATE TABLE ledger.append_requests (
    namespace_id uuid NOT NULL,
    stream_id uuid NOT NULL,
    request_id uuid NOT NULL,
    request_hash ledger.hash NOT NULL,
    first_position ledger.ordinal NOT NULL,
    event_count integer NOT NULL,
    recorded_at timestamptz NOT NULL,
    PRIMARY KEY (namespace_id, stream_id, request_id)
);
CREATE INDEX append_requests_recorded_at ON ledger.append_requests USING brin (recorded_at);
