"""One session, pure: its state, the commands it takes, and the events that follow.

    decide(state, command) -> [event, …]      `decisions`, with `compactions` and `merge`; may refuse
    evolve(state, event)   -> state           `state`; never refuses what was recorded

`commands` are checked values, `drafts` are entries that a caller sent, `views` are computed from a state.
"""
