"""What-if: the recorded inputs of a session, folded again under another memory config. Source: R-WIF-1 … R-WIF-8.

    replay    the fold, pure; it yields each request to a model
    answers   the recorded answers of models
    run       a replay whose requests are answered: from the record, or by a model

Nothing is written.
"""
