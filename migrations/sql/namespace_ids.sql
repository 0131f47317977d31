-- The ids of all namespaces of clients, for look-ups with a credential for all namespaces (trust D-7). Names and content
-- stay under row security. A name with a slash is not a client's (trust R-1).
CREATE FUNCTION ledger.namespace_ids() RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
    SELECT namespace_id FROM ledger.namespaces WHERE namespace <> '/ledger' ORDER BY namespace_id
$$;
