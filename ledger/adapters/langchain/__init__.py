"""LangChain on the ledger: the context of an agent's model, and chat histories of older programs."""

from ledger.adapters.langchain.chat_history import LedgerChatMessageHistory
from ledger.adapters.langchain.middleware import LedgerMiddleware

__all__ = ["LedgerChatMessageHistory", "LedgerMiddleware"]
