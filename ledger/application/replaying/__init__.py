"""Try another memory config on a session; nothing is written."""
