"""Sessions of the Claude Agent SDK in the ledger: a `SessionStore` for its option ``session_store``.

    store = LedgerSessionStore()
    async for message in query(prompt="Fix the test", options=ClaudeAgentOptions(session_store=store)):
        ...

A project is a user, a session is a session, and each transcript of an agent is a session ``ID#PATH``.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from importlib import import_module
from typing import Any, Final, TypeVar

from ledger.adapters.claude_agent.claude_keys import KEYS, names_of, readable_key
from ledger.adapters.claude_agent.claude_window import NEWEST, AgentWindow
from ledger.adapters.claude_agent.session_listing import (
    SUMMARY,
    agents_of,
    list_sessions,
    list_subkeys,
    list_summaries,
    read_summary,
    summary_data,
)
from ledger.adapters.claude_agent.transcript_lines import drafts_of, line_of
from ledger.adapters.large_items import LargeValues, with_large_values
from ledger.adapters.sdk_sessions import UNCHANGED, SdkSessionStore, end_session, past_of
from ledger.application.reading.transcript import transcript_of
from ledger.application.writing.entries_with_data import add_entries_with_data
from ledger.errors import InvalidInput, SessionNotFound
from ledger.events import CompactionCompleted, EntryAdded, JsonObject
from ledger.events.clock import SystemClock
from ledger.events.names import is_entry_id
from ledger.memory import MemoryLedger
from ledger.results import When
from ledger.session.state import SessionState

T = TypeVar("T")

_clock: Final = SystemClock()
_AT_ONCE: Final = 500


class LedgerSessionStore(SdkSessionStore):
    """A `SessionStore` whose transcripts are sessions of the ledger; see the SDK for what each method promises.

    Given nothing, it opens the embedded server or the database that the environment names; given a URL, that
    database. Then it may be used from any event loop and thread, and `close` ends it. Given an open *ledger*, it uses
    that, on the event loop of the ledger. Nothing is erased: `delete` ends a session, whose history stays. With
    *on_delete* ``"refuse"`` it raises instead.
    """

    _what = "the session store"
    _past: When | None = None

    async def append(self, key: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> None:
        """Add transcript lines; one whose ``uuid`` is stored already is left out."""
        self._check_writable()
        for start in range(0, len(entries), _AT_ONCE):
            lines = entries[start : start + _AT_ONCE]
            once = None if all(line.get("uuid") for line in lines) else _clock.ulid()
            await self._opened.run_once(partial(_append, key=key, lines=lines, idempotency_key=once))

    async def load(self, key: Mapping[str, Any]) -> list[JsonObject] | None:
        """Return all lines of a transcript, oldest first; None if there is none."""
        return await self._opened.run(partial(_load, key=key, when=self._past or {}))

    async def list_sessions(self, project_key: str) -> list[JsonObject]:
        """Return id and time of change, in milliseconds since 1970, of each session of a project."""
        return await self._opened.run(partial(list_sessions, project_key=project_key))

    async def list_session_summaries(self, project_key: str) -> list[JsonObject]:
        """Return what the SDK's `fold_session_summary` made of each session of a project."""
        return await self._opened.run(partial(list_summaries, project_key=project_key))

    async def delete(self, key: Mapping[str, Any]) -> None:
        """End a session and the transcripts of its agents, or with a ``subpath`` that transcript only.

        Raises:
            InvalidInput: the store refuses it.
        """
        self._check_writable()
        self._check_deletes(field="key")
        await self._opened.run_once(partial(_delete, key=key))

    async def list_subkeys(self, key: Mapping[str, Any]) -> list[str]:
        """Return the ``subpath`` of each transcript of an agent of a session."""
        return await self._opened.run(partial(list_subkeys, key=key))

    async def version_of(self, key: Mapping[str, Any]) -> int:
        """Return the version of a transcript; 0 if there is none."""
        return await self._opened.run(partial(_version, key=key))

    def at(self, *, version: int | None = None, at: datetime | str | None = None) -> "LedgerSessionStore":
        """Return a store that loads transcripts as they were at a version or at a moment, and writes nothing.

        Raises:
            InvalidInput: not one of them was given.
        """
        when = past_of(version, at)
        past = LedgerSessionStore.__new__(LedgerSessionStore)
        past.__dict__.update(self.__dict__)
        past._opened = self._opened.again()  # noqa: SLF001 - its own
        past._past = when  # noqa: SLF001 - its own
        return past

    async def fork(self, key: Mapping[str, Any], session_id: str, *, version: int | None = None) -> dict[str, Any]:
        """Start the session *session_id* of the same project from a transcript, or from its *version*; return its key.

        Raises:
            SessionNotFound, VersionNotFound, SessionExists: as `MemoryLedger.fork` does.
        """
        new = {"project_key": key["project_key"], "session_id": session_id}
        await self._opened.run_once(partial(_fork, key=key, new=new, version=version, idempotency_key=_clock.ulid()))
        return new

    def _check_writable(self) -> None:
        if self._past:
            raise InvalidInput("read_only", "is of the past, which can only be read; fork it", field="store")


