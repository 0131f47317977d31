-- Embeddings of records, if the server has pgvector. Each has the digest of its text, so an edited text gets a new one.
-- They cost money, so they survive a rebuild. The dimension depends on the model.
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
