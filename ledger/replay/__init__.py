"""From events back to what is derived of them: read on demand, or kept in tables and built anew beside readers.

    states      a session now, at a version, at a moment; from its newest snapshot on
    snapshots   a state as bytes, by reference
    builds      a kept projection and its successor; `stored_projections` lists them, `session_index` is one

All of it may be lost: the log makes it again.
"""
