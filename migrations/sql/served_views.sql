-- Views of sessions that were served with messages left out, stored for a week: a client that writes such a view back
-- has not removed the messages it never saw (http W-55). left_out is a flat list of the bounds of version ranges.
CREATE TABLE ledger.served_views (
    namespace_id uuid NOT NULL,
    stream_id uuid NOT NULL,
    view ledger.short_text NOT NULL,
    version ledger.ordinal NOT NULL,
    first_version ledger.ordinal NOT NULL,
    left_out bigint[] NOT NULL,
    served_at timestamptz NOT NULL,
    PRIMARY KEY (namespace_id, stream_id, view)
);
CREATE INDEX served_views_served_at ON ledger.served_views (namespace_id, served_at);
