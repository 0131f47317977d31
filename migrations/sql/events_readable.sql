-- The log for SQL queries by people: with its structure, and its content unless that is encrypted or erased.
CREATE VIEW ledger.events_readable WITH (security_invoker = true) AS
SELECT
    n.namespace, s.user_id, s.session_id, e.version, e."position", e.event_id, e.type, e.schema_version,
    e.actor, e.occurred_at, e.recorded_at, e.item_id,
    convert_from(e.structure, 'UTF8')::jsonb AS structure,
    CASE e.codec WHEN 1 THEN convert_from(substring(e.content FROM 17), 'UTF8')::jsonb END AS content,
    e.hash
FROM ledger.events e
JOIN ledger.streams s USING (namespace_id, stream_id)
JOIN ledger.namespaces n USING (namespace_id);
