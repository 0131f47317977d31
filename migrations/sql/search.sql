-- Finds pieces of a namespace that contain any word of a query, best first (trust D-7). The caller makes the words, of
-- pieces and of queries, and gives the weights of the ranking.
--
-- The score is BM25: rare words weigh more, repetitions add less and less, and long pieces score lower. ts_rank of one
-- word is (1 + 1/4 + 1/9 + …)/16.449 over its occurrences, which replaces the term frequency. In a large namespace only
-- the rarest words select candidates, as long as these are few; all words score them. In a session, how rare a word is
-- is counted among its texts with a word of the query, unless these are very many.
--
-- Only the best candidates by their own words get what context adds. The neighbours of a short entry each lend a share of
-- their own score, and the longer the entry is, the less; removed and erased ones lend nothing. The words of its speaker's
-- name have the label A: it scores higher if the query has one. So it does if it was said on a day that the query names.
--
-- A fork has the pieces of its parents too. A piece is found once: in the session that added it, if that is in the scope
-- and has it, or else in the oldest fork that is and does.
CREATE FUNCTION ledger.search(
    p_namespace_id uuid,
    p_projection_version integer,
    p_words text[],
    p_dates jsonb,
    p_ranking jsonb,
    p_kinds text[],
    p_stream_id uuid,
    p_user_id text,
    p_collection text,
    p_include_erased boolean,
    p_limit integer
) RETURNS TABLE (
    stream_id uuid, user_id text, session_id text, origin_id uuid, added_in bigint, version bigint, kind text,
    piece integer, "position" bigint, first_character integer, characters integer, score double precision,
    by_words double precision, by_neighbours double precision, by_speaker double precision, by_date double precision
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
    c_best CONSTANT integer := 200;
    c_counted CONSTANT integer := 2000;
    c_now CONSTANT bigint := 9223372036854775807; -- until which version a session has its own pieces
    c_alike CONSTANT real[] := '{0.1, 0.1, 0.1, 0.1}'; -- what a word weighs for ts_rank, whatever its label
    c_k1 CONSTANT double precision := p_ranking ->> 'k1';
    c_b CONSTANT double precision := p_ranking ->> 'b';
    c_before CONSTANT double precision[] := translate(p_ranking ->> 'before', '[]', '{}');
    c_after CONSTANT double precision := p_ranking ->> 'after';
    c_short CONSTANT double precision := p_ranking ->> 'short';
    c_speaker CONSTANT double precision := p_ranking ->> 'speaker';
    c_date CONSTANT double precision := p_ranking ->> 'date';
    v_total double precision;
    v_average double precision;
    v_lexemes tsquery[];
    v_weights double precision[];
    v_rarest tsquery;
    v_all tsquery;
    v_any tsquery;
    v_names tsquery;
    v_texts bigint;
    v_own double precision[];
    v_forks search_forks[];
    v_streams uuid[];
    v_inherits boolean;
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
        FROM unnest(p_words) AS w (lexeme)
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
        string_agg(q.word, ' | ')::tsquery,
        string_agg(q.word || ':A', ' | ')::tsquery
    INTO v_lexemes, v_weights, v_rarest, v_all, v_names
    FROM quoted q;
    IF v_lexemes IS NULL THEN
        RETURN;
    END IF;
    IF p_stream_id IS NOT NULL THEN
        SELECT array_agg(f), array_agg(f.ancestor_id) || p_stream_id, count(*) > 0 INTO v_forks, v_streams, v_inherits
            FROM search_forks f
            WHERE f.namespace_id = p_namespace_id AND f.projection_version = p_projection_version
                AND f.stream_id = p_stream_id;
    ELSIF p_user_id IS NOT NULL THEN
        SELECT array_agg(DISTINCT f.ancestor_id), count(*) > 0 INTO v_streams, v_inherits
            FROM search_forks f
            WHERE f.namespace_id = p_namespace_id AND f.projection_version = p_projection_version
                AND f.user_id = p_user_id;
    ELSE
        v_inherits := EXISTS (
            SELECT FROM search_forks f
            WHERE f.namespace_id = p_namespace_id AND f.projection_version = p_projection_version
        );
    END IF;
    IF p_stream_id IS NOT NULL THEN
        SELECT
            max(n.texts),
            array_agg(
                CASE WHEN n.pieces > 0 THEN ln(1 + greatest(n.texts - n.pieces + 0.5, 0.0) / (n.pieces + 0.5)) ELSE 0.0 END
                ORDER BY n.place
            )
        INTO v_texts, v_own
        FROM (
            SELECT w.place, count(*) AS texts, count(*) FILTER (WHERE t.vector @@ w.lexeme) AS pieces
            FROM (
                SELECT e.vector
                FROM search_entries e
                WHERE e.namespace_id = p_namespace_id AND e.projection_version = p_projection_version
                    AND e.shown AND e.vector @@ v_all AND e.kind = ANY (p_kinds)
                    AND CASE
                        WHEN e.stream_id = p_stream_id THEN e.removed_in IS NULL
                        ELSE e.stream_id = ANY (v_streams) AND e.kind <> 'knowledge' AND EXISTS (
                            SELECT FROM unnest(v_forks) AS f
                            WHERE f.ancestor_id = e.stream_id AND e.added_in <= f.until
                                AND coalesce(e.removed_in > f.until, true) AND NOT f.removed @> e.version::bigint
                        )
                    END
                LIMIT c_counted + 1
            ) AS t
            CROSS JOIN unnest(v_lexemes) WITH ORDINALITY AS w (lexeme, place)
            GROUP BY w.place
        ) AS n;
        v_weights := CASE WHEN v_texts <= c_counted THEN v_own ELSE v_weights END;
    END IF;
    v_any := CASE WHEN p_stream_id IS NULL THEN v_rarest ELSE v_all END;
    LOOP
        RETURN QUERY
            WITH best AS MATERIALIZED (
            SELECT e.*, s.score
            FROM (
                SELECT
                    o.stream_id AS showing_id, o.user_id, o.session_id, e.stream_id, e.added_in, e.version, e.kind,
                    e.piece, e."position", e.first_character, e.characters, e.words, e.said_on, e.vector
                FROM search_entries e
                LEFT JOIN unnest(v_forks) AS i ON i.ancestor_id = e.stream_id
                CROSS JOIN LATERAL (
                    SELECT e.removed_in IS NULL AND (p_include_erased OR e.erased_in IS NULL)
                        AND (p_stream_id IS NULL OR e.stream_id = p_stream_id)
                        AND (p_user_id IS NULL OR e.user_id = p_user_id) AS has_it
                ) AS own
                CROSS JOIN LATERAL (
                    SELECT e.stream_id, e.user_id, e.session_id
                    WHERE own.has_it
                    UNION ALL
                    (
                        SELECT f.stream_id, f.user_id, f.session_id
                        FROM (
                            SELECT i.stream_id, i.user_id, i.session_id, i.until, i.erased, i.removed, i."position"
                            WHERE p_stream_id IS NOT NULL
                            UNION ALL
                            SELECT f.stream_id, f.user_id, f.session_id, f.until, f.erased, f.removed, f."position"
                            FROM search_forks f
                            WHERE p_stream_id IS NULL AND f.namespace_id = p_namespace_id
                                AND f.projection_version = p_projection_version AND f.ancestor_id = e.stream_id
                                AND (p_user_id IS NULL OR f.user_id = p_user_id)
                        ) AS f
                        WHERE v_inherits AND NOT own.has_it AND e.kind <> 'knowledge'
                            AND f.until >= e.added_in
                            AND coalesce(f.until < e.removed_in, true) AND NOT f.removed @> e.version::bigint
                            AND (
                                p_include_erased
                                OR (
                                    coalesce(f.until < e.erased_in, true)
                                    AND (e.kind <> 'entry' OR NOT f.erased @> e.version::bigint)
                                )
                            )
                        ORDER BY CASE WHEN p_stream_id IS NULL THEN f."position"::bigint END
                        LIMIT 1
                    )
                ) AS o
                WHERE e.namespace_id = p_namespace_id AND e.projection_version = p_projection_version
                    AND e.shown AND e.vector @@ v_any AND e.kind = ANY (p_kinds)
                    AND (v_inherits OR own.has_it)
                    AND (p_stream_id IS NULL OR e.stream_id = ANY (v_streams))
                    AND (p_user_id IS NULL OR e.user_id = p_user_id
                        OR (v_inherits AND e.stream_id = ANY (v_streams)))
                    AND (p_collection IS NULL OR e.collection = p_collection)
                OFFSET 0
            ) AS e
            CROSS JOIN LATERAL (
                SELECT sum(w.weight * f.h * (c_k1 + 1) / (f.h + c_k1 * (1 - c_b + c_b * e.words / v_average))) AS score
                FROM (SELECT e.vector || ''::tsvector AS vector OFFSET 0) AS v
                CROSS JOIN unnest(v_lexemes, v_weights) AS w (lexeme, weight)
                CROSS JOIN LATERAL (SELECT ts_rank(c_alike, v.vector, w.lexeme) * 16.4493406685::double precision AS h) AS f
                WHERE f.h > 0.01
            ) AS s
            ORDER BY s.score DESC, CASE e.kind WHEN 'knowledge' THEN e."position" ELSE -e."position" END, e.piece, e.added_in DESC
            LIMIT greatest(p_limit, c_best)
            )
            SELECT
                b.showing_id, b.user_id::text, b.session_id::text, b.stream_id, b.added_in::bigint, b.version::bigint,
                b.kind, b.piece, b."position"::bigint, b.first_character, b.characters,
                b.score + l.lent + a.named + a.dated AS total, b.score, l.lent, a.named, a.dated
            FROM best b
            CROSS JOIN LATERAL (
                SELECT least(1.0, c_short / greatest(b.words, 1)) * coalesce(sum(n.share * s.score), 0.0) AS lent
                FROM (
                    SELECT
                        p.words, p.vector,
                        c_before[(row_number() OVER (ORDER BY p.version DESC))::integer] AS share
                    FROM (
                        SELECT e.version, e.words, e.vector
                        FROM (
                            SELECT
                                b.showing_id AS source_id, c_now AS until, '{}'::int8multirange AS erased,
                                '{}'::int8multirange AS removed
                            UNION ALL
                            SELECT f.ancestor_id, f.until::bigint, f.erased, f.removed
                            FROM search_forks f
                            WHERE v_inherits AND f.namespace_id = p_namespace_id
                                AND f.projection_version = p_projection_version AND f.stream_id = b.showing_id
                        ) AS o
                        CROSS JOIN LATERAL (
                            SELECT e.version, e.words, e.vector
                            FROM search_entries e
                            WHERE e.namespace_id = p_namespace_id AND e.projection_version = p_projection_version
                                AND e.stream_id = o.source_id AND e.version < b.version AND e.kind = 'entry'
                                AND e.piece = 0 AND e.added_in <= o.until AND coalesce(e.removed_in > o.until, true)
                                AND NOT o.removed @> e.version::bigint
                                AND (p_include_erased
                                    OR (coalesce(e.erased_in > o.until, true) AND NOT o.erased @> e.version::bigint))
                            ORDER BY e.version DESC
                            LIMIT 3
                        ) AS e
                        ORDER BY e.version DESC
                        LIMIT 3
                    ) AS p
                    UNION ALL
                    (
                        SELECT e.words, e.vector, c_after
                        FROM (
                            SELECT
                                b.showing_id AS source_id, c_now AS until, '{}'::int8multirange AS erased,
                                '{}'::int8multirange AS removed
                            UNION ALL
                            SELECT f.ancestor_id, f.until::bigint, f.erased, f.removed
                            FROM search_forks f
                            WHERE v_inherits AND f.namespace_id = p_namespace_id
                                AND f.projection_version = p_projection_version AND f.stream_id = b.showing_id
                        ) AS o
                        CROSS JOIN LATERAL (
                            SELECT e.version, e.words, e.vector
                            FROM search_entries e
                            WHERE e.namespace_id = p_namespace_id AND e.projection_version = p_projection_version
                                AND e.stream_id = o.source_id AND e.version > b.version AND e.kind = 'entry'
                                AND e.piece = 0 AND e.added_in <= o.until AND coalesce(e.removed_in > o.until, true)
                                AND NOT o.removed @> e.version::bigint
                                AND (p_include_erased
                                    OR (coalesce(e.erased_in > o.until, true) AND NOT o.erased @> e.version::bigint))
                            ORDER BY e.version
                            LIMIT 1
                        ) AS e
                        ORDER BY e.version
                        LIMIT 1
                    )
                ) AS n
                CROSS JOIN LATERAL (
                    SELECT sum(w.weight * f.h * (c_k1 + 1) / (f.h + c_k1 * (1 - c_b + c_b * n.words / v_average))) AS score
                    FROM (SELECT n.vector || ''::tsvector AS vector OFFSET 0) AS v
                    CROSS JOIN unnest(v_lexemes, v_weights) AS w (lexeme, weight)
                    CROSS JOIN LATERAL (
                        SELECT ts_rank(c_alike, v.vector, w.lexeme) * 16.4493406685::double precision AS h
                    ) AS f
                    WHERE f.h > 0.01
                ) AS s
                WHERE b.kind = 'entry'
            ) AS l
            CROSS JOIN LATERAL (
                SELECT
                    CASE WHEN b.vector @@ v_names THEN (b.score + l.lent) * (c_speaker - 1) ELSE 0.0 END AS named,
                    CASE WHEN p_dates <> '[]' THEN
                        c_date * (SELECT max(w) FROM unnest(v_weights) AS w) * coalesce(
                            (
                                SELECT avg((date_part(d.field, b.said_on) = d.number)::integer)
                                FROM jsonb_to_recordset(p_dates) AS d (field text, number integer)
                            ),
                            0.0
                        )
                    ELSE 0.0 END AS dated
            ) AS a
            ORDER BY total DESC, CASE b.kind WHEN 'knowledge' THEN b."position" ELSE -b."position" END, b.piece, b.added_in DESC
            LIMIT p_limit;
        EXIT WHEN v_any = v_all OR FOUND;
        v_any := v_all; -- no piece in this scope has the rare words
    END LOOP;
END
$$;
