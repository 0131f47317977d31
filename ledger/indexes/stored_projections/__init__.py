"""Projections that are stored in tables: their builds, the session index, and rebuilding."""
