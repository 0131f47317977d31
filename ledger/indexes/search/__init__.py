"""Search in a namespace's texts: the index, caught up by each reader, and the texts read from the log."""
