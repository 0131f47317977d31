-- Finds records that contain any word of a query, in the given builds of the given namespaces (trust D-7).
-- Rare words weigh more; the score is the share of the query's total weight that a record's words have, 1 with all.
-- Of a long query only the longest words are searched.
CREATE FUNCTION ledger.search_records(
    p_namespaces uuid[],
    p_builds integer[],
    p_language text,
    p_query text,
    p_words integer
) RETURNS TABLE (namespace_id uuid, stream_id uuid, record_id text, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = ledger, pg_temp
SET plan_cache_mode = force_custom_plan
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    v_total double precision;
    v_words tsquery[];
    v_weights double precision[];
    v_all double precision;
    v_any tsquery;
BEGIN
    PERFORM set_config('ledger.namespace', array_to_string(p_namespaces, ','), true);
    SELECT count(*) INTO v_total
        FROM records r
        JOIN unnest(p_namespaces, p_builds) AS b (namespace, build) ON r.namespace_id = b.namespace
            AND r.projection_version = b.build
        WHERE r.namespace_id = ANY (p_namespaces) AND r.live;
    WITH asked AS (
        SELECT '''' || replace(replace(w.lexeme, '\', '\\'), '''', '''''') || '''' AS word
        FROM unnest(tsvector_to_array(to_tsvector(p_language::regconfig, p_query))) AS w (lexeme)
        ORDER BY char_length(w.lexeme) DESC, w.lexeme COLLATE "C"
        LIMIT p_words
    ), counted AS (
        SELECT a.word, ln(1 + greatest(v_total - n.found + 0.5, 0.0) / (n.found + 0.5)) AS weight
        FROM asked a
        CROSS JOIN LATERAL (
            SELECT count(*)::double precision AS found
            FROM records r
            JOIN unnest(p_namespaces, p_builds) AS b (namespace, build) ON r.namespace_id = b.namespace
                AND r.projection_version = b.build
            WHERE r.namespace_id = ANY (p_namespaces) AND r.live AND r.vector @@ a.word::tsquery
        ) AS n
    )
    SELECT array_agg(c.word::tsquery), array_agg(c.weight), sum(c.weight), string_agg(c.word, ' | ')::tsquery
    INTO v_words, v_weights, v_all, v_any
    FROM counted c;
    IF v_words IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY
        SELECT r.namespace_id, r.stream_id, r.record_id::text, least(s.found / v_all, 1.0::double precision)
        FROM records r
        JOIN unnest(p_namespaces, p_builds) AS b (namespace, build) ON r.namespace_id = b.namespace
            AND r.projection_version = b.build
        CROSS JOIN LATERAL (
            SELECT sum(w.weight) AS found FROM unnest(v_words, v_weights) AS w (word, weight) WHERE r.vector @@ w.word
        ) AS s
        WHERE r.namespace_id = ANY (p_namespaces) AND r.live AND r.vector @@ v_any;
END
$$;
