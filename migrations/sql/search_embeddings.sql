-- Embeddings of pieces, if the server has pgvector; without it search uses words only. They cost money, so they
-- survive a rebuild of the words. The dimension depends on the model.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'vector') THEN
        RETURN;
    END IF;
    CREATE TABLE ledger.search_embeddings (
        namespace_id uuid NOT NULL,
        model ledger.short_text NOT NULL,
        stream_id uuid NOT NULL,
        version ledger.ordinal NOT NULL,
        kind text NOT NULL,
        piece integer NOT NULL,
        added_in ledger.ordinal NOT NULL,
        embedding public.vector NOT NULL,
        PRIMARY KEY (namespace_id, model, stream_id, version, kind, piece, added_in)
    );
END
$$;
