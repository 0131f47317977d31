"""Tests of the use cases, through the library's own facade."""
