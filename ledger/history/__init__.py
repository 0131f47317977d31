"""Queries on the log: entries as they were, events with their proofs, two states compared."""
