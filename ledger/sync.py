"""The same memory without ``await``: each method runs on an event loop in a thread of its own.

    with SyncMemoryLedger.open() as ledger:
        ledger.add_user_message("session-1", "How do I add auth?")

A test compares every signature with `MemoryLedger`'s.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any, ParamSpec, TypeVar, Unpack
from uuid import UUID

from anyio import to_thread
from anyio.from_thread import BlockingPortal, start_blocking_portal

from ledger.compactor import CompactionResult
from ledger.difference import Difference
from ledger.drafts import EntryDraft
from ledger.events import JsonObject, RecordedEvent, ToolStatus
from ledger.importers import Conversation
from ledger.importing import Imported, Lines
from ledger.memory import MemoryLedger
from ledger.ports import IndexedSession
from ledger.results import Added, AddedEntry, Context, EntryFields, ImportedState, Notification, When
from ledger.state import SessionState
from ledger.summarizers import SummarizerChoice
from ledger.verify import Report
from projections.config import MemoryConfig
from projections.entries import Entry
from projections.history import History
from projections.projection import Projection
from projections.stats import SessionStats
from projections.summaries import Summary

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


class SyncMemoryLedger:
    """`MemoryLedger`, method by method; may be used from several threads."""

    def __init__(self, portal: BlockingPortal, ledger: MemoryLedger) -> None:
        self._portal = portal
        self._ledger = ledger

    @classmethod
    @contextmanager
    def open(cls, *args: Any, **kwargs: Any) -> "Iterator[SyncMemoryLedger]":
        """Open as `MemoryLedger.open` does, with its arguments."""
        with (
            start_blocking_portal() as portal,
            portal.wrap_async_context_manager(MemoryLedger.open(*args, **kwargs)) as ledger,
        ):
            yield cls(portal, ledger)

    def _call(self, method: Callable[P, Awaitable[R]], *args: P.args, **kwargs: P.kwargs) -> R:
        return self._portal.call(partial(method, *args, **kwargs))

    def add_user_message(self, session_id: str, content: str, **fields: Unpack[EntryFields]) -> AddedEntry:
        """See `MemoryLedger.add_user_message`."""
        return self._call(self._ledger.add_user_message, session_id, content, **fields)

    def add_assistant_message(self, session_id: str, content: str, **fields: Unpack[EntryFields]) -> AddedEntry:
        """See `MemoryLedger.add_assistant_message`."""
        return self._call(self._ledger.add_assistant_message, session_id, content, **fields)

    def add_tool_call(
        self,
        session_id: str,
        tool_name: str,
        arguments: Any = None,
        *,
        tool_call_id: str | None = None,
        **fields: Unpack[EntryFields],
    ) -> AddedEntry:
        """See `MemoryLedger.add_tool_call`."""
        return self._call(
            self._ledger.add_tool_call, session_id, tool_name, arguments, tool_call_id=tool_call_id, **fields
        )

    def add_tool_result(
        self,
        session_id: str,
        tool_name: str,
        result: Any,
        *,
        tool_call_id: str | None = None,
        tool_status: ToolStatus | None = None,
        **fields: Unpack[EntryFields],
    ) -> AddedEntry:
        """See `MemoryLedger.add_tool_result`."""
        return self._call(
            self._ledger.add_tool_result,
            session_id,
            tool_name,
            result,
            tool_call_id=tool_call_id,
            tool_status=tool_status,
            **fields,
        )

    def add_context(
        self, session_id: str, content: str, source: str | None = None, **fields: Unpack[EntryFields]
    ) -> AddedEntry:
        """See `MemoryLedger.add_context`."""
        return self._call(self._ledger.add_context, session_id, content, source, **fields)

    def add_entries(
        self,
        session_id: str,
        entries: Sequence[Mapping[str, Any] | EntryDraft],
        *,
        idempotency_key: str | None = None,
        expected_version: int | None = None,
        user_id: str | None = None,
    ) -> Added:
        """See `MemoryLedger.add_entries`."""
        return self._call(
            self._ledger.add_entries,
            session_id,
            entries,
            idempotency_key=idempotency_key,
            expected_version=expected_version,
            user_id=user_id,
        )

    def edit_entry(self, session_id: str, entry_id: str, content: str, *, user_id: str | None = None) -> int:
        """See `MemoryLedger.edit_entry`."""
        return self._call(self._ledger.edit_entry, session_id, entry_id, content, user_id=user_id)

    def remove_entry(self, session_id: str, entry_id: str, *, user_id: str | None = None) -> int:
        """See `MemoryLedger.remove_entry`."""
        return self._call(self._ledger.remove_entry, session_id, entry_id, user_id=user_id)

    def compress(
        self, session_id: str, *, key: str | None = None, force: bool = False, user_id: str | None = None
    ) -> CompactionResult:
        """See `MemoryLedger.compress`."""
        return self._call(self._ledger.compress, session_id, key=key, force=force, user_id=user_id)

    def clear_session(self, session_id: str, *, end: bool = False, user_id: str | None = None) -> int:
        """See `MemoryLedger.clear_session`."""
        return self._call(self._ledger.clear_session, session_id, end=end, user_id=user_id)

    def update_config(self, session_id: str, changes: Mapping[str, Any], *, user_id: str | None = None) -> MemoryConfig:
        """See `MemoryLedger.update_config`."""
        return self._call(self._ledger.update_config, session_id, changes, user_id=user_id)

    def set_summarizer(
        self, session_id: str | None, summarizer: SummarizerChoice, *, user_id: str | None = None
    ) -> None:
        """See `MemoryLedger.set_summarizer`."""
        self._portal.call(lambda: self._ledger.set_summarizer(session_id, summarizer, user_id=user_id))

    def settle(self, session_id: str | None = None, *, user_id: str | None = None) -> None:
        """See `MemoryLedger.settle`."""
        self._call(self._ledger.settle, session_id, user_id=user_id)

    def on(self, event: Notification, handler: Callable[..., object]) -> Callable[[], None]:
        """See `MemoryLedger.on`; *handler* runs in a thread, where it may use the ledger."""

        async def in_a_thread(*about: object) -> None:
            outcome = await to_thread.run_sync(handler, *about)
            if inspect.isawaitable(outcome):
                await outcome

        end = self._portal.call(lambda: self._ledger.on(event, in_a_thread if callable(handler) else handler))
        return lambda: self._portal.call(end)

    def get_state(self, session_id: str, **when: Unpack[When]) -> SessionState:
        """See `MemoryLedger.get_state`."""
        return self._call(self._ledger.get_state, session_id, **when)

    def get_context(self, session_id: str, **when: Unpack[When]) -> Context:
        """See `MemoryLedger.get_context`."""
        return self._call(self._ledger.get_context, session_id, **when)

    def get_context_for_llm(self, session_id: str, **when: Unpack[When]) -> str:
        """See `MemoryLedger.get_context_for_llm`."""
        return self._call(self._ledger.get_context_for_llm, session_id, **when)

    def get_active_entries(self, session_id: str, **when: Unpack[When]) -> list[Entry]:
        """See `MemoryLedger.get_active_entries`."""
        return self._call(self._ledger.get_active_entries, session_id, **when)

    def get_summaries(self, session_id: str, **when: Unpack[When]) -> list[Summary]:
        """See `MemoryLedger.get_summaries`."""
        return self._call(self._ledger.get_summaries, session_id, **when)

    def get_stats(self, session_id: str, **when: Unpack[When]) -> SessionStats:
        """See `MemoryLedger.get_stats`."""
        return self._call(self._ledger.get_stats, session_id, **when)

    def get_history(self, session_id: str, *, version: int | None = None, user_id: str | None = None) -> History:
        """See `MemoryLedger.get_history`."""
        return self._call(self._ledger.get_history, session_id, version=version, user_id=user_id)

    def fold(
        self, session_id: str, projection: Projection[S], *, version: int | None = None, user_id: str | None = None
    ) -> S:
        """See `MemoryLedger.fold`."""
        return self._call(self._ledger.fold, session_id, projection, version=version, user_id=user_id)

    def get_events(
        self,
        session_id: str,
        *,
        after_version: int = 0,
        limit: int | None = None,
        type: str | None = None,
        user_id: str | None = None,
    ) -> list[RecordedEvent]:
        """See `MemoryLedger.get_events`."""
        return self._call(
            self._ledger.get_events,
            session_id,
            after_version=after_version,
            limit=limit,
            type=type,
            user_id=user_id,
        )

    def list_sessions(
        self, *, user_id: str | None = None, after: tuple[datetime, UUID] | None = None, limit: int = 100
    ) -> list[IndexedSession]:
        """See `MemoryLedger.list_sessions`."""
        return self._call(self._ledger.list_sessions, user_id=user_id, after=after, limit=limit)

    def diff(self, session_id: str, before: int, after: int, *, user_id: str | None = None) -> Difference:
        """See `MemoryLedger.diff`."""
        return self._call(self._ledger.diff, session_id, before, after, user_id=user_id)

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
