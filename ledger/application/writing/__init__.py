"""Add, change and remove what a session holds."""
