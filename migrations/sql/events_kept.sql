-- For kept values: by key, by range of keys, and the greatest key of a space. Item ids are compared by code point, as in
-- Python. Only of their events, so that entries cost nothing more.
CREATE INDEX events_kept ON ledger.events (namespace_id, stream_id, item_id COLLATE "C", version)
    WHERE type IN ('kept.removed', 'kept.set');
