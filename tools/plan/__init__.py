"""Counts the plan of the code: rooms, arrows, floors, circles, names, and the calls of four operations."""
