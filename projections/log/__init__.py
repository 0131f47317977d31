"""Folds of the whole history: entries, lineage, timeline, work left."""
