"""Tests of the strategies, one file each."""
