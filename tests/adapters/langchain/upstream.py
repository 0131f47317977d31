"""A plugin of pytest that puts our chat history under the name of the SDK's own. Source: adapters AD-15, LC-1."""

from typing import Any

import langchain_core.chat_history
from langchain_core.chat_history import InMemoryChatMessageHistory

from ledger.adapters.langchain import LedgerChatMessageHistory
from ledger.stores.in_memory import InMemoryStore


class HistoryUnderTest(LedgerChatMessageHistory):
    """Ours, with what the SDK's own has: it begins with messages, and those with equal messages are equal."""

    __doc__ = InMemoryChatMessageHistory.__doc__
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, messages: Any = ()) -> None:
        super().__init__("s", store=InMemoryStore())
        self.add_messages(messages)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HistoryUnderTest) and self.messages == other.messages


langchain_core.chat_history.InMemoryChatMessageHistory = HistoryUnderTest  # type: ignore[misc, assignment]
