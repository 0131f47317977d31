"""Chat histories of LangChain in the ledger, for programs that use `RunnableWithMessageHistory`.

history = LedgerChatMessageHistory("order-4711")  # was: PostgresChatMessageHistory(table, "order-4711", …)
"""

from collections.abc import Sequence
from typing import Any, Self

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage

from ledger.adapters.langchain.stored_messages import drafts_of, messages_of
from ledger.adapters.large_items import LargeValues
from ledger.adapters.opened_ledger import OpenedLedger
from ledger.adapters.stored_conversation import StoredConversation
from ledger.memory import MemoryLedger
from ledger.results import When


class LedgerChatMessageHistory(StoredConversation, BaseChatMessageHistory):
    """A chat history whose messages come back as they were added, in their order.

    Given nothing, it opens the embedded server or the database that the environment names; given a URL, that
    database. Then it may be used from any event loop and thread. Given an open *ledger*, use only the asynchronous
    methods, on the event loop of the ledger. What `clear` takes away stays in the history of the ledger.
    """

    def __init__(
        self,
        session_id: str,
        database_url: str | None = None,
        *,
        namespace: str | None = None,
        user_id: str | None = None,
        ledger: MemoryLedger | None = None,
        **opening: Any,
    ) -> None:
        """Remember what to open at the first use; other arguments are those of `MemoryLedger.open`.

        Raises:
            InvalidInput: a ledger was given with what would open another.
        """
        opened = OpenedLedger(database_url, namespace, ledger=ledger, what="the chat history", **opening)
        super().__init__(opened, session_id, user_id)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # the base has a field
        """All messages, oldest first; reading them waits for the database."""
        return messages_of(self._opened.call(self.reading()))

    async def aget_messages(self) -> list[BaseMessage]:
        """Return all messages, oldest first; an unknown session has none."""
        return messages_of(await self._opened.run(self.reading()))

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages: all of them, or none."""
        if messages:
            large = LargeValues()
            self._opened.call(self.adding(drafts_of(messages, large), large))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """See `add_messages`."""
        if messages:
            large = LargeValues()
            await self._opened.run(self.adding(drafts_of(messages, large), large))

    def clear(self) -> None:
        """Take all messages away; their history stays."""
        self._opened.call(self.clearing())

    async def aclear(self) -> None:
        """See `clear`."""
        await self._opened.run(self.clearing())

    def close(self) -> None:
        """End the use of the history; later calls raise `Unavailable`."""
        self._opened.leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._opened.close()

    def _twin(self, name: str, when: When) -> Self:
        twin = super()._twin(name, when)
        twin._opened = self._opened.again()  # noqa: SLF001 - its own; each is closed by itself
        return twin
