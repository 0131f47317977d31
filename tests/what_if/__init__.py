"""Tests of replaying a session under another configuration."""
