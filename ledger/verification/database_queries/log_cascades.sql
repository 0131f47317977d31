-- The foreign keys by which a change of another table could change the log.
SELECT f.conname AS name FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid
WHERE f.contype = 'f' AND (f.confdeltype NOT IN ('a', 'r') OR f.confupdtype NOT IN ('a', 'r'))
    AND c.relnamespace = to_regnamespace('ledger') AND c.relname = ANY (%(log)s)
