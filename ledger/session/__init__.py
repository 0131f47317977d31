"""One session, pure: its state, the commands it takes, and the events that follow.

    decide(state, command) -> [event, …]      `decide`, with `compaction_decisions` and `merge`; may refuse
    evolve(state, event)   -> state           `evolve`; never refuses what was recorded

`commands` are checked values, `entry_drafts` are entries that a caller sent, `views` are computed from a state.
"""
