-- Finds pieces of a namespace that contain any word of a query, best first (trust D-7).
--
-- The score is BM25: rare words weigh more, repetitions add less and less, and long pieces score lower. ts_rank of one
-- word is (1 + 1/4 + 1/9 + …)/16.449 over its occurrences, which replaces the term frequency. In a large namespace only
-- the rarest words select candidates, as long as these are few; all words score them.
CREATE FUNCTION ledger.search(
    p_namespace_id uuid,
    p_projection_version integer,
    p_language text,
    p_query text,
    p_kinds text[],
    p_stream_id uuid,
    p_user_id text,
    p_collection text,
    p_include_erased boolean,
    p_limit integer
) RETURNS TABLE (
    stream_id uuid, version bigint, kind text, piece integer, "position" bigint, first_character integer,
    characters integer, user_id text, session_id text, score double precision
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = ledger, pg_temp
SET plan_cache_mode = force_custom_plan
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    c_candidates CONSTANT bigint := 2000;
    c_words CONSTANT integer := 32;
    v_total double precision;
    v_average double precision;
    v_lexemes tsquery[];
    v_weights double precision[];
    v_rarest tsquery;
    v_all tsquery;
    v_any tsquery;
BEGIN
    PERFORM set_config('ledger.namespace', p_namespace_id::text, true);
    SELECT sum(t.pieces), sum(t.words)::double precision / nullif(sum(t.pieces), 0) INTO v_total, v_average
        FROM search_terms t
        WHERE t.namespace_id = p_namespace_id AND t.projection_version = p_projection_version AND t.lexeme = '';
    IF v_total IS NULL THEN
        RETURN;
    END IF;
    WITH known AS (
        SELECT w.lexeme, sum(t.pieces)::double precision AS pieces
        FROM unnest(tsvector_to_array(to_tsvector(p_language::regconfig, p_query))) AS w (lexeme)
        JOIN search_terms t ON t.namespace_id = p_namespace_id AND t.projection_version = p_projection_version
            AND t.lexeme = w.lexeme
        GROUP BY w.lexeme
        ORDER BY pieces, w.lexeme
        LIMIT c_words
    ), quoted AS (
        SELECT
            k.pieces, k.lexeme,
            '''' || replace(replace(k.lexeme, '\', '\\'), '''', '''''') || '''' AS word,
            sum(k.pieces) OVER (ORDER BY k.pieces, k.lexeme) AS reached,
            row_number() OVER (ORDER BY k.pieces, k.lexeme) AS place
        FROM known k
    )
    SELECT
        array_agg(q.word::tsquery ORDER BY q.place),
        array_agg(ln(1 + greatest(v_total - q.pieces + 0.5, 0.0) / (q.pieces + 0.5)) ORDER BY q.place),
        string_agg(q.word, ' | ') FILTER (WHERE q.place = 1 OR q.reached <= c_candidates)::tsquery,
        string_agg(q.word, ' | ')::tsquery
    INTO v_lexemes, v_weights, v_rarest, v_all
    FROM quoted q;
    IF v_lexemes IS NULL THEN
        RETURN;
    END IF;
    v_any := CASE WHEN p_stream_id IS NULL THEN v_rarest ELSE v_all END;
    LOOP
        RETURN QUERY
            SELECT
                e.stream_id, e.version::bigint, e.kind, e.piece, e."position"::bigint, e.first_character,
                e.characters, e.user_id::text, e.session_id::text, s.score
            FROM search_entries e
            CROSS JOIN LATERAL (
                SELECT sum(w.weight * f.h * 2.2 / (f.h + 1.2 * (0.25 + 0.75 * e.words / v_average))) AS score
                FROM (SELECT e.vector || ''::tsvector AS vector OFFSET 0) AS v
                CROSS JOIN unnest(v_lexemes, v_weights) AS w (lexeme, weight)
                CROSS JOIN LATERAL (SELECT ts_rank(v.vector, w.lexeme) * 16.4493406685::double precision AS h) AS f
                WHERE f.h > 0.01
            ) AS s
            WHERE e.namespace_id = p_namespace_id AND e.projection_version = p_projection_version
                AND e.vector @@ v_any AND e.kind = ANY (p_kinds)
                AND (p_include_erased OR NOT e.erased)
                AND (p_stream_id IS NULL OR e.stream_id = p_stream_id)
                AND (p_user_id IS NULL OR e.user_id = p_user_id)
                AND (p_collection IS NULL OR e.collection = p_collection)
            ORDER BY s.score DESC, CASE e.kind WHEN 'knowledge' THEN e."position" ELSE -e."position" END, e.piece
            LIMIT p_limit;
        EXIT WHEN v_any = v_all OR FOUND;
        v_any := v_all; -- no piece in this scope has the rare words
    END LOOP;
END
$$;
