"""One session, pure: what it is, what can be asked of it, and the events that follow.

    decide(state, command) -> [event, …]      `decisions`, with `compactions` and `put`; may refuse
    evolve(state, event)   -> state           `state`; never refuses what was recorded

`commands` are checked values, `drafts` entries on their way in, `views` the questions a state answers.
"""
