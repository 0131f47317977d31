"""Tests of compactions: when they are due, what they summarize, and their results."""
