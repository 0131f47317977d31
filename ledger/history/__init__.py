"""Looking back into the log: entries and items as they were, events with their proofs, two states compared."""
