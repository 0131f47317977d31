"""The same memory without ``await``: each method runs on an event loop in a thread of its own.

    with SyncMemoryLedger.open() as ledger:
        ledger.add_user_message("session-1", "How do I add auth?")

A test compares every signature with `MemoryLedger`'s.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any, ParamSpec, TypeVar, Unpack
from uuid import UUID

from anyio import to_thread
from anyio.from_thread import BlockingPortal, start_blocking_portal

from ledger.compactor import CompactionResult
from ledger.comparing import Changes
from ledger.difference import Difference
from ledger.drafts import EntryDraft
from ledger.events import JsonObject, RecordedEvent, ToolStatus
from ledger.finding import Found
from ledger.importers import Conversation
from ledger.importing import Imported, Lines
from ledger.log_entries import EntryRecord, LoggedEvent, LogPage
from ledger.memory import MemoryLedger
from ledger.memory.trying import ConfigLike, Point
from ledger.ports import IndexedSession, LifeStatus
from ledger.records.blocking import SyncLongTermMemory
from ledger.results import (
    Added,
    AddedEntry,
    Configured,
    Context,
    EntryFields,
    Forked,
    Guard,
    ImportedState,
    Notification,
    PatchedData,
    Rendering,
    Version,
    WhatIf,
    When,
)
from ledger.seeing import Derived, Seen
from ledger.state import SessionState
from ledger.stored_projections import BuildStatus, RebuiltProjection, StoredProjectionInfo
from ledger.summarizers import SummarizerChoice
from ledger.verify import Report
from ledger.whatif import OnMiss
from projections.config import MemoryConfig
from projections.entries import Entry
from projections.history import History
from projections.projection import Projection
from projections.stats import Metrics, SessionStats
from projections.strategies.base import CompactionPlan
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

    @property
    def long_term(self) -> SyncLongTermMemory:
        """See `MemoryLedger.long_term`."""
        return SyncLongTermMemory(self._portal, self._ledger.long_term)

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

    def edit_entry(self, session_id: str, entry_id: str, content: str, **guard: Unpack[Guard]) -> Version:
        """See `MemoryLedger.edit_entry`."""
        return self._call(self._ledger.edit_entry, session_id, entry_id, content, **guard)

    def remove_entry(self, session_id: str, entry_id: str, **guard: Unpack[Guard]) -> Version:
        """See `MemoryLedger.remove_entry`."""
        return self._call(self._ledger.remove_entry, session_id, entry_id, **guard)

    def get_data(self, session_id: str, **when: Unpack[When]) -> JsonObject:
        """See `MemoryLedger.get_data`."""
        return self._call(self._ledger.get_data, session_id, **when)

    def patch_data(self, session_id: str, patch: Mapping[str, Any], **guard: Unpack[Guard]) -> PatchedData:
        """See `MemoryLedger.patch_data`."""
        return self._call(self._ledger.patch_data, session_id, patch, **guard)

    def set_expiry(self, session_id: str, ttl_seconds: int | None, **guard: Unpack[Guard]) -> Version:
        """See `MemoryLedger.set_expiry`."""
        return self._call(self._ledger.set_expiry, session_id, ttl_seconds, **guard)

    def restore(self, session_id: str, version: int, **guard: Unpack[Guard]) -> Version:
        """See `MemoryLedger.restore`."""
        return self._call(self._ledger.restore, session_id, version, **guard)

    def compress(
        self,
        session_id: str,
        *,
        key: str | None = None,
        force: bool = False,
        keep_tokens: int | None = None,
        model: str | None = None,
        wait_s: float | None = None,
        **guard: Unpack[Guard],
    ) -> CompactionResult:
        """See `MemoryLedger.compress`."""
        return self._call(
            self._ledger.compress,
            session_id,
            key=key,
            force=force,
            keep_tokens=keep_tokens,
            model=model,
            wait_s=wait_s,
            **guard,
        )

    def plan_compression(
        self,
        session_id: str,
        *,
        key: str | None = None,
        force: bool = False,
        keep_tokens: int | None = None,
        user_id: str | None = None,
    ) -> CompactionPlan:
        """See `MemoryLedger.plan_compression`."""
        return self._call(
            self._ledger.plan_compression, session_id, key=key, force=force, keep_tokens=keep_tokens, user_id=user_id
        )

    def clear_session(self, session_id: str, *, end: bool = False, **guard: Unpack[Guard]) -> Version:
        """See `MemoryLedger.clear_session`."""
        return self._call(self._ledger.clear_session, session_id, end=end, **guard)

    def configure(
        self, session_id: str, config: Mapping[str, Any] | Sequence[Any] | MemoryConfig, **guard: Unpack[Guard]
    ) -> Configured:
        """See `MemoryLedger.configure`."""
        return self._call(self._ledger.configure, session_id, config, **guard)

    def update_config(self, session_id: str, changes: Mapping[str, Any], *, user_id: str | None = None) -> MemoryConfig:
        """See `MemoryLedger.update_config`."""
        return self._call(self._ledger.update_config, session_id, changes, user_id=user_id)

    def fork(
        self,
        session_id: str,
        new_session_id: str,
        *,
        version: int | None = None,
        at: datetime | str | None = None,
        user_id: str | None = None,
        new_user_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Forked:
        """See `MemoryLedger.fork`."""
        return self._call(
            self._ledger.fork,
            session_id,
            new_session_id,
            version=version,
            at=at,
            user_id=user_id,
            new_user_id=new_user_id,
            idempotency_key=idempotency_key,
        )

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

    def get_context(self, session_id: str, **how: Unpack[Rendering]) -> Context:
        """See `MemoryLedger.get_context`."""
        return self._call(self._ledger.get_context, session_id, **how)

    def get_context_for_llm(self, session_id: str, **how: Unpack[Rendering]) -> str:
        """See `MemoryLedger.get_context_for_llm`."""
        return self._call(self._ledger.get_context_for_llm, session_id, **how)

    def seen(self, session_id: str, **when: Unpack[When]) -> Seen:
        """See `MemoryLedger.seen`."""
        return self._call(self._ledger.seen, session_id, **when)

    def derived(self, session_id: str, entry_id: str | int, *, user_id: str | None = None) -> Derived:
        """See `MemoryLedger.derived`."""
        return self._call(self._ledger.derived, session_id, entry_id, user_id=user_id)

    def get_entry(self, session_id: str, entry_id: str, *, user_id: str | None = None) -> EntryRecord:
        """See `MemoryLedger.get_entry`."""
        return self._call(self._ledger.get_entry, session_id, entry_id, user_id=user_id)

    def get_log(
        self,
        session_id: str,
        *,
        after_version: int = 0,
        limit: int = 100,
        type: str | None = None,
        user_id: str | None = None,
    ) -> LogPage:
        """See `MemoryLedger.get_log`."""
        return self._call(
            self._ledger.get_log, session_id, after_version=after_version, limit=limit, type=type, user_id=user_id
        )

    def get_feed(self, *, after: int = 0, limit: int = 100) -> list[LoggedEvent]:
        """See `MemoryLedger.get_feed`."""
        return self._call(self._ledger.get_feed, after=after, limit=limit)

    def matches_replay(self, session_id: str, *, user_id: str | None = None) -> bool:
        """See `MemoryLedger.matches_replay`."""
        return self._call(self._ledger.matches_replay, session_id, user_id=user_id)

    def stored_projections(self) -> list[StoredProjectionInfo]:
        """See `MemoryLedger.stored_projections`."""
        return self._ledger.stored_projections()

    def projection_builds(self) -> list[BuildStatus]:
        """See `MemoryLedger.projection_builds`."""
        return self._call(self._ledger.projection_builds)

    def rebuild_projections(
        self,
        name: str | None = None,
        *,
        progress: Callable[[str, int, int], None] = lambda name, done, total: None,
    ) -> list[RebuiltProjection]:
        """See `MemoryLedger.rebuild_projections`."""
        return self._call(self._ledger.rebuild_projections, name, progress=progress)

    def get_active_entries(self, session_id: str, **when: Unpack[When]) -> list[Entry]:
        """See `MemoryLedger.get_active_entries`."""
        return self._call(self._ledger.get_active_entries, session_id, **when)

    def get_summaries(self, session_id: str, **when: Unpack[When]) -> list[Summary]:
        """See `MemoryLedger.get_summaries`."""
        return self._call(self._ledger.get_summaries, session_id, **when)

    def get_stats(self, session_id: str, **when: Unpack[When]) -> SessionStats:
        """See `MemoryLedger.get_stats`."""
        return self._call(self._ledger.get_stats, session_id, **when)

    def get_metrics(self, session_id: str, *, kind: str | None = None, **when: Unpack[When]) -> Metrics:
        """See `MemoryLedger.get_metrics`."""
        return self._call(self._ledger.get_metrics, session_id, kind=kind, **when)

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
        self,
        *,
        user_id: str | None = None,
        status: LifeStatus | None = None,
        after: tuple[datetime, UUID] | None = None,
        limit: int = 100,
    ) -> list[IndexedSession]:
        """See `MemoryLedger.list_sessions`."""
        return self._call(self._ledger.list_sessions, user_id=user_id, status=status, after=after, limit=limit)

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
        before: Point,
        after: Point,
        *,
        on_miss: OnMiss = "raise",
        user_id: str | None = None,
    ) -> Difference:
        """See `MemoryLedger.diff`."""
        return self._call(self._ledger.diff, session_id, before, after, on_miss=on_miss, user_id=user_id)

    def compare(
        self,
        session_id: str,
        before: Point | None = None,
        after: Point | None = None,
        *,
        on_miss: OnMiss = "raise",
        user_id: str | None = None,
    ) -> Changes:
        """See `MemoryLedger.compare`."""
        return self._call(self._ledger.compare, session_id, before, after, on_miss=on_miss, user_id=user_id)

    def adopt(self, session_id: str, config: ConfigLike, *, user_id: str | None = None) -> MemoryConfig:
        """See `MemoryLedger.adopt`."""
        return self._call(self._ledger.adopt, session_id, config, user_id=user_id)

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
