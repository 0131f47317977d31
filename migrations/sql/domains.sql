-- Bounds as domains: a table's CHECK constraints are parsed anew by every statement that writes to it, which
-- cost an append a tenth of its time; a domain's are kept (trust D-4).
CREATE DOMAIN ledger.hash AS bytea CHECK (octet_length(VALUE) = 32);
CREATE DOMAIN ledger.ordinal AS bigint CHECK (VALUE > 0);
CREATE DOMAIN ledger.short_text AS text CHECK (octet_length(VALUE) <= 512);
CREATE DOMAIN ledger.stored_payload AS bytea CHECK (octet_length(VALUE) <= 8388608);
