"""Messages in three shapes."""
