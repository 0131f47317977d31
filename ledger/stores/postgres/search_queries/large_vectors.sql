-- The namespaces with many vectors of a model; only the owner asks, for all of them.
SELECT m.namespace_id, m.model::text, public.vector_dims(m.embedding) AS dimensions, count(*)
FROM ledger.search_embeddings m
GROUP BY m.namespace_id, m.model, public.vector_dims(m.embedding)
HAVING count(*) >= %(least)s AND public.vector_dims(m.embedding) <= %(most)s
ORDER BY 1, 2, 3
