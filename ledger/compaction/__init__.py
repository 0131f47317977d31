"""Compactions from plan to outcome. Source: R-CMP-3 … R-CMP-11.

    dialogue      a strategy's talk with its summarizer, step by step
    summarizing   the talk carried out, and what of an answer is taken
    compactor     requested, carried out beside the adding of entries, recorded

Which events follow is decided in `ledger.session.compactions`.
"""
