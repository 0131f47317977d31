"""Compact on demand."""