async def _append(
    ledger: MemoryLedger, key: Mapping[str, Any], lines: Sequence[Mapping[str, Any]], idempotency_key: str | None
) -> None:
    user, session = names_of(key)
    fold = None if key.get("subpath") is not None else import_module("claude_agent_sdk").fold_session_summary

    def data_after(data: JsonObject, new: Sequence[int]) -> JsonObject:
        changed: JsonObject = {} if KEYS in data else {KEYS: readable_key(key)}
        uuids = [uuid for number in new if is_entry_id(uuid := lines[number].get("uuid") or "")]
        if uuids:
            changed[NEWEST] = uuids[-1]
        if fold is not None:
            before = read_summary(data.get(SUMMARY))
            previous = None if before is None else {"session_id": key["session_id"], "mtime": 0, "data": before}
            changed[SUMMARY] = summary_data(fold(previous, key, [lines[number] for number in new])["data"])
        return changed

    async def follow(
        new: Sequence[int], entries: Sequence[EntryAdded], first: int, state: SessionState
    ) -> tuple[list[EntryAdded], list[CompactionCompleted]]:
        return await window.follow([lines[number] for number in new], entries, first, state)

    handle, large = ledger._handle, LargeValues()  # noqa: SLF001 - adapters are part of the ledger
    window = AgentWindow(handle, handle.stream(session, user), of_agent=fold is None)
    drafts = drafts_of(lines, large)
    await add_entries_with_data(
        handle,
        session,
        drafts,
        data_after,
        user_id=user,
        config=UNCHANGED,
        idempotency_key=idempotency_key,
        kept=large.drafts(),
        follow=follow,
    )


async def _load(ledger: MemoryLedger, key: Mapping[str, Any], when: When) -> list[JsonObject] | None:
    user, session = names_of(key)
    names: When = {**when, "user_id": user}
    try:
        state = await ledger.get_state(session, **names)
    except SessionNotFound:
        return None
    if not state.opened:
        return None
    handle = ledger._handle  # noqa: SLF001 - adapters are part of the ledger
    found = await transcript_of(handle, session, names)
    entries = await with_large_values(handle, handle.stream(session, user), found.entries, found.version)
    return [line_of(entry) for entry in entries]


async def _version(ledger: MemoryLedger, key: Mapping[str, Any]) -> int:
    user, session = names_of(key)
    try:
        return (await ledger.get_state(session, user_id=user)).version
    except SessionNotFound:
        return 0


async def _fork(
    ledger: MemoryLedger,
    key: Mapping[str, Any],
    new: Mapping[str, Any],
    version: int | None,
    idempotency_key: str,
) -> None:
    user, session = names_of(key)
    await ledger.fork(session, names_of(new)[1], version=version, user_id=user, idempotency_key=idempotency_key)
    data: JsonObject = {KEYS: readable_key(new)}
    if version is not None:  # which may be between the lines of a write: the summary is of all of them
        lines = await _load(ledger, new, {})
        summary = import_module("claude_agent_sdk").fold_session_summary(None, new, lines or [])["data"]
        data[SUMMARY] = summary_data(summary)
    await ledger.set_data(names_of(new)[1], data, user_id=user)


async def _delete(ledger: MemoryLedger, key: Mapping[str, Any]) -> None:
    user, session = names_of(key)
    names = [session]
    if key.get("subpath") is None:
        names += [row.session_id async for row in agents_of(ledger, key)]
    for name in reversed(names):  # the session last, so that a repeated call finds what is left
        await end_session(ledger, name, user_id=user)
