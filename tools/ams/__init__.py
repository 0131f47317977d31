"""Run the published clients of the Redis Agent Memory Server, and their own tests, against this service."""
