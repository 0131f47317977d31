"""Stores of events and of what is derived from them: in memory, or in PostgreSQL (embedded or a server)."""
