"""Our own files: a session's or a namespace's events as JSONL, byte for byte, and provable on the way in.

    header    format, which ledger and namespace it comes from
    event     … one line each, in position order: every hashed field, and the stored bytes in base64
    trailer   how many, the SHA-256 of all lines before, and where each stream ends

The header also says where streams were forked. The file of a session that is a fork carries its history from the
beginning: events of its parents, up to where each was forked.

Source: trust E-12, I-68, I-69, I-72.
"""
