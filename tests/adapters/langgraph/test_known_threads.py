"""What a saver knows of a thread from memory is what the log has. Source: adapters LG-13."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from typing import Any
from unittest.mock import AsyncMock

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import CheckpointTuple, empty_checkpoint
from langgraph.checkpoint.base.id import uuid6

from ledger.adapters.langgraph import LedgerSaver, checkpoint_reads, known_threads, memory_cache
from ledger.adapters.langgraph.known_threads import KnownThreads, NewestCheckpoint, ThreadHead
from ledger.adapters.langgraph.memory_cache import MemoryCache
from ledger.adapters.langgraph.task_writes import TaskWrites
from ledger.errors import DatabaseUnavailable
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.support.ledgers import ledger_over

NAMESPACES = ("", "sub")


def config_of(namespace: str, checkpoint_id: str | None = None) -> Any:
    names = {"thread_id": "t", "checkpoint_ns": namespace}
    return {"configurable": names if checkpoint_id is None else {**names, "checkpoint_id": checkpoint_id}}


class Thread:
    """A thread that several savers write to as graphs do: what tasks write may come before its checkpoint."""

    def __init__(self, ledger: MemoryLedger, dice: random.Random) -> None:
        self.ledger = ledger
        self.savers = [LedgerSaver(ledger) for _ in range(2)]
        self.dice = dice
        self.known: list[tuple[str, str]] = []
        self.on_its_way: list[tuple[LedgerSaver, str, str]] = []

    async def step(self) -> None:
        """Do one thing that a program may do."""
        steps = [self.put, self.write, self.write, self.announce, self.write_ahead, self.arrive, self.read]
        rare = [self.put_again, self.remove, self.delete] if self.dice.random() < 0.1 else []
        await self.dice.choice([*steps, *rare])()

    def _saver(self) -> LedgerSaver:
        return self.savers[self.dice.random() < 0.2]

    async def _put(self, saver: LedgerSaver, namespace: str, checkpoint_id: str) -> None:
        checkpoint = empty_checkpoint()
        version = saver.get_next_version(None, None)
        said = [HumanMessage(f"text {at}", id=str(at)) for at in range(self.dice.randrange(1, 20))]
        checkpoint |= {"id": checkpoint_id, "channel_values": {"messages": said}}
        checkpoint["channel_versions"] = {"messages": version}
        parent = next((known for ns, known in reversed(self.known) if ns == namespace), None)
        metadata: Any = {"source": "loop", "step": self.dice.randrange(9), "run_id": self.dice.choice("ab")}
        await saver.aput(config_of(namespace, parent), checkpoint, metadata, {"messages": version})
        self.known.append((namespace, checkpoint_id))

    async def put(self) -> None:
        await self._put(self._saver(), self.dice.choice(NAMESPACES), str(uuid6(clock_seq=-2)))

    async def announce(self) -> None:
        self.on_its_way.append((self._saver(), self.dice.choice(NAMESPACES), str(uuid6(clock_seq=-2))))

    async def arrive(self) -> None:
        if self.on_its_way:
            await self._put(*self.on_its_way.pop(0))

    async def put_again(self) -> None:
        if self.known:
            await self._put(self._saver(), *self.known[-1])

    async def _write(self, saver: LedgerSaver, namespace: str, checkpoint_id: str) -> None:
        value = self.dice.choice([1, "x" * 300, [HumanMessage("said")]])
        task = self.dice.choice(["task 1", "task 2"])
        await saver.aput_writes(config_of(namespace, checkpoint_id), [("messages", value)], task)

    async def write(self) -> None:
        if self.known:
            await self._write(self._saver(), *self.dice.choice(self.known[-3:]))

    async def write_ahead(self) -> None:
        if self.on_its_way:
            await self._write(*self.dice.choice(self.on_its_way))

    async def read(self) -> None:
        await self._saver().aget_tuple(config_of(self.dice.choice(NAMESPACES)))

    async def remove(self) -> None:
        await self._saver().adelete_for_runs(["a"])
        self.known.clear()  # no graph stores one again that was removed

    async def delete(self) -> None:
        await self._saver().adelete_thread("t")
        self.known.clear()

    async def agrees(self) -> bool:
        """Tell whether both savers read what one does that knows nothing."""
        asked = [config_of(namespace) for namespace in NAMESPACES]
        asked += [config_of(*self.known[-1])] if self.known else []
        for config in asked:
            wanted = await LedgerSaver(self.ledger).aget_tuple(config)
            if any([_shown(await saver.aget_tuple(config)) != _shown(wanted) for saver in self.savers]):
                return False
        return True


def _shown(found: CheckpointTuple | None) -> Any:
    return None if found is None else found._replace(pending_writes=sorted(found.pending_writes or (), key=repr))


async def _all_agree(seed: int, times: int) -> bool:
    for at in range(times):
        if not await _agree(seed + at):
            return False
    return True


async def _agree(seed: int) -> bool:
    thread = Thread(ledger_over(InMemoryStore()), random.Random(seed))
    for _ in range(120):
        await thread.step()
        if thread.dice.random() < 0.3 and not await thread.agrees():
            return False
    return await thread.agrees()


async def test_a_checkpoint_in_memory_is_that_of_the_log__LG_13(seed: int) -> None:
    assert await _all_agree(seed, 5)


@pytest.mark.parametrize("fault", ["others wrote", "ahead", "unsure"])
async def test_a_saver_that_relies_on_less_would_be_noticed(
    seed: int, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """Negative control."""
    if fault == "others wrote":
        of_version = KnownThreads.newest
        monkeypatch.setattr(
            KnownThreads,
            "newest",
            lambda self, session, _, namespace: of_version(self, session, self.head(session, "")[1], namespace),
        )
    elif fault == "ahead":
        add_writes = KnownThreads.add_writes

        def add_to_known(self: KnownThreads, session: str, namespace: str, checkpoint_id: str, each: Any) -> None:
            known = self.newest(session, each.version, namespace)
            if known is not None and known.checkpoint_id == checkpoint_id:
                add_writes(self, session, namespace, checkpoint_id, each)

        monkeypatch.setattr(KnownThreads, "add_writes", add_to_known)
    else:
        monkeypatch.setattr(known_threads._KnownThread, "doubted", lambda self: "")
    assert not await _all_agree(seed, 100)


@pytest.mark.parametrize("room", [600, 2_000, 4_000])
async def test_a_cache_that_forgets_at_any_time_changes_no_answer__LG_13(
    seed: int, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    monkeypatch.setattr(memory_cache, "MOST_BYTES", room)
    assert await _all_agree(seed, 5)


async def test_a_saver_that_takes_what_it_forgot_for_nothing_would_be_noticed(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control."""
    monkeypatch.setattr(memory_cache, "MOST_BYTES", 4_000)
    monkeypatch.setattr(KnownThreads, "_forgotten", lambda self, value: None)
    assert not await _all_agree(seed, 100)


