"""Search the texts of sessions."""
