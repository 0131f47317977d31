-- The exact bytes of each event, apart from it, so that content can be erased later without changing an event
-- (trust D-3). They are not compressed: salted or encrypted bytes do not get smaller, and digests are of the bytes.
CREATE TABLE ledger.payloads (
    namespace_id uuid NOT NULL,
    "position" ledger.ordinal NOT NULL,
    bytes ledger.stored_payload NOT NULL,
    PRIMARY KEY (namespace_id, "position")
);
ALTER TABLE ledger.payloads ALTER COLUMN bytes SET STORAGE EXTERNAL;

CREATE TRIGGER payloads_append_only BEFORE UPDATE OR DELETE ON ledger.payloads
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER payloads_no_truncate BEFORE TRUNCATE ON ledger.payloads
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
ALTER TABLE ledger.payloads ENABLE ALWAYS TRIGGER payloads_append_only;
ALTER TABLE ledger.payloads ENABLE ALWAYS TRIGGER payloads_no_truncate;
