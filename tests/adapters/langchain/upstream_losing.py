"""A plugin that puts a chat history in the place of the SDK's own that loses the last message of each batch."""

from collections.abc import Sequence

import langchain_core.chat_history
from langchain_core.messages import BaseMessage
from upstream import HistoryUnderTest  # type: ignore[import-not-found]  # a folder on the path of the SDK's tests


class LosingHistory(HistoryUnderTest):  # type: ignore[misc]
    """Forgets the last message of each batch."""

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        super().add_messages(messages[:-1])

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        await super().aadd_messages(messages[:-1])


langchain_core.chat_history.InMemoryChatMessageHistory = LosingHistory  # type: ignore[misc]
