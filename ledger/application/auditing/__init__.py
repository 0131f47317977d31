"""Prove the log, and explain what a model saw and why."""
