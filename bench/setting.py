"""The start of every workload: a database with both contenders, and the same texts for both."""

import itertools
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID, uuid5

import msgspec

from bench.plain import PlainTable
from ledger import MemoryLedger
from ledger.application.services import Services
from ledger.clock import SystemClock
from ledger.event_encoding import new_event
from ledger.events import EntryAdded, NewEvent
from ledger.ids import Stream, namespace_id
from ledger.importers import documents, read
from ledger.ports import AppendRequest, Store, StreamWrite
from ledger.session.drafts import EntryDraft
from ledger.stores.postgres import PostgresStore, Target
from ledger.tokenizers import entry_event

EXAMPLE = Path(__file__).parents[1] / "examples" / "coding_agent.jsonl"
TOKENIZER = "approximate"  # token counting is not compared


class Setting:
    """A database, and an endless supply of entries from the example transcript."""

    def __init__(self, url: str) -> None:
        self.url = url
        conversation = read(documents(EXAMPLE.read_bytes()), name="bench")[0]
        texts = [draft.content for batch in conversation.batches for draft in batch if draft.content]
        self._texts = itertools.cycle(texts)
        self._clock = SystemClock()

    def draft(self) -> EntryDraft:
        """Return the next entry."""
        return EntryDraft(kind="message", role="user", content=next(self._texts))

    def event(self) -> EntryAdded:
        """Return the next entry as an event."""
        clock = self._clock
        return entry_event(self.draft(), write_id=clock.ulid(), entry_id=clock.ulid(), tokenizer=TOKENIZER)

    def new_event(self) -> NewEvent:
        """Return the next entry as an event for the store."""
        return new_event(self.event(), self._clock, "")

    def row(self) -> bytes:
        """Return the next entry as the peer stores it: the same text, and as little else as possible."""
        draft = self.draft()
        return msgspec.json.encode({"id": secrets.token_hex(13), "role": draft.role, "content": draft.content})

    @asynccontextmanager
    async def store(self, *, group_commit: bool = True) -> AsyncIterator[PostgresStore]:
        """Open our store."""
        store = await PostgresStore.open(Target(self.url, embedded=True), group_commit=group_commit)
        try:
            yield store
        finally:
            await store.close()

    @asynccontextmanager
    async def plain(self) -> AsyncIterator[PlainTable]:
        """Open the peer on an empty table."""
        table = await PlainTable.open(self.url)
        try:
            yield table
        finally:
            await table.close()


def ledger_over(store: Store, namespace: str) -> MemoryLedger:
    """Return a ledger over *store* that compacts nothing."""
    services = Services(store, config={"profile": "none", "tokenizer": TOKENIZER})
    return MemoryLedger(services.handle(namespace))


def fresh_namespace() -> str:
    """Return a new name."""
    return f"bench-{secrets.token_hex(6)}"


def request(stream: Stream, events: list[NewEvent]) -> AppendRequest:
    """Return a request to append *events* to one stream at any version."""
    return AppendRequest(writes=(StreamWrite(stream=stream, events=tuple(events)),))


def plain_session(name: str) -> UUID:
    """Return the peer's id of a session."""
    return uuid5(namespace_id("plain"), name)


async def fill(setting: Setting, ledger: MemoryLedger, session: str, entries: int) -> None:
    """Fill *session* up to a length, in batches."""
    while entries:
        count = min(entries, 1_000)
        await ledger.add_entries(session, [setting.draft() for _ in range(count)])
        entries -= count
