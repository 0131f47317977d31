"""Measurements against plain psycopg, in the same run, as ratios."""
