-- The log. Wide columns come first, so alignment wastes no bytes. The hashed columns are those of trust H-1 … H-16;
-- item_id, mac and trace are not hashed. Structure is what folds and proofs need, and stays; content is what can be
-- erased (trust D-3, E-9): null in an event that never had any, which has no digest then, and in one that was erased.
-- Content is hardly ever compared or searched here, so it is not compressed.
CREATE TABLE ledger.events (
    "position" ledger.ordinal NOT NULL,
    version ledger.ordinal NOT NULL,
    occurred_at timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL,
    namespace_id uuid NOT NULL,
    stream_id uuid NOT NULL,
    event_id uuid NOT NULL,
    schema_version smallint NOT NULL,
    codec smallint NOT NULL,
    type ledger.short_text NOT NULL,
    actor ledger.short_text NOT NULL,
    item_id ledger.short_text,
    key_id uuid,
    key_commitment ledger.hash,
    content_digest ledger.hash,
    hash ledger.hash NOT NULL,
    mac ledger.hash,
    trace text,
    structure ledger.stored_part NOT NULL,
    content ledger.stored_part,
    PRIMARY KEY (namespace_id, stream_id, version),
    UNIQUE (namespace_id, "position"),
    CHECK (
        (key_id IS NULL) = (key_commitment IS NULL)
        AND (codec = 0) = (content_digest IS NULL)
        AND (content IS NULL OR content_digest IS NOT NULL)
    )
);

ALTER TABLE ledger.events ALTER COLUMN content SET STORAGE EXTERNAL;

-- Two short hashes instead of namespace, stream and text: a fifth of the bytes. Those who use it compare the columns
-- themselves too, as find_items does. Entries of one stream lie together, so a busy stream writes to few pages.
CREATE INDEX events_item_id ON ledger.events (uuid_hash(stream_id), hashtext(item_id)) WHERE item_id IS NOT NULL;
-- Only of events without an item, so that entries, which are the most, cost nothing more.
CREATE INDEX events_type ON ledger.events (namespace_id, stream_id, type, version) WHERE item_id IS NULL;

CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE ON ledger.events
    FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER events_no_truncate BEFORE TRUNCATE ON ledger.events
    FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
ALTER TABLE ledger.events ENABLE ALWAYS TRIGGER events_append_only;
ALTER TABLE ledger.events ENABLE ALWAYS TRIGGER events_no_truncate;
