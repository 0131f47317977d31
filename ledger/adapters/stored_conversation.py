"""A conversation of another SDK as a session: read, added to, cleared, forked. Source: adapters AD-4, AD-10, AD-13."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from datetime import datetime
from typing import Any, ClassVar, Final, Self

from ledger.adapters.any_loop_ledger import AnyLoopLedger
from ledger.adapters.foreign_names import key_of, name_of
from ledger.adapters.large_items import LargeValues, with_large_values
from ledger.adapters.opened_ledger import OpenedLedger, repeated
from ledger.adapters.sdk_sessions import UNCHANGED, past_of
from ledger.application.reading.contexts import get_context
from ledger.application.reading.transcript import TranscriptAt, transcript_of
from ledger.application.writing.entry_writes import add_drafts
from ledger.errors import InvalidInput, SessionNotFound
from ledger.events import JsonObject
from ledger.events.clock import SystemClock
from ledger.formats.importers.elements.damaged import clean
from ledger.memory import MemoryLedger
from ledger.results import Rendering, When
from ledger.session.entry_drafts import EntryDraft
from projections.entries import Entry
from projections.memory_config import config as memory_config
from projections.memory_config.config import MemoryConfig

#: The key of session data that has an id too long for a name.
_ABOUT: Final = "~conversation"
_clock: Final = SystemClock()


class StoredConversation:
    """A conversation in the ledger, now or in the past; adapters show its entries as messages of their SDK."""

    #: What the SDK calls the id.
    _id_field: ClassVar[str] = "session_id"

    def __init__(
        self,
        opened: OpenedLedger,
        conversation_id: str,
        user_id: str | None = None,
        config: Mapping[str, Any] | MemoryConfig = UNCHANGED,
    ) -> None:
        self._opened = opened
        self._config = memory_config.load(config)
        self._name = name_of(conversation_id, field=self._id_field)
        self._data = _original(conversation_id)
        self._user_id = None if user_id is None else name_of(user_id, field="user_id")
        self._when: When = {}
        self._version = 0

    @property
    def version(self) -> int:
        """The version of the session after the last call here; 0 before the first."""
        return self._version

    @property
    def ledger(self) -> AnyLoopLedger:
        """The ledger that the session is in, from any event loop."""
        return AnyLoopLedger(self._opened)

    def at(self, *, version: int | None = None, at: datetime | str | None = None) -> Self:
        """Return the conversation as it was at a version or at a moment; it can only be read.

        Raises:
            InvalidInput: not one of them was given.
        """
        return self._twin(self._name, past_of(version, at))

    async def fork(self, new_id: str, *, version: int | None = None) -> Self:
        """Start the conversation *new_id* from this one as it is shown here, or was at *version*.

        Raises:
            SessionNotFound, VersionNotFound, SessionExists: as `MemoryLedger.fork` does.
            InvalidInput: *new_id* is no text.
        """
        new, key, data = self._twin(name_of(new_id, field="new_id"), {}), _clock.ulid(), _original(new_id)
        new._data = data  # noqa: SLF001 - its own
        when: When = self._when if version is None else {"version": version}

        async def fork(ledger: MemoryLedger) -> int:
            forked = await ledger.fork(
                self._name,
                new._name,  # noqa: SLF001 - its own
                version=when.get("version"),
                at=when.get("at"),
                user_id=self._user_id,
                idempotency_key=key,
            )
            if data is None and self._data is None:
                return forked.version
            removed = [] if data else [_ABOUT]  # the id of this one, which the fork has too
            done = await ledger.set_data(new._name, data or {}, remove=removed, user_id=self._user_id)  # noqa: SLF001 - its own
            return done.version

        new._version = await self._opened.run_once(fork)  # noqa: SLF001 - its own
        return new

    def reading(self, last: int | None = None) -> Callable[[MemoryLedger], Awaitable[list[Entry]]]:
        """Return what reads the transcript, or the *last* of it, oldest first; an unknown session has none."""

        async def read(ledger: MemoryLedger) -> list[Entry]:
            handle = ledger._handle  # noqa: SLF001 - adapters are part of the ledger
            try:
                found = await transcript_of(handle, self._name, {**self._when, "user_id": self._user_id}, last=last)
            except SessionNotFound:  # of a past session
                found = TranscriptAt([], 0)
            self._version = found.version
            stream = handle.stream(self._name, self._user_id)
            return await with_large_values(handle, stream, found.entries, found.version)

        return read

    def showing(self) -> Callable[[MemoryLedger], Awaitable[list[tuple[list[Entry], JsonObject]]]]:
        """Return what reads the context, oldest first: messages with their entries; an unknown session has none."""

        async def read(ledger: MemoryLedger) -> list[tuple[list[Entry], JsonObject]]:
            handle = ledger._handle  # noqa: SLF001 - adapters are part of the ledger
            try:
                how: Rendering = {"user_id": self._user_id, **self._when}  # type: ignore[typeddict-item]  # its keys are among them
                context = await get_context(handle, self._name, **how)
            except SessionNotFound:  # of a past session
                return []
            self._version = context.version
            stream = handle.stream(self._name, self._user_id)
            whole = await with_large_values(handle, stream, [*context.entries], context.version)
            by_version = {entry.version: entry for entry in whole}
            return [
                ([by_version[each.version] for each in shown.sources if isinstance(each, Entry)], shown.message)
                for shown in context.shown_messages
            ]

        return read

    def adding(self, drafts: Sequence[EntryDraft], large: LargeValues) -> Callable[[MemoryLedger], Awaitable[None]]:
        """Return what adds *drafts* and the *large* values of their items, once, however often the connection breaks.

        All of them are stored, or none.
        """
        self.check_writable()
        key, kept = _clock.ulid(), large.drafts()

        async def add(ledger: MemoryLedger) -> None:
            handle = ledger._handle  # noqa: SLF001 - adapters are part of the ledger
            stream = handle.stream(self._name, self._user_id)
            added = await add_drafts(handle, stream, drafts, key=key, config=self._config, kept=kept, data=self._data)
            self._version = added.version

        return repeated(add)

    def clearing(self) -> Callable[[MemoryLedger], Awaitable[None]]:
        """Return what takes all entries away; their history stays."""
        self.check_writable()
        key = _clock.ulid()

        async def clear(ledger: MemoryLedger) -> None:
            self._version = await ledger.clear_session(self._name, user_id=self._user_id, idempotency_key=key)

        return repeated(clear)

    def check_writable(self) -> None:
        """Raise `InvalidInput` if this is the past."""
        if self._when:
            raise InvalidInput("read_only", "is of the past, which can only be read; fork it", field="conversation")

    def _twin(self, name: str, when: When) -> Self:
        twin = copy(self)
        twin._name, twin._when, twin._version = name, when, 0  # noqa: SLF001 - its own
        return twin


def _original(conversation_id: str) -> JsonObject | None:
    """Return *conversation_id* as session data, if it is too long to be read out of the name."""
    if key_of(name_of(conversation_id)) is not None:
        return None
    is_readable = clean(conversation_id) == conversation_id
    return {_ABOUT: {"id": conversation_id} if is_readable else {"json": json.dumps(conversation_id)}}
