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

from ledger.adapters.langgraph import LedgerSaver, checkpoint_reads, newest
from ledger.adapters.langgraph.newest import NewestCheckpoint, NewestCheckpoints
from ledger.adapters.langgraph.recent import RecentWrites, ThreadHead
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
        of_version = RecentWrites.newest
        monkeypatch.setattr(
            RecentWrites, "newest", lambda self, session, _: of_version(self, session, self.head(session, "")[1])
        )
    elif fault == "ahead":
        add_writes = NewestCheckpoints.add_writes
        monkeypatch.setattr(
            NewestCheckpoints,
            "add_writes",
            lambda self, namespace, checkpoint_id, each: (
                self.get(namespace)
                and self.get(namespace).checkpoint_id == checkpoint_id
                and add_writes(self, namespace, checkpoint_id, each)
            ),
        )
    else:
        monkeypatch.setattr(NewestCheckpoints, "unsure", lambda self: "")
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


def _read(checkpoint_id: str, *, size: int = 0, writes: int = 0) -> NewestCheckpoint:
    return NewestCheckpoint(checkpoint_id, {"x": "x" * size}, 9, [TaskWrites(9, {"task": at}) for at in range(writes)])


def test_what_a_thread_has_in_memory_is_bounded() -> None:
    large = newest._MOST_BYTES
    known = NewestCheckpoints()
    for at in range(100):
        known.learn(f"call {at}", _read("1"))
    assert [at for at in range(100) if known.get(f"call {at}")] == [96, 97, 98, 99]
    known.learn("", _read("2", size=large))
    assert known.get("") is None
    known.learn("", _read("3", size=large // 2))
    known.add_writes("", "3", TaskWrites(10, {"x": "x" * large}))
    assert known.get("") is None
    for at in range(4, 9):
        known.add_writes("", str(at), TaskWrites(10, {"x": "x" * (large // 3)}))
    known.store("", "5", b"{}", 11, again=False)
    assert known.get("") is None, "what its tasks wrote was forgotten"
    known.store("", "8", b"{}", 12, again=False)
    assert known.get("") == NewestCheckpoint("8", {}, 12, [TaskWrites(10, {"x": "x" * (large // 3)})] * 1)


def test_the_heads_of_finished_calls_of_subgraphs_are_forgotten_and_that_of_the_thread_stays() -> None:
    recent = RecentWrites()
    for at in range(1_000):
        name = f"call:{at}" if at else ""
        head = ThreadHead(name, "1", at + 1, {}, [], frozenset(), None, None)
        recent.add("t", [], at + 1, at + 1, head=head)
    known = [name for name in ["", *(f"call:{at}" for at in range(1_000))] if recent.head("t", name)[0]]
    assert known == ["", *(f"call:{at}" for at in range(937, 1_000))]


def test_what_was_forgotten_of_a_session_is_not_taken_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ledger.adapters.langgraph.recent._SESSIONS", 2)
    recent = RecentWrites()
    recent.add("t", [], 2, 2)
    known = recent.newest("t", 2)
    assert known is not None
    known.add_writes("", "5", TaskWrites(2, {}))
    for session in ("u", "v"):
        recent.add(session, [], 2, 2)
    assert recent.newest("t", 2) is None
    recent.add("t", [], 3, 3)
    again = recent.newest("t", 3)
    assert again is not None
    again.store("", "5", b"{}", 3, again=False)
    assert again.get("") is None
    again.store("", "6", b"{}", 4, again=False)
    assert again.get("") is not None, "control"
