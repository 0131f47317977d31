"""Compactions from plan to outcome. Source: R-CMP-3 … R-CMP-11.

    dialogue      a strategy's questions to its summarizer, step by step
    summarizing   runs the dialogue and checks the answers
    driving       runs a generator that asks a model
    result        what a compaction returns

`ledger.application.background.compactor` requests and records compactions;
`ledger.session.compaction_decisions` decides their events.
"""
