"""Tasks that write to one session at the same time: entries go together, other changes are alone."""

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from ledger.application.handle import NamespaceHandle
from ledger.application.services import Services
from ledger.errors import DuplicateEntry, EntryCovered, EntryNotFound, Unavailable
from ledger.events import RecordedEvent
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.history.snapshot_format import SnapshotFormat
from ledger.history.snapshots import SESSIONS
from ledger.history.state_loading import States
from ledger.memory import MemoryLedger
from ledger.ports import Appended, AppendRequest, Store
from ledger.results import AddedEntry
from ledger.session.evolve import SESSION
from ledger.session.state import SessionState
from ledger.stores.decorators import EventStoreDecorator
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.postgres import group_commit
from tests.application.conftest import SMALL
from tests.support.grouped_store import Grouped, grouped_store
from tests.support.whole_log import assert_whole

PLAIN = {"profile": "none", "tokenizer": "approximate"}


async def talk_at_once(ledger: MemoryLedger, count: int) -> list[AddedEntry]:
    """Add entries, each in a task of its own, started in order."""
    return await asyncio.gather(*(ledger.add_user_message("s", f"message {number}") for number in range(count)))


def opened(seed: int, config: dict[str, Any]) -> tuple[Services, Grouped]:
    store, events = grouped_store(random.Random(seed))
    return Services(store, config=config), events


async def test_tasks_that_add_to_one_session_share_commits(seed: int) -> None:
    services, events = opened(seed, PLAIN)
    ledger = MemoryLedger(NamespaceHandle(services, "n"))
    await ledger.add_user_message("s", "first")
    events.batches.clear()
    await talk_at_once(ledger, 16)
    assert events.batches == [1, 15]


async def in_order(seed: int) -> bool:
    ledger = MemoryLedger(NamespaceHandle(opened(seed, PLAIN)[0], "n"))
    await ledger.add_user_message("s", "first")
    added = await talk_at_once(ledger, 16)
    return [entry.version for entry in added] == list(range(3, 19))


async def test_entries_have_the_order_in_which_their_tasks_began(seed: int) -> None:
    assert all([await in_order(seed + number) for number in range(20)])


async def test_two_batches_of_one_stream_at_once_are_noticed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    monkeypatch.setattr(group_commit, "_streams_of", lambda request: set())
    assert not all([await in_order(seed + number) for number in range(20)])


async def test_an_id_given_twice_at_the_same_time_is_stored_once(store: Store) -> None:
    async with MemoryLedger.open(namespace="twice", store=store) as ledger:
        await ledger.add_user_message("s", "first")
        same = await asyncio.gather(*(ledger.add_user_message("s", "hello", entry_id="e-1") for _ in range(8)))
        assert len({entry.hash for entry in same}) == 1
        assert sorted(entry.known for entry in same) == [False, *[True] * 7]
        other = await asyncio.gather(
            *(ledger.add_user_message("s", text, entry_id="e-2") for text in ("one", "two", "one")),
            return_exceptions=True,
        )
        assert isinstance(other[1], DuplicateEntry)
        assert [entry.entry_id for entry in await ledger.get_active_entries("s")][1:] == ["e-1", "e-2"]


async def test_a_compaction_that_eight_entries_make_due_is_requested_once(seed: int) -> None:
    ledger = MemoryLedger(NamespaceHandle(opened(seed, SMALL)[0], "n"))
    await ledger.add_entries("s", [{"role": "user", "content": f"early {number}"} for number in range(4)])
    await talk_at_once(ledger, 8)
    await ledger.settle()
    types = [event.payload.type for event in await ledger.get_events("s")]
    assert types.count("compaction.requested") == types.count("compaction.completed") <= 2
    assert len(await ledger.get_active_entries("s")) <= 5


class Writers:
    """Tasks that change one session at random; each knows what was acknowledged."""

    def __init__(self, ledger: MemoryLedger, chance: random.Random) -> None:
        self.ledger = ledger
        self.chance = chance
        self.acknowledged: list[tuple[int, str]] = []
        self._number = 0

    async def work(self, steps: int) -> None:
        """Do *steps* changes, one after the other; the versions of the answers ascend."""
        before = 0
        for _ in range(steps):
            change = self.chance.choices(
                (self.add, self.cancel, self.repeat, self.edit, self.read, self.clear), (20, 2, 3, 2, 2, 1)
            )[0]
            version = await change()
            assert version == 0 or version > before
            before = max(before, version)

    def _text(self) -> str:
        self._number += 1
        return f"text {self._number}"

    async def add(self) -> int:
        text, own = self._text(), self.chance.random() < 0.3
        fields = {"entry_id": f"own-{self._number}"} if own else {}
        if self.chance.random() < 0.1:
            await self.ledger.add_tool_call("s", "look", {"n": self._number}, tool_call_id=text)
            added = await self.ledger.add_tool_result("s", "look", text, tool_call_id=text, **fields)
        else:
            added = await self.ledger.add_user_message("s", text, **fields)
        self.acknowledged.append((added.version, text))
        return added.version

    async def cancel(self) -> int:
        """Add in a task that is cancelled at some moment: the entry is stored once, or not at all."""
        task = asyncio.create_task(self.ledger.add_user_message("s", f"cancelled {self._text()}"))
        for _ in range(self.chance.randrange(8)):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return 0

    async def repeat(self) -> int:
        """Send a request twice at once."""
        text = self._text()
        first, again = await asyncio.gather(
            *(self.ledger.add_user_message("s", text, idempotency_key=f"key-{text[5:]}") for _ in range(2))
        )
        assert first == again
        self.acknowledged.append((first.version, text))
        return first.version

    async def edit(self) -> int:
        try:
            entry = self.chance.choice(await self.ledger.get_active_entries("s") or [None])
            if entry is None or entry.kind != "message":
                return 0
            if self.chance.random() < 0.5:
                return await self.ledger.remove_entry("s", entry.entry_id)
            return await self.ledger.edit_entry("s", entry.entry_id, f"edited {self._text()}")
        except (EntryNotFound, EntryCovered):
            return 0

    async def read(self) -> int:
        newest = max([version for version, _ in self.acknowledged], default=0)
        assert (await self.ledger.get_state("s")).version >= newest
        return 0

    async def clear(self) -> int:
        await self.ledger.clear_session("s", end=self.chance.random() < 0.5)
        return 0


