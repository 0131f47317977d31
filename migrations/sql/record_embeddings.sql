-- Meanings of records, where the server has pgvector. One is of the text whose digest it has, so that an edited text
-- waits for its own. They cost money, so they outlive a rebuild. No dimension is fixed: it is the model's.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'vector') THEN
        RETURN;
    END IF;
    CREATE TABLE ledger.record_embeddings (
        namespace_id uuid NOT NULL,
        model ledger.short_text NOT NULL,
        stream_id uuid NOT NULL,
        record_id ledger.short_text NOT NULL,
        text_digest ledger.hash NOT NULL,
        embedding public.vector NOT NULL,
        PRIMARY KEY (namespace_id, model, stream_id, record_id)
    );
END
$$;
