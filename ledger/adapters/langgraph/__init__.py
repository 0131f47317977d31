"""Checkpoints and items of LangGraph in the ledger; needs ``pip install 'memory-ledger[langgraph]'``."""

from ledger.adapters.langgraph.ledger_store import LedgerStore
from ledger.adapters.langgraph.saver import LedgerSaver

__all__ = ["LedgerSaver", "LedgerStore"]
