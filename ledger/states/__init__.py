"""The state of a session: now, at a version or at a time; from its newest snapshot and the events after it."""
