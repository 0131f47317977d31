"""Memory configs tried on many recorded sessions: what the model would have been shown, and what it would have lost.

Pure: `turns`, `questions`, `budgets`, `measures`, `totals`, `findings`, `columns`. At the rim: `running` (processes,
resuming), `report`, `plots` and `page`.
"""
