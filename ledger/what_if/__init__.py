"""What would have been: recorded inputs folded again under another memory config. Source: R-WIF-1 … R-WIF-8.

    replaying    the fold, pure; it yields each question to a model
    answers      what models answered when it happened
    rehearsing   a replay with somebody to ask

Nothing is written.
"""
