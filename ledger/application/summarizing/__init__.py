"""Summary views: defined, run and read."""
