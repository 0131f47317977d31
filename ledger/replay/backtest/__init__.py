"""Backtests: replay many recorded sessions under several memory configs, and measure what the model is shown.

Pure: `turns`, `questions`, `budgets`, `measures`, `totals`, `findings`, `columns`. With I/O: `running` (processes,
continuation), `report`, `plots` and `page`.
"""
