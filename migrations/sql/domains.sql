-- Bounds as domains: every statement that writes to a table parses its CHECK constraints again, which was a tenth of
-- the time of an append; a domain's are cached (trust D-4).
CREATE DOMAIN ledger.hash AS bytea CHECK (octet_length(VALUE) = 32);
CREATE DOMAIN ledger.ordinal AS bigint CHECK (VALUE > 0);
CREATE DOMAIN ledger.short_text AS text CHECK (octet_length(VALUE) <= 512);
CREATE DOMAIN ledger.stored_payload AS bytea CHECK (octet_length(VALUE) <= 8388608);
