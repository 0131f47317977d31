"""Sessions of the OpenAI Agents SDK in the ledger: a `Session` for `Runner.run`.

session = MemoryLedgerSession("user-42")  # was: SQLiteSession("user-42")
await Runner.run(agent, "What state is the Golden Gate Bridge in?", session=session)
"""

from collections.abc import Awaitable, Callable, Mapping
from copy import copy
from itertools import takewhile
from typing import Any, Final, Literal, Self, TypeVar, get_args

import msgspec
from agents.memory.session import _CompactionSnapshot
from agents.memory.session_settings import SessionSettings, coerce_session_settings, resolve_session_limit
from agents.run_context import RunContextWrapper

from ledger.adapters.foreign_names import name_of
from ledger.adapters.large_items import LargeValues, with_large_values
from ledger.adapters.openai_agents.agent_runs import RunFacts
from ledger.adapters.openai_agents.response_entries import drafts_of, item_of
from ledger.adapters.openai_agents.run_context import items_of
from ledger.adapters.opened_ledger import OpenedLedger, repeated
from ledger.adapters.stored_conversation import StoredConversation
from ledger.application.reading.session_reads import partial_state
from ledger.application.writing.tail import replace_newest, take_newest
from ledger.errors import InvalidInput, VersionConflict
from ledger.events.clock import SystemClock
from ledger.memory import MemoryLedger
from ledger.results import When
from ledger.session.entry_drafts import EntryDraft
from projections.entries import Entry

T = TypeVar("T")
Work = Callable[[MemoryLedger], Awaitable[T]]

#: Whose session it is: a name, or what finds it for a run, which is None outside of runs.
ItemsView = Literal["transcript", "context"]
UserOfRun = str | Callable[[RunContextWrapper[Any] | None], str | None] | None

_clock: Final = SystemClock()


