"""Tests of the second aggregate: records."""
