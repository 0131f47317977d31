"""Sessions of another SDK in a ledger: the store that opens it, the list of them, a moment of one, its end.

Source: adapters AD-2, AD-9, AD-10, AD-13.
"""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias

from ledger.adapters.any_loop_ledger import AnyLoopLedger
from ledger.adapters.opened_ledger import OpenedLedger, repeated
from ledger.application.reading.session_reads import PAGE_SESSIONS
from ledger.errors import InvalidInput
from ledger.events.clock import SystemClock
from ledger.memory import MemoryLedger
from ledger.ports.session_index import IndexedSession
from ledger.results import When
from projections.memory_config import config as memory_config

#: Every item of the SDK stays as it is, and nothing is compacted.
UNCHANGED: Final = memory_config.load({"profile": "none"})

#: What becomes of a session that the SDK deletes: it ends, or stays.
OnDelete: TypeAlias = Literal["end", "refuse"]

_clock: Final = SystemClock()


class SdkSessionStore:
    """A store of another SDK whose sessions are sessions of a ledger: one that it opens, or was given.

    Given nothing, it opens the embedded server or the database that the environment names; given a URL, that
    database. Then it may be used from any event loop and thread, and `close` ends it. Given an open *ledger*, it uses
    that, on the event loop of the ledger. With *on_delete* ``"refuse"`` it raises instead of ending a session.
    """

    #: What errors call it.
    _what: ClassVar[str]

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
        self._opened = OpenedLedger(database_url, namespace, ledger=ledger, what=self._what, **opening)

    @property
    def ledger(self) -> AnyLoopLedger:
        """The ledger that the sessions are in, from any event loop."""
        return AnyLoopLedger(self._opened)

    async def close(self) -> None:
        """Close the ledger that this opened; later calls raise `Unavailable`."""
        await self._opened.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    def _check_deletes(self, *, field: str) -> None:
        """Raise `InvalidInput` if this was opened to refuse deletions."""
        check_deletes(self._on_delete, self._what, field=field)


async def list_all_sessions(ledger: MemoryLedger, **only: Any) -> AsyncIterator[IndexedSession]:
    """Yield all sessions that `MemoryLedger.list_sessions` lists page by page, newest first; *only* are its filters."""
    after: Any = None
    while True:
        page = await ledger.list_sessions(**only, after=after, limit=PAGE_SESSIONS)
        for row in page:
            yield row
        if len(page) < PAGE_SESSIONS:
            return
        after = page[-1].updated_at, page[-1].stream_id


def past_of(version: int | None, at: datetime | str | None) -> When:
    """Return the version or the moment that was given.

    Raises:
        InvalidInput: not one of them was given.
    """
    if (version is None) == (at is None):
        raise InvalidInput("bad_version", "give a version or a moment", field="version")
    return {"version": version} if at is None else {"at": at}


def check_on_delete(on_delete: OnDelete) -> OnDelete:
    """Return *on_delete*.

    Raises:
        InvalidInput: it is unknown.
    """
    if on_delete not in {"end", "refuse"}:
        raise InvalidInput("bad_value", "must be end or refuse", field="on_delete")
    return on_delete


def check_deletes(on_delete: OnDelete, what: str, *, field: str) -> None:
    """Raise `InvalidInput` if the adapter, which is *what*, was opened to refuse deletions."""
    if on_delete == "refuse":
        raise InvalidInput("not_permitted", f"must stay: {what} was opened with on_delete='refuse'", field=field)


async def end_session(ledger: MemoryLedger, session_id: str, *, user_id: str | None = None) -> None:
    """End the life of a session once, though an answer be lost: another program may have begun the next one."""
    key = _clock.ulid()
    ending = repeated(lambda own: own.clear_session(session_id, end=True, user_id=user_id, idempotency_key=key))
    await ending(ledger)
