-- Insert pieces with their words, and update the number of pieces with each word.
WITH given AS MATERIALIZED (
    SELECT g.*, CAST(g.stems AS tsvector) AS vector
    FROM unnest(
        CAST(:streams AS uuid[]), CAST(:versions AS bigint[]), CAST(:kinds AS text[]), CAST(:numbers AS integer[]),
        CAST(:added AS bigint[]), CAST(:positions AS bigint[]), CAST(:firsts AS integer[]), CAST(:sizes AS integer[]),
        CAST(:items AS text[]), CAST(:collections AS text[]), CAST(:words AS integer[]), CAST(:days AS date[]),
        CAST(:languages AS text[]), CAST(:stems AS text[])
    ) AS g (
        stream_id, version, kind, piece, added_in, "position", first_character, characters, item_id, collection,
        words, said_on, language, stems
    )
), kept AS (
    INSERT INTO ledger.search_entries (
        namespace_id, projection_version, stream_id, version, kind, piece, added_in, "position", first_character,
        characters, words, said_on, language, user_id, session_id, collection, item_id, vector
    )
    SELECT
        s.namespace_id, :build, g.stream_id, g.version, g.kind, g.piece, g.added_in, g."position",
        g.first_character, g.characters, g.words, g.said_on, g.language, s.user_id, s.session_id, g.collection, g.item_id,
        g.vector
    FROM given g
    JOIN ledger.streams s ON s.namespace_id = :namespace AND s.stream_id = g.stream_id
)
INSERT INTO ledger.search_terms AS t (namespace_id, projection_version, lexeme, pieces, words)
SELECT CAST(:namespace AS uuid), CAST(:build AS integer), w.lexeme, count(*), 0
FROM given g
CROSS JOIN LATERAL unnest(g.vector) AS w
GROUP BY w.lexeme
UNION ALL
SELECT CAST(:namespace AS uuid), CAST(:build AS integer), '', count(*), coalesce(sum(g.words), 0)
FROM given g
ON CONFLICT (namespace_id, projection_version, lexeme)
    DO UPDATE SET pieces = t.pieces + excluded.pieces, words = t.words + excluded.words
