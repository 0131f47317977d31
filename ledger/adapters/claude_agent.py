"""Sessions of the Claude Agent SDK in the ledger: a `SessionStore` for its option ``session_store``.

    store = LedgerSessionStore()
    async for message in query(prompt="Fix the test", options=ClaudeAgentOptions(session_store=store)):
        ...

A project is a user, a session is a session, and each transcript of an agent is a session ``ID#PATH``.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from importlib import import_module
from typing import Any, Final, Self, TypeVar

from ledger.adapters.any_loop_ledger import AnyLoopLedger
from ledger.adapters.claude_agent_lines import draft_of, line_of
from ledger.adapters.deleting import OnDelete, check_deletes, check_on_delete
from ledger.adapters.names import SEPARATOR, key_of, name_of
from ledger.adapters.opening import OpenedLedger
from ledger.application.entries_with_data import add_entries_with_data
from ledger.application.reading import PAGE_SESSIONS
from ledger.clock import SystemClock
from ledger.errors import InvalidInput, SessionNotFound
from ledger.events import JsonObject
from ledger.memory import MemoryLedger
from ledger.ports.session_index import IndexedSession
from ledger.results import When
from ledger.strict_json import check_value
from projections import config as memory_config

T = TypeVar("T")

#: Keys of the session data.
_SUMMARY: Final = "claude_summary"
_KEYS: Final = "claude_key"
_clock: Final = SystemClock()
_AT_ONCE: Final = 500
#: Every line stays as it is, and nothing is compacted.
_CONFIG: Final = memory_config.load({"profile": "none"})


class LedgerSessionStore:
    """A `SessionStore` whose transcripts are sessions of the ledger; see the SDK for what each method promises.

    Given nothing, it opens the embedded server or the database that the environment names; given a URL, that
    database. Then it may be used from any event loop and thread, and `close` ends it. Given an open *ledger*, it uses
    that, on the event loop of the ledger. Nothing is erased: `delete` ends a session, whose history stays. With
    *on_delete* ``"refuse"`` it raises instead.
    """

    def __init__(
        self,
        database_url: str | None = None,
        *,
        namespace: str | None = None,
        ledger: MemoryLedger | None = None,
        on_delete: OnDelete = "end",
        **opening: Any,
    ) -> None:
        """Remember what to open at the first use; other arguments are those of `MemoryLedger.open`.

        Raises:
            InvalidInput: *on_delete* is unknown, or a ledger was given with what would open another.
        """
        self._on_delete = check_on_delete(on_delete)
        self._opened = OpenedLedger(database_url, namespace, ledger=ledger, what="the session store", **opening)
        self._when: When = {}

    async def append(self, key: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> None:
        """Add transcript lines; one whose ``uuid`` is stored already is left out."""
        self._check_writable()
        for start in range(0, len(entries), _AT_ONCE):
            lines = entries[start : start + _AT_ONCE]
            once = None if all(line.get("uuid") for line in lines) else _clock.ulid()
            await self._opened.run_once(partial(_append, key=key, lines=lines, idempotency_key=once))

    async def load(self, key: Mapping[str, Any]) -> list[JsonObject] | None:
        """Return all lines of a transcript, oldest first; None if there is none."""
        return await self._opened.run(partial(_load, key=key, when=self._when))

    async def list_sessions(self, project_key: str) -> list[JsonObject]:
        """Return id and time of change, in milliseconds since 1970, of each session of a project."""
        return await self._opened.run(partial(_list_sessions, project_key=project_key))

    async def list_session_summaries(self, project_key: str) -> list[JsonObject]:
        """Return what the SDK's `fold_session_summary` made of each session of a project."""
        return await self._opened.run(partial(_list_summaries, project_key=project_key))

    async def delete(self, key: Mapping[str, Any]) -> None:
        """End a session and the transcripts of its agents, or with a ``subpath`` that transcript only.

        Raises:
            InvalidInput: the store refuses it.
        """
        self._check_writable()
        check_deletes(self._on_delete, "the store", field="key")
        await self._opened.run_once(partial(_delete, key=key))

    async def list_subkeys(self, key: Mapping[str, Any]) -> list[str]:
        """Return the ``subpath`` of each transcript of an agent of a session."""
        return await self._opened.run(partial(_list_subkeys, key=key))

    @property
    def ledger(self) -> AnyLoopLedger:
        """The ledger that the sessions are in, from any event loop."""
        return AnyLoopLedger(self._opened)

    async def version_of(self, key: Mapping[str, Any]) -> int:
        """Return the version of a transcript; 0 if there is none."""
        return await self._opened.run(partial(_version, key=key))

    def at(self, *, version: int | None = None, at: datetime | str | None = None) -> "LedgerSessionStore":
        """Return a store that loads transcripts as they were at a version or at a moment, and writes nothing.

        Raises:
            InvalidInput: not one of them was given.
        """
        if (version is None) == (at is None):
            raise InvalidInput("bad_version", "give a version or a moment", field="version")
        past = LedgerSessionStore.__new__(LedgerSessionStore)
        past.__dict__.update(self.__dict__)
        past._opened = self._opened.again()  # noqa: SLF001 - its own
        past._when = {"version": version} if at is None else {"at": at}  # noqa: SLF001 - its own
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
        if self._when:
            raise InvalidInput("read_only", "is of the past, which can only be read; fork it", field="store")

    async def close(self) -> None:
        """Close the ledger that this store opened; later calls raise `Unavailable`."""
        await self._opened.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()


