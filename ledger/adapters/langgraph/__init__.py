"""Checkpoints of LangGraph in the ledger; needs ``pip install 'memory-ledger[langgraph]'``."""

from ledger.adapters.langgraph.saver import LedgerSaver

__all__ = ["LedgerSaver"]
