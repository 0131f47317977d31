"""Compactions of a ledger in memory: adding never waits, and the outcome is recorded (strategies §4)."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from ledger.errors import CompactionInProgress, CompactionNotCompleted, NotEnoughEntries, SessionNotFound
from ledger.events import CompactionCompleted as Completed
from ledger.events import CompactionFailed as Failed
from ledger.events import CompactionRequested, EntryAdded
from ledger.memory import MemoryLedger
from ledger.ports import SummaryText
from ledger.session.evolve import SESSION, end_of_batch
from ledger.stores.in_memory import InMemoryStore
from projections.prompts import SummaryRequest
from tests.support.driver import Driven, Scripted, SetClock, raises, text_of
from tests.support.ledgers import ledger_over
from tests.support.notation import batches

SMALL = {"max_entries": 4, "recent_window": 1, "min_entries_to_compress": 1}
KINDS = {"u": "user", "a": "assistant"}


class Gate(Scripted):
    """A scripted summarizer that answers only when it is let through."""

    def __init__(self, *script) -> None:
        super().__init__(*script)
        self.called, self.open = asyncio.Event(), asyncio.Event()

    async def summarize(self, request: SummaryRequest) -> SummaryText:
        self.called.set()
        await self.open.wait()
        return await super().summarize(request)


@asynccontextmanager
async def opened(
    summarizer=None, config: dict | None = None, store: InMemoryStore | None = None, clock: SetClock | None = None
) -> AsyncIterator[MemoryLedger]:
    clock = clock or SetClock()
    ledger = ledger_over(store or InMemoryStore(clock), config=config or SMALL, clock=clock)
    ledger.set_summarizer(None, summarizer)
    try:
        yield ledger
    finally:
        await ledger.close()


async def add(ledger: MemoryLedger, notation: str, tokens: int = 10) -> None:
    for items in batches(notation):
        raw = [{"role": KINDS[item[0]], "content": item, "tokens": tokens} for item in items]
        await ledger.add_entries("s", raw)


async def kinds(ledger: MemoryLedger) -> list[str]:
    events = await ledger.get_events("s")
    return [event.payload.type for event in events if not isinstance(event.payload, EntryAdded)][1:]


async def test_entries_are_added_while_a_summarizer_hangs() -> None:
    """R-CMP-4, V-CMP-1, LAW-26."""
    gate = Gate()
    async with opened(gate) as ledger:
        await add(ledger, "u a u a u")
        await gate.called.wait()
        await add(ledger, "a u a")
        assert len(await ledger.get_active_entries("s")) == 8
        assert (await ledger.get_stats("s")).compactions_in_flight == 1
        gate.open.set()
        await ledger.settle("s")
        assert await kinds(ledger) == ["compaction.requested", "compaction.completed"]
        assert [entry.content for entry in await ledger.get_active_entries("s")] == ["u", "a", "u", "a"]


async def test_a_caller_is_refused_while_a_compaction_runs() -> None:
    """R-CMP-7."""
    gate = Gate()
    async with opened(gate) as ledger:
        await add(ledger, "u a u a u")
        await gate.called.wait()
        with pytest.raises(CompactionInProgress):
            await ledger.compress("s", force=True)
        gate.open.set()


async def test_a_late_result_of_a_cleared_session_is_discarded() -> None:
    """V-CMP-2."""
    gate = Gate()
    async with opened(gate) as ledger:
        await add(ledger, "u a u a u")
        await gate.called.wait()
        await ledger.clear_session("s")
        gate.open.set()
        await ledger.settle()
        assert await kinds(ledger) == ["compaction.requested", "session.cleared", "compaction.discarded"]
        assert await ledger.get_context_for_llm("s") == ""


async def test_what_a_process_left_behind_is_abandoned_after_its_lease() -> None:
    """R-CMP-10; V-CMP-3: its late result writes nothing."""
    gate, clock = Gate(), SetClock()
    store = InMemoryStore(clock)
    async with opened(gate, store=store, clock=clock) as first, opened(Scripted(), store=store, clock=clock) as other:
        await add(first, "u a u a u")
        await gate.called.wait()
        clock.advance(599)
        await add(other, "a")
        assert await kinds(other) == ["compaction.requested"]
        clock.advance(2)
        await add(other, "u")
        await other.settle()
        events = await other.get_events("s", type="compaction.failed")
        assert [event.payload.reason for event in events] == ["abandoned"]
        assert (await kinds(other))[2:] == ["compaction.requested", "compaction.completed"]
        gate.open.set()
        await first.settle()
        assert len(await kinds(first)) == 4


async def test_closing_the_ledger_abandons_a_hanging_call_and_logs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ledger.application.services.CLOSE_GRACE_S", 0.01)
    store = InMemoryStore()
    async with opened(Gate(), store=store) as ledger:
        await add(ledger, "u a u a u")
    async with opened(store=store) as ledger:
        (event,) = await ledger.get_events("s", type="compaction.failed")
        assert event.payload.reason == "abandoned"


async def test_notifications_come_after_what_they_tell() -> None:
    """R-CMP-11."""
    answers: list[tuple] = []
    async with opened(Scripted(text_of(12))) as ledger:
        for event in ("entry:added", "compressed", "session:cleared"):
            ledger.on(event, lambda *about, event=event: answers.append((event, *about)))
        await add(ledger, "u a u a u")
        await ledger.settle()
        await ledger.clear_session("s")
        await ledger.clear_session("s")
    assert [event for event, *_ in answers] == ["entry:added"] * 5 + ["compressed", "session:cleared"]
    assert {session_id for _, session_id, *_ in answers} == {"s"}
    assert [entry.content for event, _, entry in answers[:5]] == ["u", "a", "u", "a", "u"]
    result = answers[5][2]
    assert (result.entries_compressed, result.tokens_before, result.tokens_after, result.tokens_saved) == (
        4,
        40,
        12,
        28,
    )
    assert result.summary.text == text_of(12)


async def test_a_handler_that_raises_affects_no_other(caplog: pytest.LogCaptureFixture) -> None:
    """R-CMP-11."""
    answers: list[str] = []

    async def slow(session_id: str, entry: object) -> None:
        answers.append(session_id)

    async with opened() as ledger:
        ledger.on("entry:added", raises)
        stop = ledger.on("entry:added", slow)
        await add(ledger, "u")
        stop()
        await add(ledger, "a")
    assert answers == ["s"]
    assert "a handler of entry:added failed" in caplog.text


async def test_a_failure_is_raised_only_to_its_caller() -> None:
    """R-004-7's counterpart here: adding never fails because a summary did."""
    async with opened(Scripted(raises)) as ledger:
        await add(ledger, "u a u a u")
        await ledger.settle()
        assert (await kinds(ledger))[-1] == "compaction.failed"
        with pytest.raises(CompactionNotCompleted) as failed:
            await ledger.compress("s")
        assert (failed.value.code, failed.value.reason) == ("compaction_failed", "error")
        assert len(await ledger.get_active_entries("s")) == 5


