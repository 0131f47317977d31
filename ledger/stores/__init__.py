"""Where the log is kept: in memory, or in PostgreSQL (embedded or a server)."""
