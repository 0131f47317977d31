"""From a command to its events, also while others write to the same session."""
