"""The embedded PostgreSQL: started, shared by processes, and stopped when nobody uses it."""
