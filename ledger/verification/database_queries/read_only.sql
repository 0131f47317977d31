-- Whether the server takes writes, and if not, whether it is a standby.
SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS refused
