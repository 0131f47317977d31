"""A conversation of another SDK as a session: read, added to, cleared, forked. Source: adapters AD-4, AD-10, AD-13."""

from collections.abc import Awaitable, Callable, Sequence
from copy import copy
from datetime import datetime
from typing import Final, Self, TypeVar

from ledger.adapters.any_loop_ledger import AnyLoopLedger
from ledger.adapters.names import name_of
from ledger.adapters.opening import OpenedLedger
from ledger.application.entries import add_drafts
from ledger.application.reading import partial_state
from ledger.application.transcript import read_transcript
from ledger.errors import DatabaseUnavailable, InvalidInput
from ledger.memory import MemoryLedger
from ledger.results import When
from ledger.session.drafts import EntryDraft
from projections import config as memory_config
from projections.entries import Entry

T = TypeVar("T")

#: Every message stays as it is, and nothing is compacted.
_CONFIG: Final = memory_config.load({"profile": "none"})
_TRIES: Final = 3


class StoredConversation:
    """A conversation in the ledger, now or in the past; adapters show its entries as messages of their SDK."""

    def __init__(self, opened: OpenedLedger, conversation_id: str, user_id: str | None = None) -> None:
        self._opened = opened
        self._name = name_of(conversation_id)
        self._user_id = None if user_id is None else name_of(user_id)
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
        if (version is None) == (at is None):
            raise InvalidInput("bad_version", "give a version or a moment", field="version")
        return self._twin(self._name, {"version": version} if at is None else {"at": at})

    async def fork(self, conversation_id: str, *, version: int | None = None) -> Self:
        """Start the conversation *conversation_id* from this one as it is shown here, or was at *version*.

        Raises:
            SessionNotFound, VersionNotFound, SessionExists: as `MemoryLedger.fork` does.
        """
        new = self._twin(name_of(conversation_id), {})
        when: When = self._when if version is None else {"version": version}

        async def fork(ledger: MemoryLedger) -> int:
            forked = await ledger.fork(
                self._name,
                new._name,  # noqa: SLF001 - its own
                version=when.get("version"),
                at=when.get("at"),
                user_id=self._user_id,
            )
            return forked.version

        new._version = await self._opened.run(fork)  # noqa: SLF001 - its own
        return new

    def reading(self) -> Callable[[MemoryLedger], Awaitable[list[Entry]]]:
        """Return what reads the transcript, oldest first; an unknown session has none."""

        async def read(ledger: MemoryLedger) -> list[Entry]:
            handle = ledger._handle  # noqa: SLF001 - adapters are part of the ledger
            state = await partial_state(handle, self._name, {**self._when, "user_id": self._user_id})
            self._version = state.version
            return await read_transcript(handle, handle.stream(self._name, self._user_id), state, last=None)

        return read

    def adding(self, drafts: Sequence[EntryDraft]) -> Callable[[MemoryLedger], Awaitable[None]]:
        """Return what adds *drafts*: all of them or none, and once, however often the connection breaks."""
        self.check_writable()
        keys: list[str] = []

        async def add(ledger: MemoryLedger) -> None:
            handle = ledger._handle  # noqa: SLF001 - adapters are part of the ledger
            keys.append(handle.services.clock.ulid())
            stream = handle.stream(self._name, self._user_id)
            for left in reversed(range(_TRIES)):
                try:
                    added = await add_drafts(handle, stream, drafts, key=keys[0], config=_CONFIG)
                except DatabaseUnavailable:  # nobody knows if it was done; under its key it is done once
                    if not left:
                        raise
                else:
                    self._version = added.version
                    return

        return add

    def clearing(self) -> Callable[[MemoryLedger], Awaitable[None]]:
        """Return what takes all entries away; their history stays."""
        self.check_writable()

        async def clear(ledger: MemoryLedger) -> None:
            state = await partial_state(ledger._handle, self._name, {"user_id": self._user_id})  # noqa: SLF001
            if state.version:
                self._version = await ledger.clear_session(self._name, user_id=self._user_id)

        return clear

    def check_writable(self) -> None:
        """Raise `InvalidInput` if this is the past."""
        if self._when:
            raise InvalidInput("read_only", "is of the past, which can only be read; fork it", field="conversation")

    def _twin(self, name: str, when: When) -> Self:
        twin = copy(self)
        twin._name, twin._when, twin._version = name, when, 0  # noqa: SLF001 - its own
        return twin
