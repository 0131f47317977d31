"""Export files: the events of a session or a namespace as JSONL, byte for byte, verified on import.

    header    the format, the ledger and the namespace
    event     … one line each, in position order: every hashed field, and the stored bytes in base64
    trailer   the number of events, the SHA-256 of all lines before, and where each stream ends

The header also lists forks. The file of a forked session has its whole history: the events of its parents, up to where
each was forked.

Source: trust E-12, I-68, I-69, I-72.
"""
