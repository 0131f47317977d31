"""Imports of transcripts: what is written of a conversation, and the window that its agent had."""