async def test_a_caller_compacts_or_learns_why_not() -> None:
    """R-000-5, R-000-16."""
    async with opened(Scripted(), {"auto_compress": False, "recent_window": 1}) as ledger:
        with pytest.raises(SessionNotFound):
            await ledger.compress("s")
        await add(ledger, "u a u")
        with pytest.raises(NotEnoughEntries):
            await ledger.compress("s")
        result = await ledger.compress("s", force=True)
        assert (result.entries_compressed, result.key) == (2, "token_threshold")


async def test_a_summarizer_of_a_session_is_asked_for_that_session_only() -> None:
    own, common = Scripted("own"), Scripted("common")
    async with opened(common) as ledger:
        ledger.set_summarizer("s", own)
        await add(ledger, "u a u a u")
        await ledger.add_entries("t", [{"role": "user", "content": "u", "tokens": 10}] * 5)
        await ledger.settle()
        texts = [(await ledger.get_summaries(name))[0].text for name in ("s", "t")]
    assert texts == ["own", "common"]


@pytest.mark.parametrize(
    ("config", "notation"),
    [
        (SMALL, "u a " * 12),
        ({**SMALL, "max_summary_tokens": 10}, "u a " * 12),
        ({"profile": "rolling_interactions", "size": 2, "max_summaries": 2}, "u a " * 9 + "[" + "u a " * 9 + "]"),
        (
            {
                "compactions": [
                    {"type": "rolling_blocks", "size": 2, "unit": "entry", "max_summaries": 2},
                    {"type": "token_threshold", **SMALL},
                ]
            },
            "u a " * 6 + "[" + "u a " * 5 + "] u",
        ),
    ],
)
async def test_the_ledger_compacts_as_the_specification_driver_does(config: dict, notation: str) -> None:
    """R-CMP-8: the driver of these tests and the compactor record the same events in the same order."""
    async with opened(Scripted(), config) as ledger:
        for items in batches(notation):
            await add(ledger, f"[{' '.join(items)}]")
            await ledger.settle()
        events = await ledger.get_events("s")
    driven = await asyncio.to_thread(lambda: Driven(config).add(notation))
    assert compactions(events) == compactions(driven.events)
    assert any(isinstance(event.payload, Completed) for event in events)
    assert not any(isinstance(event.payload, Failed) for event in events)


def compactions(events: Sequence) -> list[tuple]:
    answers = []
    for event in events:
        match event.payload:
            case CompactionRequested() as asked:
                answers.append(("requested", event.version, asked.key, asked.covered, asked.target_tokens, asked.block))
            case Completed() as done:
                answers.append(("completed", event.version, done.key, done.covered, done.text, done.tokens_after))
            case payload:
                answers.append((payload.type, event.version))
    return answers


async def test_the_state_a_ledger_shows_is_the_fold_of_what_it_recorded() -> None:
    """V-001-4: and folding asks no model."""
    summarizer = Scripted()
    async with opened(summarizer, {"profile": "rolling_interactions", "unit": "entry"}) as ledger:
        for _ in range(85):
            await add(ledger, "u")
            await ledger.settle()
        assert len(summarizer.asked) == 4
        folded = SESSION.fold(await ledger.get_events("s"))
        assert end_of_batch(folded) == await ledger.get_state("s")
    assert len(summarizer.asked) == 4
