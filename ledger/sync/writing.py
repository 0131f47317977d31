"""What writes: adding, editing, clearing, configuring, forking."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Unpack

from anyio import to_thread

from ledger.compaction.result import CompactionResult
from ledger.events import JsonObject, ToolStatus
from ledger.results import (
    Added,
    AddedEntry,
    ConfigLike,
    Configured,
    EntryFields,
    Forked,
    Guard,
    Notification,
    PatchedData,
    Version,
    When,
)
from ledger.session.drafts import EntryDraft
from ledger.summarizers import SummarizerChoice
from ledger.sync.calling import Calling
from projections.strategies.base import CompactionPlan


class Writing(Calling):
    """What writes: adding, editing, clearing, configuring, forking."""

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

    def update_config(
        self,
        session_id: str,
        config: ConfigLike,
        *,
        replace: bool = False,
        existing: bool = False,
        **guard: Unpack[Guard],
    ) -> Configured:
        """See `MemoryLedger.update_config`."""
        return self._call(self._ledger.update_config, session_id, config, replace=replace, existing=existing, **guard)

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
