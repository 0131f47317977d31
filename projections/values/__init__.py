"""Immutable values that folds are made of."""
