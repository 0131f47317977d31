-- The log for SQL queries by people: with decoded payloads, without encrypted ones.
CREATE VIEW ledger.events_readable WITH (security_invoker = true) AS
SELECT
    n.namespace, s.user_id, s.session_id, e.version, e."position", e.event_id, e.type, e.schema_version,
    e.actor, e.occurred_at, e.recorded_at, e.item_id,
    CASE e.codec
        WHEN 0 THEN convert_from(e.payload, 'UTF8')::jsonb
        WHEN 1 THEN convert_from(substring(e.payload FROM 17), 'UTF8')::jsonb
    END AS payload,
    e.hash
FROM ledger.events e
JOIN ledger.streams s USING (namespace_id, stream_id)
JOIN ledger.namespaces n USING (namespace_id);
