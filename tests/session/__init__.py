"""Tests of commands, decisions and the fold of a session."""
