"""What goes on: logs, metrics and spans of requests, and how many each caller may make."""
