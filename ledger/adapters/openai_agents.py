"""Sessions of the OpenAI Agents SDK in the ledger: a `Session` for `Runner.run`.

session = MemoryLedgerSession("user-42")  # was: SQLiteSession("user-42")
await Runner.run(agent, "What state is the Golden Gate Bridge in?", session=session)
"""

from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from itertools import takewhile
from typing import Any, Final, Self, TypeVar

from agents.memory.session import _CompactionSnapshot
from agents.memory.session_settings import SessionSettings, coerce_session_settings, resolve_session_limit

from ledger.adapters.any_loop_ledger import AnyLoopLedger
from ledger.adapters.names import name_of
from ledger.adapters.openai_items import drafts_of, item_of
from ledger.adapters.opening import OpenedLedger
from ledger.application.entries import add_drafts
from ledger.application.reading import partial_state
from ledger.application.transcript import read_transcript
from ledger.errors import InvalidInput, SessionNotFound, VersionConflict
from ledger.memory import MemoryLedger
from ledger.results import Forked, When
from ledger.session.state import SessionState
from projections import config as memory_config

T = TypeVar("T")
Item = dict[str, Any]

#: Every item stays as it is, and nothing is compacted.
_CONFIG: Final = memory_config.load({"profile": "none"})


class MemoryLedgerSession:
    """A conversation that an agent's runs add to; its items come back as they were added, in their order.

    Given nothing, it opens the embedded server or the database that the environment names; given a URL, that
    database. Then it may be used from any event loop and thread. Given an open *ledger*, it uses that, on the event
    loop of the ledger. What `pop_item` and `clear_session` take away stays in the history of the ledger.
    """

    def __init__(
        self,
        session_id: str,
        database_url: str | None = None,
        *,
        namespace: str | None = None,
        user_id: str | None = None,
        ledger: MemoryLedger | None = None,
        session_settings: "SessionSettings | dict[str, Any] | None" = None,
        **opening: Any,
    ) -> None:
        """Remember what to open at the first use; other arguments are those of `MemoryLedger.open`.

        Raises:
            InvalidInput: a ledger was given with what would open another.
        """
        self.session_id = session_id
        # as the protocol has it, or a type checker refuses the session
        self.session_settings: SessionSettings | None = coerce_session_settings(session_settings or SessionSettings())
        self._name = name_of(session_id)
        self._user_id = None if user_id is None else name_of(user_id)
        self._opened = OpenedLedger(database_url, namespace, ledger=ledger, what=f"the session {self._name}", **opening)
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

    async def get_items(self, limit: int | None = None, *, wrapper: Any = None) -> list[Any]:
        """Return the newest *limit* items, oldest first; without one, those of the session settings, or all."""
        self._opened.check_open()
        most = resolve_session_limit(limit, self.session_settings)
        if most is not None and most <= 0:
            return []
        return (await self._newest(most))[0]

    async def add_items(self, items: list[Any], *, wrapper: Any = None) -> None:
        """Add items: all of them, or none."""
        self._check_writable()
        self._opened.check_open()
        if not items:
            return
        self._version = await self._opened.run_once(self._adding(items))

    def _adding(self, items: list[Any]) -> Callable[[MemoryLedger], Awaitable[int]]:
        """Return what adds *items* to a ledger, once however often it is run, and returns the version."""
        drafts, keys = drafts_of(items), list[str]()

        async def add(ledger: MemoryLedger) -> int:
            handle = ledger._handle  # noqa: SLF001 - adapters are part of the ledger
            stream = handle.stream(self._name, self._user_id)
            keys.append(handle.services.clock.ulid())
            return (await add_drafts(handle, stream, drafts, key=keys[0], config=_CONFIG)).version

        return add

    async def pop_item(self, *, wrapper: Any = None) -> Any:
        """Take the newest item away and return it; None if there is none."""
        self._check_writable()

        async def pop(ledger: MemoryLedger) -> Item | None:
            entry = await ledger.pop_entry(self._name, user_id=self._user_id)
            self._version = (await self._state(ledger)).version
            return None if entry is None else item_of(entry)

        return await self._opened.run(pop)

    async def clear_session(self, *, wrapper: Any = None) -> None:
        """Take all items away; their history stays."""
        self._check_writable()

        async def clear(ledger: MemoryLedger) -> int:
            if not (await self._state(ledger)).version:
                return 0
            return await ledger.clear_session(self._name, user_id=self._user_id)

        self._version = await self._opened.run(clear)

    def at(self, *, version: int | None = None, at: datetime | str | None = None) -> "MemoryLedgerSession":
        """Return the session as it was at a version or at a moment; it can only be read.

        Raises:
            InvalidInput: not one of them was given.
        """
        if (version is None) == (at is None):
            raise InvalidInput("bad_version", "give a version or a moment", field="version")
        past = self._twin(self.session_id)
        past._when = {"version": version} if at is None else {"at": at}  # noqa: SLF001 - its own
        return past

    async def fork(self, session_id: str, *, version: int | None = None) -> "MemoryLedgerSession":
        """Start the session *session_id* from this one as it is shown here, or was at *version*.

        Raises:
            SessionNotFound, VersionNotFound, SessionExists: as `MemoryLedger.fork` does.
        """
        new = self._twin(session_id)
        names = self._name, new._name  # noqa: SLF001 - its own
        when: When = self._when if version is None else {"version": version}
        forked = await self._opened.run(partial(self._forked, names, when))
        new._version = forked.version  # noqa: SLF001 - its own
        return new

    async def _forked(self, names: tuple[str, str], when: When, ledger: MemoryLedger) -> Forked:
        return await ledger.fork(*names, version=when.get("version"), at=when.get("at"), user_id=self._user_id)

    async def close(self) -> None:
        """End the use of the session; later calls raise `Unavailable`."""
        await self._opened.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    async def _get_compaction_snapshot(
        self, limit: int, *, prune_prefix: Callable[[Any], bool] | None = None
    ) -> _CompactionSnapshot | None:
        """Return the newest *limit* items, and a function that replaces the end of them in one write.

        The SDK's compaction calls it, so that it loses nothing beside another writer. Source: adapters OA-7.
        """
        if not self._keeps_items_itself():
            return None
        items, version, complete = await self._newest(limit)
        shown = len(items)

        async def replace_suffix(start: int, output: list[Any]) -> bool:
            if start >= shown:
                return False
            replaced = await self._replace(shown - start, output, version)
            if replaced and prune_prefix is not None:
                await self._opened.run(partial(self._prune, prune_prefix))
            return replaced

        return _CompactionSnapshot(items=items, complete=complete, replace_suffix=replace_suffix)

    async def _atomic_replace_items(self, items: list[Any]) -> bool:
        """Put *items* in the place of all; False if another writer was first."""
        if not self._keeps_items_itself():
            return False
        found, version, _ = await self._newest(None)
        return await self._replace(len(found), items, version)

    async def _prune(self, is_over: Callable[[Any], bool], ledger: MemoryLedger) -> None:
        """Take the oldest items away for as long as *is_over* says so of them, such as those that expired."""
        entries = await ledger.get_transcript(self._name, user_id=self._user_id)
        over = [entry.entry_id for entry in takewhile(lambda entry: is_over(item_of(entry)), entries)]
        if over:
            self._version = await ledger.remove_entries(self._name, over, user_id=self._user_id)

    def _keeps_items_itself(self) -> bool:
        """Tell whether no subclass changes what is read or written, which a replacement would bypass."""
        own = (MemoryLedgerSession.get_items, MemoryLedgerSession.add_items, MemoryLedgerSession.clear_session)
        kind = type(self)
        return (kind.get_items, kind.add_items, kind.clear_session) == own

    async def _replace(self, count: int, items: list[Any], version: int) -> bool:
        self._check_writable()
        drafts = drafts_of(items)

        async def replace(ledger: MemoryLedger) -> bool:
            try:
                replaced = await ledger.replace_tail(
                    self._name, drafts, count=count, expected_version=version, user_id=self._user_id
                )
            except VersionConflict:
                return False
            self._version = replaced.version
            return True

        return True if not (count or drafts) else await self._opened.run(replace)

    async def _newest(self, most: int | None) -> tuple[list[Any], int, bool]:
        """Return the newest *most* items, the version of the session, and whether these are all."""

        async def read(ledger: MemoryLedger) -> tuple[list[Any], int, bool]:
            handle = ledger._handle  # noqa: SLF001 - adapters are part of the ledger
            stream, state = handle.stream(self._name, self._user_id), await self._state(ledger)
            entries = await read_transcript(handle, stream, state, last=None if most is None else most + 1)
            complete = most is None or len(entries) <= most
            return [item_of(entry) for entry in (entries if complete else entries[1:])], state.version, complete

        items, self._version, complete = await self._opened.run(read)
        return items, self._version, complete

    async def _state(self, ledger: MemoryLedger) -> SessionState:
        """Return the state that is shown here; the empty one for an unknown session."""
        handle = ledger._handle  # noqa: SLF001 - adapters are part of the ledger
        try:
            return await partial_state(handle, self._name, {**self._when, "user_id": self._user_id})
        except SessionNotFound:  # of a past session
            return SessionState()

    def _twin(self, session_id: str) -> "MemoryLedgerSession":
        twin = MemoryLedgerSession.__new__(MemoryLedgerSession)
        twin.__dict__.update(self.__dict__)
        twin.session_id, twin._name, twin._version = session_id, name_of(session_id), 0  # noqa: SLF001
        twin._opened, twin._when = self._opened.again(), {}  # noqa: SLF001
        return twin

    def _check_writable(self) -> None:
        if self._when:
            raise InvalidInput("read_only", "is of the past, which can only be read; fork it", field="session")


__all__ = ["MemoryLedgerSession"]
