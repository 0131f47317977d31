"""Read sessions: entries, windows, contexts, transcripts, values."""