async def check(services: Services, seed: int) -> None:
    """Let tasks write at once; assert that all they were told is in the log, and that the state is its replay."""
    writers = Writers(MemoryLedger(NamespaceHandle(services, "n")), random.Random(seed))
    await writers.add()
    async with asyncio.timeout(60):
        await asyncio.gather(*(writers.work(12) for _ in range(8)))
        await writers.ledger.settle()
        if isinstance(grouped := services.store.events, Grouped):
            await grouped.drain()  # nobody waits for the appends of cancelled tasks
    stream = Stream.of("n", "s")
    events = [decode(event) for event in await services.store.events.read_stream(stream)]
    added = {event.version: event.payload.content for event in events if event.payload.type == "entry.added"}
    assert len(set(added.values())) == len(added)
    for version, text in writers.acknowledged:
        assert added[version] == text
    cached = await services.states.known(stream, len(events))
    expected = SESSION.fold(events)
    if cached is not None:
        assert await services.states.whole(stream, cached) == expected
    assert await services.states.current(stream) == expected
    await assert_whole(services.store, "n", [])


@pytest.mark.parametrize("config", [PLAIN, SMALL], ids=["plain", "small"])
async def test_what_tasks_write_at_once_is_stored_once_and_folds_to_the_cached_state(
    seed: int, config: dict[str, Any]
) -> None:
    for number in range(5):
        await check(opened(seed + number, config)[0], seed + number)


class LosesAnAnswer(EventStoreDecorator):
    """Stores the third append, and answers nothing."""

    appends = 0

    async def append(self, request: AppendRequest) -> Appended:
        appended = await super().append(request)
        self.appends += 1
        if self.appends == 3:
            raise Unavailable("the answer was lost")
        return appended


async def add_after_a_lost_answer() -> list[str]:
    """Return the texts that the writing ledger then sees."""
    store = InMemoryStore()
    store.events = LosesAnAnswer(store.events)
    services = Services(store, config=PLAIN)
    ledger = MemoryLedger(NamespaceHandle(services, "n"))
    for text in ("one", "two"):
        await ledger.add_user_message("s", text)
    with pytest.raises(Unavailable):
        await ledger.add_user_message("s", "three")
    await ledger.add_user_message("s", "four")
    return [entry.content for entry in await ledger.get_active_entries("s")]


async def test_an_entry_whose_answer_was_lost_is_in_the_state() -> None:
    assert await add_after_a_lost_answer() == ["one", "two", "three", "four"]


async def test_a_queue_with_a_gap_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""

    def blind(
        states: States[SessionState], stream: Stream, events: Sequence[RecordedEvent], digest: bytes, **_: object
    ) -> bool:
        cached = states._cache.get(stream)
        if cached is not None:
            cached.queued.extend(events)
            cached.digest = digest
        return cached is not None

    monkeypatch.setattr(States, "queue", blind)
    assert await add_after_a_lost_answer() != ["one", "two", "three", "four"]


async def use_tools(seed: int, form: SnapshotFormat[SessionState]) -> list[AddedEntry]:
    """Return the results that a task gets from its tools while others talk."""
    services, _ = opened(seed, PLAIN)
    services.states._form = form
    ledger = MemoryLedger(NamespaceHandle(services, "n"))
    await ledger.add_user_message("s", "first")

    async def use() -> list[AddedEntry]:
        results = []
        for number in range(5):
            await ledger.add_tool_call("s", "look", {}, tool_call_id=f"call-{number}")
            results.append(await ledger.add_tool_result("s", "look", "found", tool_call_id=f"call-{number}"))
        return results

    results, _ = await asyncio.gather(use(), talk_at_once(ledger, 16))
    return results


async def test_a_result_belongs_to_its_call_while_other_tasks_add(seed: int) -> None:
    assert not any(result.orphan for result in await use_tools(seed, SESSIONS))


async def test_a_queue_of_tool_calls_is_noticed(seed: int) -> None:
    """Negative control: a result is decided on a state without its call."""
    results = await use_tools(seed, replace(SESSIONS, may_wait=lambda state, events: True))
    assert any(result.orphan for result in results)
