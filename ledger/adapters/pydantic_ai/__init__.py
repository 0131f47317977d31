"""Histories of Pydantic AI in a ledger."""

from ledger.adapters.pydantic_ai.ledger_history import LedgerHistory

__all__ = ["LedgerHistory"]
