"""The words of a text, for every search."""
