"""Tests of compactions: when they are due, what they summarize, and what becomes of them."""
