"""Long-term memory and summary views, as folds."""
