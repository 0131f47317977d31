-- All namespace ids, for look-ups across namespaces by those whose credential permits all (trust D-7). Ids
-- only: names and content stay behind row security.
CREATE FUNCTION ledger.namespace_ids() RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
    SELECT namespace_id FROM ledger.namespaces ORDER BY namespace_id
$$;
