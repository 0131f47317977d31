"""Transcripts in and out: messages of providers, importers, export files, the state as JSON."""
