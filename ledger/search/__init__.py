"""Search in a namespace's texts: the index caught up by whoever asks, and what it finds read from the log."""
