"""Checkpoints and items of LangGraph in the ledger; needs ``pip install 'memory-ledger[langgraph]'``."""

from ledger.adapters.langgraph.saver import LedgerSaver
from ledger.adapters.langgraph.store import LedgerStore

__all__ = ["LedgerSaver", "LedgerStore"]
