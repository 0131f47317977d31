"""The viewer in a browser."""
