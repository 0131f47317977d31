"""The start of every workload: a database of its own with both contenders, and the same texts for both."""

import itertools
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid5

import msgspec

from bench.plain import PlainTable
from ledger import MemoryLedger
from ledger.application.handle import NamespaceHandle
from ledger.application.services import Services
from ledger.events import EntryAdded, NewEvent
from ledger.events.clock import SystemClock
from ledger.events.ids import Stream, namespace_id
from ledger.formats.importers import documents, read
from ledger.llm.tokenizers import entry_event
from ledger.ports import AppendRequest, Store, StreamWrite
from ledger.ports.event_encoding import new_event
from ledger.session.entry_drafts import EntryDraft
from ledger.stores.postgres import PostgresStore, Target

EXAMPLE: Final = Path(__file__).parents[1] / "examples" / "coding_agent.jsonl"
TOKENIZER: Final = "approximate"  # token counting is not compared
#: With it, one process uses the snapshots of another.
_KEY: Final = b"the key of the benchmarks"
#: Compacts nothing and shows everything.
FULL: Final[dict[str, Any]] = {"profile": "none", "tokenizer": TOKENIZER}
SHOWN: Final = 21
#: Compacts nothing and shows the newest entries.
BOUNDED: Final[dict[str, Any]] = {**FULL, "window": {"type": "rolling", "size": SHOWN}}


class Setting:
    """A database, and an endless supply of entries from the example transcript.

    *url* is for the peer, which owns its table; *app_url* is the login of the ledger. With *quick* all sizes and
    numbers of rounds are small: figures mean nothing then.
    """

    def __init__(self, url: str, app_url: str, *, quick: bool = False) -> None:
        self.url = url
        self.app_url = app_url
        self.quick = quick
        conversation = read(documents(EXAMPLE.read_bytes()), name="bench")[0]
        texts = [draft.content for batch in conversation.batches for draft in batch if draft.content]
        self._texts = itertools.cycle(texts)
        self._clock = SystemClock()

    def size(self, full: int) -> int:
        """Return how many entries or sessions stand for *full*."""
        return full if not self.quick or full <= 100 else max(100, full // 20)

    def times(self, full: int) -> int:
        """Return how often to repeat what is repeated *full* times."""
        return max(1, full // 10) if self.quick else full

    def text(self) -> str:
        """Return the next text."""
        return next(self._texts)

    def draft(self, entry_id: str | None = None) -> EntryDraft:
        """Return the next entry, with the caller's own id if given."""
        return EntryDraft(kind="message", role="user", content=self.text(), entry_id=entry_id)

    def drafts(self, count: int) -> list[EntryDraft]:
        """Return the next entries."""
        return [self.draft() for _ in range(count)]

    def event(self) -> EntryAdded:
        """Return the next entry as an event."""
        clock = self._clock
        return entry_event(self.draft(), write_id=clock.ulid(), entry_id=clock.ulid(), tokenizer=TOKENIZER)

    def new_event(self) -> NewEvent:
        """Return the next entry as an event for the store."""
        return new_event(self.event(), self._clock, "")

    def row(self) -> bytes:
        """Return the next entry as the peer stores it: the same text, and as little else as possible."""
        return msgspec.json.encode({"id": secrets.token_hex(13), "role": "user", "content": self.text()})

    @asynccontextmanager
    async def store(self, *, group_commit: bool = True) -> AsyncIterator[Store]:
        """Open our store."""
        store = await PostgresStore.open(Target(self.app_url), group_commit=group_commit, key=_KEY)
        try:
            yield store
        finally:
            await store.close()

    @asynccontextmanager
    async def plain(self, *, connections: int = 16) -> AsyncIterator[PlainTable]:
        """Open the peer."""
        table = await PlainTable.open(self.url, connections=connections)
        try:
            yield table
        finally:
            await table.close()


def ledger_over(store: Store, namespace: str, config: dict[str, Any] = FULL) -> MemoryLedger:
    """Return a ledger over *store*, with an empty cache, whose new sessions have *config*."""
    return MemoryLedger(NamespaceHandle(Services(store, config=config), namespace))


def fresh_namespace() -> str:
    """Return a new name."""
    return f"bench-{secrets.token_hex(6)}"


def request(stream: Stream, events: list[NewEvent]) -> AppendRequest:
    """Return a request to append *events* to one stream at any version."""
    return AppendRequest(writes=(StreamWrite(stream=stream, events=tuple(events)),))


def plain_session(name: str) -> UUID:
    """Return the peer's id of a session."""
    return uuid5(namespace_id("plain"), name)


def plain_rows(setting: Setting, name: str, count: int, *, first: int = 0) -> list[tuple[UUID, int, bytes]]:
    """Return *count* rows of a session of the peer."""
    session = plain_session(name)
    return [(session, seq, setting.row()) for seq in range(first, first + count)]
