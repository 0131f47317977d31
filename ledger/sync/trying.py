"""What compares, searches, proves and moves whole sessions."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Unpack

from ledger.events import JsonObject
from ledger.history.difference import Difference
from ledger.importers import Conversation
from ledger.results import (
    ConfigLike,
    ImportedState,
    Point,
    WhatIf,
    When,
)
from ledger.search.finding import Found
from ledger.summarizers import SummarizerChoice
from ledger.sync.calling import Calling
from ledger.transfer.importing import Imported, Lines
from ledger.verify import Report
from ledger.whatif.answers import OnMiss


class Trying(Calling):
    """What compares, searches, proves and moves whole sessions."""

    def what_if(
        self,
        session_id: str,
        config: ConfigLike | None = None,
        *,
        summarizer: SummarizerChoice = None,
        on_miss: OnMiss = "raise",
        without: Iterable[str | int] = (),
        recount: bool = False,
        **when: Unpack[When],
    ) -> WhatIf:
        """See `MemoryLedger.what_if`."""
        return self._call(
            self._ledger.what_if,
            session_id,
            config,
            summarizer=summarizer,
            on_miss=on_miss,
            without=without,
            recount=recount,
            **when,
        )

    def diff(
        self,
        session_id: str,
        before: Point | None = None,
        after: Point | None = None,
        *,
        on_miss: OnMiss = "raise",
        user_id: str | None = None,
    ) -> Difference:
        """See `MemoryLedger.diff`."""
        return self._call(self._ledger.diff, session_id, before, after, on_miss=on_miss, user_id=user_id)

    def search(
        self,
        query: str,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        collection: str | None = None,
        top_k: int = 10,
        around: int = 1,
        include_erased: bool = False,
        catch_up: bool = True,
    ) -> list[Found]:
        """See `MemoryLedger.search`."""
        return self._call(
            self._ledger.search,
            query,
            session_id=session_id,
            user_id=user_id,
            collection=collection,
            top_k=top_k,
            around=around,
            include_erased=include_erased,
            catch_up=catch_up,
        )

    def embed_pending(self) -> int:
        """See `MemoryLedger.embed_pending`."""
        return self._call(self._ledger.embed_pending)

    def verify(
        self,
        session_id: str | None = None,
        *,
        user_id: str | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Report:
        """See `MemoryLedger.verify`."""
        return self._call(self._ledger.verify, session_id, user_id=user_id, progress=progress)

    def export_session(self, session_id: str, *, user_id: str | None = None) -> JsonObject:
        """See `MemoryLedger.export_session`."""
        return self._call(self._ledger.export_session, session_id, user_id=user_id)

    def import_session(
        self,
        session_id: str | Mapping[str, Any],
        state: Mapping[str, Any] | None = None,
        *,
        user_id: str | None = None,
    ) -> ImportedState:
        """See `MemoryLedger.import_session`."""
        return self._call(self._ledger.import_session, session_id, state, user_id=user_id)

    def import_conversations(
        self,
        conversations: Sequence[Conversation],
        *,
        user_id: str | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Imported:
        """See `MemoryLedger.import_conversations`."""
        return self._call(self._ledger.import_conversations, conversations, user_id=user_id, progress=progress)

    def import_file(self, lines: Lines, *, session_id: str | None = None, user_id: str | None = None) -> Imported:
        """See `MemoryLedger.import_file`."""
        return self._call(self._ledger.import_file, lines, session_id=session_id, user_id=user_id)

    def export_file(self, session_id: str | None = None, *, user_id: str | None = None) -> Iterator[bytes]:
        """See `MemoryLedger.export_file`."""
        lines = self._ledger.export_file(session_id, user_id=user_id)
        while (line := self._call(anext, lines, None)) is not None:
            yield line