async def _append(
    ledger: MemoryLedger, key: Mapping[str, Any], lines: Sequence[Mapping[str, Any]], idempotency_key: str | None
) -> None:
    user, session = _names(key)
    fold = None if key.get("subpath") is not None else import_module("claude_agent_sdk").fold_session_summary

    def data_after(data: JsonObject, new: Sequence[int]) -> JsonObject:
        changed: JsonObject = {} if _KEYS in data else {_KEYS: _readable_key(key)}
        if fold is not None:
            before = _read_summary(data.get(_SUMMARY))
            previous = None if before is None else {"session_id": key["session_id"], "mtime": 0, "data": before}
            changed[_SUMMARY] = _summary(fold(previous, key, [lines[number] for number in new])["data"])
        return changed

    await add_entries_with_data(
        ledger._handle,  # noqa: SLF001 - adapters are part of the ledger
        session,
        [draft_of(line) for line in lines],
        data_after,
        user_id=user,
        config=_CONFIG,
        idempotency_key=idempotency_key,
    )


async def _load(ledger: MemoryLedger, key: Mapping[str, Any], when: When) -> list[JsonObject] | None:
    user, session = _names(key)
    names: When = {**when, "user_id": user}
    try:
        state = await ledger.get_state(session, **names)
    except SessionNotFound:
        return None
    if not state.opened:
        return None
    return [line_of(entry) for entry in await ledger.get_transcript(session, **names)]


async def _version(ledger: MemoryLedger, key: Mapping[str, Any]) -> int:
    user, session = _names(key)
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
    user, session = _names(key)
    await ledger.fork(session, _names(new)[1], version=version, user_id=user, idempotency_key=idempotency_key)
    await ledger.set_data(_names(new)[1], {_KEYS: _readable_key(new)}, user_id=user)


async def _list_sessions(ledger: MemoryLedger, project_key: str) -> list[JsonObject]:
    return [
        {"session_id": await _session_key(ledger, row), "mtime": _mtime(row)}
        async for row in _rows(ledger, project_key)
        if SEPARATOR not in row.session_id
    ]


async def _list_summaries(ledger: MemoryLedger, project_key: str) -> list[JsonObject]:
    found = []
    async for row in _rows(ledger, project_key):
        if SEPARATOR in row.session_id:
            continue
        summary = _read_summary((await ledger.get_data(row.session_id, user_id=row.user_id)).get(_SUMMARY))
        if summary is not None:
            session_id = await _session_key(ledger, row)
            found.append({"session_id": session_id, "mtime": _mtime(row), "data": summary})
    return found


async def _delete(ledger: MemoryLedger, key: Mapping[str, Any]) -> None:
    user, session = _names(key)
    names = [session]
    if key.get("subpath") is None:
        names += [row.session_id async for row in _agents(ledger, key)]
    for name in reversed(names):  # the session last, so that a repeated call finds what is left
        await ledger.clear_session(name, end=True, user_id=user)


async def _list_subkeys(ledger: MemoryLedger, key: Mapping[str, Any]) -> list[str]:
    found = []
    async for row in _agents(ledger, key):
        subpath = key_of(row.session_id.partition(SEPARATOR)[2])
        if subpath is None:
            subpath = (await ledger.get_data(row.session_id, user_id=row.user_id))[_KEYS]["subpath"]
        found.append(str(subpath))
    return found


def _agents(ledger: MemoryLedger, key: Mapping[str, Any]) -> AsyncIterator[IndexedSession]:
    return _rows(ledger, key["project_key"], id_prefix=f"{_name(key['session_id'])}{SEPARATOR}")


async def _rows(ledger: MemoryLedger, project_key: str, id_prefix: str | None = None) -> AsyncIterator[IndexedSession]:
    """Yield the live sessions of a project, newest first."""
    after = None
    while True:
        page = await ledger.list_sessions(
            user_id=_name(project_key), status="live", id_prefix=id_prefix, after=after, limit=PAGE_SESSIONS
        )
        for row in page:
            yield row
        if len(page) < PAGE_SESSIONS:
            return
        after = page[-1].updated_at, page[-1].stream_id


async def _session_key(ledger: MemoryLedger, row: IndexedSession) -> str:
    key = key_of(row.session_id)
    if key is None:
        key = (await ledger.get_data(row.session_id, user_id=row.user_id))[_KEYS]["session_id"]
    return key


def _summary(folded: JsonObject) -> Any:
    """Return what the SDK folded as session data: its JSON as ASCII text if it has what no data may have."""
    try:
        check_value(folded, field="summary")
    except InvalidInput:
        return json.dumps(folded)
    return folded


def _read_summary(stored: Any) -> Any:
    return json.loads(stored) if isinstance(stored, str) else stored


def _mtime(row: IndexedSession) -> int:
    return int(row.updated_at.timestamp() * 1_000)


def _names(key: Mapping[str, Any]) -> tuple[str, str]:
    """Return user and session of a key of the SDK.

    Raises:
        InvalidInput: a part is no text, or the ``subpath`` is empty.
    """
    for name in ("project_key", "session_id"):
        if not isinstance(key.get(name), str):
            raise InvalidInput("wrong_type", "must be text", field=f"key.{name}")
    session, subpath = _name(key["session_id"]), key.get("subpath")
    if subpath is None:
        return _name(key["project_key"]), session
    if not isinstance(subpath, str) or not subpath:
        raise InvalidInput("wrong_type", "must be text; leave it out for the session itself", field="key.subpath")
    return _name(key["project_key"]), f"{session}{SEPARATOR}{_name(subpath)}"


def _name(part: str) -> str:
    return name_of(part, separators=SEPARATOR)


def _readable_key(key: Mapping[str, Any]) -> JsonObject:
    return {name: key[name] for name in ("project_key", "session_id", "subpath") if key.get(name) is not None}
