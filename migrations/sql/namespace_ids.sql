-- All namespace ids, for look-ups with a credential for all namespaces (trust D-7). Names and content stay under row
-- security.
CREATE FUNCTION ledger.namespace_ids() RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
    SELECT namespace_id FROM ledger.namespaces ORDER BY namespace_id
$$;
