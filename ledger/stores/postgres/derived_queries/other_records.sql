-- Records of a stream that are not known.
SELECT r.record_id
FROM ledger.records r
WHERE r.namespace_id = :namespace AND r.projection_version = :build AND r.stream_id = :stream
    AND NOT EXISTS (SELECT FROM unnest(CAST(:known AS text[])) AS k (record_id) WHERE k.record_id = r.record_id)