class MemoryLedgerSession(StoredConversation):
    """A conversation that an agent's runs add to; its items come back as they were added, in their order.

    Given nothing, it opens the embedded server or the database that the environment names; given a URL, that
    database. Then it may be used from any event loop and thread. Given an open *ledger*, it uses that, on the event
    loop of the ledger. What `pop_item` and `clear_session` take away stays in the history of the ledger.
    """

    def __init__(
        self,
        session_id: str | int,
        database_url: str | None = None,
        *,
        namespace: str | None = None,
        user_id: UserOfRun = None,
        ledger: MemoryLedger | None = None,
        session_settings: "SessionSettings | dict[str, Any] | None" = None,
        config: Mapping[str, Any] | None = None,
        view: ItemsView = "transcript",
        **opening: Any,
    ) -> None:
        """Remember what to open at the first use; other arguments are those of `MemoryLedger.open`.

        A *user_id* that is a function gets the context of the run for which the session is read or written, or None.
        A session that begins has the memory *config*; without one nothing is compacted. With the view ``"context"``,
        `get_items` returns what the model is to see under that config, instead of all items.

        Raises:
            InvalidInput: a ledger was given with what would open another; the id is no
                text; the config or the view is none.
        """
        if view not in get_args(ItemsView):
            raise InvalidInput("bad_value", "must be transcript or context", field="view")
        self._view = view
        if isinstance(session_id, int):  # which the SDK's own store takes, too
            session_id = str(session_id)
        self.session_id = session_id
        # as the protocol has it, or a type checker refuses the session
        self.session_settings: SessionSettings | None = coerce_session_settings(session_settings or SessionSettings())
        what = f"the session {name_of(session_id, field='session_id')}"
        opened = OpenedLedger(database_url, namespace, ledger=ledger, what=what, **opening)
        chosen = {} if config is None else {"config": config}
        super().__init__(opened, session_id, None if callable(user_id) else user_id, **chosen)
        self._find_user = user_id if callable(user_id) else None

    async def get_items(self, limit: int | None = None, *, wrapper: Any = None) -> list[Any]:
        """Return the newest *limit* items of the view, oldest first; without one, those of the settings, or all."""
        self._opened.check_open()
        most = resolve_session_limit(limit, self.session_settings)
        if most is not None and most <= 0:
            return []
        if self._view == "context":
            return items_of(await self._run(wrapper, lambda own: own.showing()), most)
        return [item_of(entry) for entry in await self._run(wrapper, lambda own: own.reading(most))]

    async def add_items(self, items: list[Any], *, wrapper: Any = None) -> None:
        """Add items: all of them, or none."""
        self.check_writable()
        self._opened.check_open()
        if not items:
            return
        large = LargeValues()
        drafts = drafts_of(items, large, RunFacts.current())
        if any(_lacks_name(draft) for draft in drafts):
            drafts = await self._run(wrapper, lambda own: own._naming(drafts))  # noqa: SLF001 - its own
        await self._run(wrapper, lambda own: own.adding(drafts, large))

    async def pop_item(self, *, wrapper: Any = None) -> Any:
        """Take the newest item away and return it; None if there is none."""
        entry = await self._run(wrapper, lambda own: own._popping())  # noqa: SLF001 - its own
        return None if entry is None else item_of(entry)

    async def clear_session(self, *, wrapper: Any = None) -> None:
        """Take all items away; their history stays."""
        await self._run(wrapper, lambda own: own.clearing())

    async def fork(self, new_id: str, *, version: int | None = None) -> Self:
        """Start the session *new_id* from this one as it is shown here, or was at *version*.

        Raises:
            SessionNotFound, VersionNotFound, SessionExists: as `MemoryLedger.fork` does.
        """
        new = await super().fork(new_id, version=version)
        new.session_id = new_id
        return new

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
        own = self._of(None)
        entries = await self._opened.run(own.reading(limit + 1))
        version, items = own.version, list[Any](map(item_of, entries[-limit:] if limit else []))
        shown = len(items)

        async def replace_suffix(start: int, output: list[Any]) -> bool:
            if start >= shown:
                return False
            replaced = await self._replace(shown - start, output, version)
            if replaced and prune_prefix is not None:
                await self._prune(prune_prefix)
            return replaced

        return _CompactionSnapshot(items=items, complete=len(entries) <= limit, replace_suffix=replace_suffix)

    async def _atomic_replace_items(self, items: list[Any]) -> bool:
        """Put *items* in the place of all; False if another writer was first."""
        if not self._keeps_items_itself():
            return False
        own = self._of(None)
        found = await self._opened.run(own.reading())
        return await self._replace(len(found), items, own.version)

    async def _prune(self, is_over: Callable[[Any], bool]) -> None:
        """Take the oldest items away for as long as *is_over* says so of them, such as those that expired."""
        own = self._of(None)
        user_id = own._user_id  # noqa: SLF001 - its own

        async def prune(ledger: MemoryLedger) -> None:
            entries = takewhile(lambda entry: is_over(item_of(entry)), await own.reading()(ledger))
            active = {entry.entry_id for entry in await ledger.get_active_entries(self._name, user_id=user_id)}
            over = [entry.entry_id for entry in entries if entry.entry_id in active]
            if over:
                self._version = await ledger.remove_entries(self._name, over, user_id=user_id)

        await self._opened.run_once(prune)  # done again, it finds nothing more

    def _keeps_items_itself(self) -> bool:
        """Tell whether no subclass changes what is read or written, which a replacement would bypass."""
        own = (MemoryLedgerSession.get_items, MemoryLedgerSession.add_items, MemoryLedgerSession.clear_session)
        kind = type(self)
        return (kind.get_items, kind.add_items, kind.clear_session) == own

    async def _replace(self, count: int, items: list[Any], version: int) -> bool:
        self.check_writable()
        own, key, large = self._of(None), _clock.ulid(), LargeValues()
        drafts = drafts_of(items, large)

        async def replace(ledger: MemoryLedger) -> int:
            replaced = await replace_newest(
                ledger._handle,  # noqa: SLF001 - adapters are part of the ledger
                self._name,
                drafts,
                count=count,
                expected_version=version,
                idempotency_key=key,
                user_id=own._user_id,  # noqa: SLF001 - its own
                kept=large.drafts(),
            )
            return replaced.version

        if count or drafts:
            try:
                self._version = await self._opened.run_once(replace)
            except VersionConflict:
                return False
        return True

    def _popping(self) -> Work[Entry | None]:
        """Return what takes the newest entry away, once however often it is done."""
        self.check_writable()
        key = _clock.ulid()

        async def pop(ledger: MemoryLedger) -> Entry | None:
            handle = ledger._handle  # noqa: SLF001 - adapters are part of the ledger
            popped = await take_newest(handle, self._name, user_id=self._user_id, idempotency_key=key)
            self._version = popped.version
            if popped.entry is None:
                return None
            stream = handle.stream(self._name, self._user_id)
            return (await with_large_values(handle, stream, [popped.entry], popped.version))[0]

        return repeated(pop)

    def _naming(self, drafts: list[EntryDraft]) -> Work[list[EntryDraft]]:
        """Return what gives the results among *drafts* the tool names of the stored calls that wait for them."""

        async def name(ledger: MemoryLedger) -> list[EntryDraft]:
            handle = ledger._handle  # noqa: SLF001 - adapters are part of the ledger
            state = await partial_state(handle, self._name, {"user_id": self._user_id})
            names = {call.tool_call_id: call.tool_name for call in state.items.waiting}
            return [
                msgspec.structs.replace(draft, tool_name=names.get(draft.tool_call_id)) if _lacks_name(draft) else draft
                for draft in drafts
            ]

        return name

    async def _run(self, wrapper: Any, work_of: Callable[[Self], Work[T]]) -> T:
        """Return the result of the work of *work_of*, called with this session of the user of a run."""
        own = self._of(wrapper)
        result = await self._opened.run(work_of(own))
        self._version = own.version
        return result

    def _of(self, wrapper: Any) -> Self:
        """Return this session of the user of a run, with a version that no other call changes."""
        own = copy(self)
        if self._find_user is not None:
            user_id = self._find_user(wrapper)
            own._user_id = None if user_id is None else name_of(user_id, field="user_id")  # noqa: SLF001 - its own
        return own

    def _twin(self, name: str, when: When) -> Self:
        twin = super()._twin(name, when)
        twin._opened = self._opened.again()  # noqa: SLF001 - its own; each is closed by itself
        return twin


def _lacks_name(draft: EntryDraft) -> bool:
    return draft.kind == "tool_result" and draft.tool_name is None and draft.tool_call_id is not None


__all__ = ["MemoryLedgerSession", "UserOfRun"]