async def _put(saver: LedgerSaver, at: int) -> None:
    checkpoint = {**empty_checkpoint(), "id": f"{at:036}"}
    await saver.aput(config_of(""), checkpoint, {"step": at}, {})  # type: ignore[arg-type]


async def _nothing() -> None:
    pass


def _around_the_next_keep(
    monkeypatch: pytest.MonkeyPatch, *, before: Callable[[], Awaitable[None]], after: Callable[[], Awaitable[None]]
) -> None:
    keep = MemoryLedger.keep

    async def kept(self: MemoryLedger, *args: Any, **options: Any) -> Any:
        monkeypatch.setattr(MemoryLedger, "keep", keep)
        await before()
        done = await keep(self, *args, **options)
        await after()
        return done

    monkeypatch.setattr(MemoryLedger, "keep", kept)


async def test_a_checkpoint_that_is_read_while_it_is_stored_has_what_its_tasks_wrote(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ledger = ledger_over(InMemoryStore())
    saver = LedgerSaver(ledger)
    await saver.aput_writes(config_of("", f"{2:036}"), [("x", "ahead of its checkpoint")], "task")
    is_stored, is_read = asyncio.Event(), asyncio.Event()
    look = checkpoint_reads.newest_version

    async def until_read() -> None:
        is_stored.set()
        await is_read.wait()

    async def looked(*args: Any) -> Any:
        monkeypatch.setattr(checkpoint_reads, "newest_version", look)
        state = await look(*args)
        putting.append(asyncio.create_task(_put(saver, 2)))
        await is_stored.wait()
        return state

    putting: list[asyncio.Task[None]] = []
    _around_the_next_keep(monkeypatch, before=_nothing, after=until_read)
    monkeypatch.setattr(checkpoint_reads, "newest_version", looked)
    await saver.aget_tuple(config_of(""))
    is_read.set()
    await putting[0]
    found = await saver.aget_tuple(config_of(""))
    assert found is not None
    assert found.pending_writes == [("task", "x", "ahead of its checkpoint")]
    assert found == await LedgerSaver(ledger).aget_tuple(config_of(""))


@pytest.mark.parametrize("reads_between", [False, True])
async def test_a_checkpoint_that_others_stored_just_before_an_older_one_stays_the_newest(
    monkeypatch: pytest.MonkeyPatch, reads_between: bool
) -> None:
    ledger = ledger_over(InMemoryStore())
    first, second = LedgerSaver(ledger), LedgerSaver(ledger)
    await _put(first, 1)

    async def overtake() -> None:
        await _put(first, 3)
        if reads_between:
            await second.aget_tuple(config_of(""))

    _around_the_next_keep(monkeypatch, before=overtake, after=_nothing)
    await _put(second, 2)
    wanted = await LedgerSaver(ledger).aget_tuple(config_of(""))
    assert wanted is not None
    assert wanted.checkpoint["id"] == f"{3:036}"
    assert await second.aget_tuple(config_of("")) == wanted


async def test_a_checkpoint_has_its_values_though_the_thread_was_deleted_just_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ledger = ledger_over(InMemoryStore())
    first, second = LedgerSaver(ledger), LedgerSaver(ledger)
    said = {"messages": [HumanMessage("once", id="1")], "note": "x" * 1_000}
    versions: Any = {"messages": "1", "note": "1"}
    checkpoint: Any = {**empty_checkpoint(), "channel_values": said, "channel_versions": versions}
    config = await first.aput(config_of(""), checkpoint, {}, versions)

    async def delete() -> None:
        await first.adelete_thread("t")

    _around_the_next_keep(monkeypatch, before=delete, after=_nothing)
    await second.aput(config, {**checkpoint, "id": str(uuid6(clock_seq=-2))}, {}, {})
    for saver in (second, LedgerSaver(ledger)):
        found = await saver.aget_tuple(config_of(""))
        assert found is not None
        assert found.checkpoint["channel_values"] == said


@pytest.mark.parametrize("lost", [1, 3])
async def test_what_a_task_wrote_is_read_though_the_answer_of_the_database_was_lost(
    monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    ledger = ledger_over(InMemoryStore())
    saver = LedgerSaver(ledger)
    await _put(saver, 1)
    answers = iter([False] * lost)
    keep = MemoryLedger.keep

    async def kept(self: MemoryLedger, *args: Any, **options: Any) -> Any:
        done = await keep(self, *args, **options)
        if not next(answers, True):
            raise DatabaseUnavailable("the connection is gone")
        return done

    monkeypatch.setattr(MemoryLedger, "keep", kept)
    if lost == 3:
        monkeypatch.setattr(MemoryLedger, "get_kept", AsyncMock(return_value=None))
    with contextlib.suppress(DatabaseUnavailable):
        await saver.aput_writes(config_of("", f"{2:036}"), [("x", "ahead of its checkpoint")], "task")
    monkeypatch.undo()
    await _put(saver, 2)
    found = await saver.aget_tuple(config_of(""))
    assert found is not None
    assert found.pending_writes == [("task", "x", "ahead of its checkpoint")]


async def test_a_reader_may_change_what_it_gets() -> None:
    ledger = ledger_over(InMemoryStore())
    thread = Thread(ledger, random.Random(1))
    await thread.put()
    namespace = thread.known[0][0]
    saver = thread.savers[0]
    wanted = await LedgerSaver(ledger).aget_tuple(config_of(namespace))
    for _ in range(3):
        found: Any = await saver.aget_tuple(config_of(namespace))
        assert found == wanted
        found.checkpoint["versions_seen"]["node"] = {"messages": "9"}
        found.metadata["source"] = "changed"
        found.checkpoint["channel_values"]["messages"].clear()


def _room_for(monkeypatch: pytest.MonkeyPatch, size: int) -> KnownThreads:
    monkeypatch.setattr(memory_cache, "MOST_BYTES", size)
    return KnownThreads(MemoryCache())


def test_what_is_known_of_threads_is_bounded_and_what_was_used_last_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    known = _room_for(monkeypatch, 20_000)
    for at in range(100):
        known.learn("t", 9, f"call {at}", NewestCheckpoint("1", {"x": "x" * 1_800}, 9, []))
        assert known.newest("t", 9, "call 0"), "it is used all the time"
    assert [at for at in range(100) if known.newest("t", 9, f"call {at}")] == [0, *range(92, 100)]
    known.learn("t", 9, "large", NewestCheckpoint("2", {"x": "x" * 20_000}, 9, []))
    assert known.newest("t", 9, "large") is None
    assert known.newest("t", 9, "call 99"), "what cannot be kept displaces nothing"


def test_the_heads_of_finished_calls_of_subgraphs_are_forgotten_and_that_of_the_thread_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = _room_for(monkeypatch, 200_000)
    for at in range(1_000):
        name = f"call:{at}" if at else ""
        head = ThreadHead(name, "1", at + 1, {}, ["x"] * 20, frozenset(), None, None)
        known.add("t", [], at + 1, at + 1, head=head)
        assert known.head("t", "")[0] is not None
    left = [name for name in (f"call:{at}" for at in range(1, 1_000)) if known.head("t", name)[0]]
    assert left == [f"call:{at}" for at in range(1_000 - len(left), 1_000)]
    assert 30 < len(left) < 100


def test_what_tasks_wrote_ahead_is_doubted_when_it_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    known = _room_for(monkeypatch, 20_000)
    known.add("t", [], 9, 9)
    for at in range(4, 8):
        known.add_writes("t", "", str(at), TaskWrites(9, {"x": "x" * 6_000}))
    known.add("t", [], 10, 10)
    known.store("t", "", "5", b"{}", 10, again=False)
    assert known.newest("t", 10, "") is None, "what its tasks wrote was forgotten"
    known.store("t", "", "8", b"{}", 10, again=False)
    assert known.newest("t", 10, "") == NewestCheckpoint("8", {}, 10, []), "control"


def test_what_was_forgotten_of_a_session_is_not_taken_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    known = _room_for(monkeypatch, 1_000)
    known.add("t", [], 2, 2)
    known.add_writes("t", "", "5", TaskWrites(2, {}))
    for session in ("u", "v", "w", "x"):
        known.add(session, ["blob"] * 3, 2, 2)
    assert known.head("t", "") == (None, 0)
    known.add("t", [], 3, 3)
    known.store("t", "", "5", b"{}", 3, again=False)
    assert known.newest("t", 3, "") is None
    known.add("t", [], 4, 4)
    known.store("t", "", "6", b"{}", 4, again=False)
    assert known.newest("t", 4, "") is not None, "control"
