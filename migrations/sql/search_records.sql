-- Finds records that contain any of the words, in the given builds of the given namespaces (trust D-7).
-- Rare words weigh more; the score is the share of the query's total weight that a record's words have, 1 with all.
-- Of a long query only the longest words are searched.
--
-- Its plan does not depend on statistics: each inner query has one index that it can use, and the settings leave no other
-- way to join. The vector of a record contains its namespace, so a search in few namespaces reads nothing of others.
CREATE FUNCTION ledger.search_records(
    p_namespaces uuid[],
    p_builds integer[],
    p_words text[],
    p_most integer
) RETURNS TABLE (namespace_id uuid, projection_version integer, stream_id uuid, record_id text, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = ledger, pg_temp
SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off
SET enable_nestloop = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    c_scopes CONSTANT integer := 16;
    v_total double precision;
    v_words tsquery[];
    v_any tsquery;
BEGIN
    PERFORM set_config('ledger.namespace', array_to_string(p_namespaces, ','), true);
    SELECT array_agg(a.word::tsquery ORDER BY a.place), string_agg(a.word, ' | ')::tsquery INTO v_words, v_any
    FROM (
        SELECT
            '''' || replace(replace(w.lexeme, '\', '\\'), '''', '''''') || '''' AS word,
            row_number() OVER (ORDER BY char_length(w.lexeme) DESC, w.lexeme COLLATE "C") AS place
        FROM unnest(p_words) AS w (lexeme)
    ) AS a
    WHERE a.place <= p_most;
    IF v_words IS NULL THEN
        RETURN;
    END IF;
    IF cardinality(p_namespaces) <= c_scopes THEN
        v_any := v_any && (
            SELECT string_agg('''' || n.namespace::text || '''', ' | ') FROM unnest(p_namespaces) AS n (namespace)
        )::tsquery;
    END IF;
    SELECT count(*) INTO v_total
    FROM unnest(p_namespaces, p_builds) AS b (namespace, build)
    CROSS JOIN LATERAL (
        SELECT r.namespace_id FROM records r
        WHERE r.namespace_id = b.namespace AND r.projection_version = b.build AND r.live
        OFFSET 0
    ) AS l
    WHERE l.namespace_id = ANY (p_namespaces);
    RETURN QUERY
        WITH matched AS MATERIALIZED (
            SELECT m.namespace_id, m.projection_version, m.stream_id, m.record_id, f.places
            FROM (
                SELECT r.namespace_id, r.projection_version, r.stream_id, r.record_id, r.live, r.vector
                FROM records r
                WHERE r.vector @@ v_any
                OFFSET 0
            ) AS m
            JOIN unnest(p_namespaces, p_builds) AS b (namespace, build) ON m.namespace_id = b.namespace
                AND m.projection_version = b.build
            CROSS JOIN LATERAL (
                SELECT array_agg(w.place) AS places
                FROM unnest(v_words) WITH ORDINALITY AS w (word, place)
                WHERE m.vector @@ w.word
            ) AS f
            WHERE m.namespace_id = ANY (p_namespaces) AND m.live
        ), found AS (
            SELECT p.place, count(*)::double precision AS records
            FROM matched CROSS JOIN LATERAL unnest(matched.places) AS p (place)
            GROUP BY p.place
        ), weights AS (
            SELECT
                array_agg(ln(1 + greatest(v_total - n.records + 0.5, 0.0) / (n.records + 0.5)) ORDER BY n.place) AS each,
                sum(ln(1 + greatest(v_total - n.records + 0.5, 0.0) / (n.records + 0.5))) AS whole
            FROM (
                SELECT w.place, coalesce(found.records, 0.0) AS records
                FROM generate_series(1, cardinality(v_words)) AS w (place) LEFT JOIN found ON found.place = w.place
            ) AS n
        )
        SELECT
            matched.namespace_id, matched.projection_version, matched.stream_id, matched.record_id::text,
            least((SELECT sum(weights.each[p.place]) FROM unnest(matched.places) AS p (place)) / weights.whole, 1.0)
        FROM matched CROSS JOIN weights;
END
$$;
