"""Fork a session, and list its forks."""
