"""Random histories of one namespace, written as any client may: refusals and retries belong to them."""

import random
from datetime import UTC, datetime

from msgspec.structs import replace

from ledger.errors import Conflict, InvalidInput, NotFound
from ledger.events import NewEvent, to_microseconds
from ledger.events.ids import Stream
from ledger.memory import MemoryLedger
from ledger.ports import AppendRequest, Store
from tests.support.store_requests import a_request, a_write, an_event

STEPS = 12
NAMES = ("plain", "Ünïcødé 日本", "x" * 255, "a b", "'; DROP TABLE events; --", "%s{}")
FORKS = ("fork 1", "fork 2", "fork 3")
MOMENTS = (
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
    datetime(9999, 12, 31, 0, 0, 0, 1, UTC),
)
TEXTS = ("hello", "", "\n\t\\\"'", "🜁" * 50, "x" * 5_000, "null")


class Author:
    """Writes to *namespace* what the *dice* say."""

    def __init__(self, store: Store, namespace: str, dice: random.Random) -> None:
        self._store, self._namespace, self._dice = store, namespace, dice
        self._sessions = dice.sample(NAMES, 3)
        self._sent = [a_request(a_write(self._stream(), self._event()), key="first")]

    async def write(self) -> None:
        """Take a number of steps."""
        async with MemoryLedger.open(namespace=self._namespace, store=self._store, actor="") as ledger:
            for _ in range(self._dice.randint(1, STEPS)):
                try:
                    if self._dice.random() < 0.3:
                        await self._converse(ledger)
                    else:
                        await self._append()
                except (Conflict, NotFound, InvalidInput):
                    continue

    async def _append(self) -> None:
        match self._dice.randint(1, 4):
            case 1:
                await self._send(self._request())
            case 2:
                await self._send(self._dice.choice(self._sent))
            case 3:
                streams = {self._stream() for _ in range(3)}
                await self._send(a_request(*(a_write(stream, *self._events()) for stream in streams)))
            case 4:
                await self._store.events.append_all([self._request() for _ in range(3)])

    async def _converse(self, ledger: MemoryLedger) -> None:
        session, entry_id = (
            self._dice.choice(("conversation 1", "conversation 2", *FORKS)),
            str(self._dice.randint(1, 3)),
        )
        match self._dice.randint(1, 8):
            case 1 | 2:
                await ledger.add_user_message(session, self._dice.choice(TEXTS), entry_id=entry_id)
            case 3:
                await ledger.add_tool_call(session, "search", {"q": self._dice.choice(TEXTS)})
            case 4:
                await ledger.edit_entry(session, entry_id, self._dice.choice(TEXTS))
            case 5:
                await ledger.remove_entry(session, entry_id)
            case 6:
                await ledger.clear_session(session, end=self._dice.random() < 0.5)
            case 7 | 8:
                parent = self._dice.choice((session, *FORKS))
                version = self._dice.choice((None, 1, 2, 4))
                await ledger.fork(parent, self._dice.choice(FORKS), version=version)

    async def _send(self, request: AppendRequest) -> None:
        if request.request_id is not None:  # without a key it would not be the same request again
            self._sent.append(request)
        await self._store.events.append(request)

    def _request(self) -> AppendRequest:
        key = self._dice.choice((None, self._dice.randbytes(4).hex()))
        expected = self._dice.choice((None, None, 0, 1, 3))
        return a_request(a_write(self._stream(), *self._events(), expected=expected), key=key)

    def _stream(self) -> Stream:
        return Stream.of(self._namespace, self._dice.choice(self._sessions), self._dice.choice(("", "user-1")))

    def _events(self) -> list[NewEvent]:
        return [self._event() for _ in range(self._dice.choice((1, 1, 2, 5)))]

    def _event(self) -> NewEvent:
        """Return an event with whatever its columns may hold; its type is one that this release does not know."""
        return replace(
            an_event(self._dice.choice(TEXTS), item_id=self._dice.choice((None, "item", "ß" * 200))),
            type=self._dice.choice(("note.made", "entry.taken", "a")),
            schema_version=self._dice.choice((1, 2, 32_767)),
            codec=self._dice.choice((1, 2, 7)),
            occurred_us=to_microseconds(self._dice.choice(MOMENTS)),
            actor=self._dice.choice(("", *NAMES)),
        )
