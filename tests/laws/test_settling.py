"""Law: after `settle` nothing that is due was forgotten, whatever the summarizers do. Source: R-CMP-8, R-001-6."""

import asyncio
from collections.abc import Iterable
from random import Random
from typing import Final

import pytest

from ledger.application.background import compactor
from ledger.application.background.compaction_requests import CompactionJob
from ledger.events import CompactionCompleted, CompactionRequested, RecordedEvent
from ledger.memory import MemoryLedger
from ledger.ports import SummaryText
from ledger.session.state import SessionState
from ledger.session.views import plan_automatic
from ledger.stores.in_memory import InMemoryStore
from projections.prompts import SummaryRequest
from tests.laws.test_rolling import blocks_up_to
from tests.support.examples import seeds, seeds_to_fail

MOST_PAUSE: Final = 64


class Moody:
    """A summarizer that is slow, out of turn and fails, as its seed says."""

    method = "llm"
    model: str | None = "moody"

    def __init__(self, random: Random) -> None:
        self.random = random
        self.failing = random.choice([0, 0, 0.3, 0.9])

    async def summarize(self, request: SummaryRequest) -> SummaryText:
        for _ in range(self.random.choice([0, 1, 5, 40])):
            await asyncio.sleep(0)
        if self.random.random() < self.failing:
            raise RuntimeError("the model is down")
        return SummaryText("short")


def spans_of(state: SessionState) -> list[tuple[int, int]]:
    return [(summary.block.first_item, summary.block.last_item) for summary in state.summaries.live if summary.block]


async def check_blocks(seed: int) -> None:
    """Assert that the summaries are those of the closed form, but for blocks that failed and wait."""
    random = Random(seed)
    size, stored, store = random.randint(1, 7), random.randint(0, 4), InMemoryStore()
    config = {
        "window": {"type": "rolling", "size": size, "unit": "entry"},
        "compactions": [{"type": "rolling_blocks", "size": size, "max_summaries": stored, "unit": "entry"}],
    }
    summarizer, added = Moody(random), 0
    async with (
        MemoryLedger.open(namespace="n", store=store, config=config, summarizer=summarizer) as first,
        MemoryLedger.open(namespace="n", store=store, config=config, summarizer=summarizer) as second,
    ):
        for _ in range(random.randint(1, 8)):
            for _ in range(random.randint(1, 15)):
                added += 1
                writer = random.choice([first, first, second])
                await writer.add_user_message("s", f"message {added}", tokens=10)
                if random.random() < 0.3:
                    await asyncio.sleep(0)
            if random.random() < 0.5:
                await first.settle()
                await second.settle()
        await first.settle()
        await second.settle()
        state = await first.get_state("s")
        wanted = blocks_up_to(added, size, stored)
        failed = [span for span in wanted if state.compactions.failed("rolling_blocks", (span[1] - 1) // size)]
        assert spans_of(state) == [span for span in wanted if span not in failed], f"seed {seed}"
        calm = Moody(random)
        calm.failing = 0
        first.set_summarizer(None, calm)  # the first one may be left alone after many failures
        for _ in range(MOST_PAUSE if failed else 0):
            added += 1
            await first.add_user_message("s", f"message {added}", tokens=10)
            await first.settle()
        assert spans_of(await first.get_state("s")) == blocks_up_to(added, size, stored), f"seed {seed}"


STRATEGIES: Final = [
    {"type": "token_threshold", "max_entries": 6, "recent_window": 2, "min_entries_to_compress": 2},
    {"type": "summarizer", "interaction_threshold_qty": 4, "interaction_keep": 1},
    {"type": "neuralyzer", "interaction_threshold_qty": 7, "interaction_keep": 2},
    {"type": "progressive", "context_window": 200},
    {"type": "summarization", "max_tokens": 150, "model": "m"},
    {"type": "rolling_blocks", "size": 3, "max_summaries": 2, "unit": "entry"},
]


async def check_nothing_waits(seed: int) -> None:
    """Assert that what is still due was tried on all that there is: its last request saw the newest entry."""
    random = Random(seed)
    config = {"window": {"type": "full"}, "compactions": random.sample(STRATEGIES, random.randint(1, 3))}
    async with MemoryLedger.open(
        namespace="n", store=InMemoryStore(), config=config, summarizer=Moody(random)
    ) as ledger:
        for number in range(random.randint(5, 60)):
            add = random.choice([ledger.add_user_message, ledger.add_assistant_message])
            await add("s", f"message {number} " + "word " * 20, tokens=random.choice([1, 20, 40]))
            if random.random() < 0.2:
                await ledger.settle()
        await ledger.settle()
        state, newest = await ledger.get_state("s"), {}
        for event in await ledger.get_events("s"):
            if isinstance(event.payload, CompactionRequested):
                newest[event.payload.key] = event.payload.seen_version
        assert not state.compactions.in_flight
        last = state.window.entries.last_version or 0
        for compaction in state.config.compactions:
            if plan_automatic(state, compaction) is not None:
                assert newest.get(compaction.key, 0) >= last, f"seed {seed}: {compaction.key} was forgotten"


CHECKS = pytest.mark.parametrize("check", [check_blocks, check_nothing_waits])


@CHECKS
async def test_nothing_due_is_forgotten_after_settle(check) -> None:
    """R-CMP-8, R-001-6: 100 histories."""
    with seeds(100) as tried:
        for seed in tried:
            await check(seed)


async def test_what_two_running_compactions_held_up_follows() -> None:
    """R-CMP-8: the one that ended first is due again, over what the other was still about."""
    await check_nothing_waits(3196505789)


@pytest.mark.slow
@CHECKS
async def test_nothing_due_is_forgotten_after_settle_in_many_histories(check) -> None:
    with seeds(2000) as tried:
        for seed in tried:
            await check(seed)


@CHECKS
async def test_a_compactor_that_stops_after_a_discarded_result_is_noticed(
    check, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: only a completed block is followed by the next one, as it was."""

    def forgets(job: CompactionJob, event: RecordedEvent, then_from: int | None) -> int | None:
        if then_from is None:
            return None
        queue = job.request.block is not None and isinstance(event.payload, CompactionCompleted)
        return then_from if queue else then_from + 1

    monkeypatch.setattr(compactor, "next_evaluation", forgets)

    async def any_of(tried: Iterable[int]) -> None:
        for seed in tried:
            await check(seed)

    with pytest.raises(AssertionError):
        await any_of(seeds_to_fail(100))


async def test_85_quick_adds_and_one_settle_have_three_summaries() -> None:
    """V-001-4, R-001-6: the block that was evicted while its summary was written is followed by those that are due."""
    async with MemoryLedger.open(
        namespace="n", store=InMemoryStore(), config={"profile": "rolling_messages"}, summarizer=Moody(Random(1))
    ) as ledger:
        ledger.set_summarizer("s", lambda prompt: "a summary")
        for number in range(1, 86):
            await (ledger.add_user_message if number % 2 else ledger.add_assistant_message)("s", f"message {number}")
        await ledger.settle()
        assert spans_of(await ledger.get_state("s")) == [(23, 43), (44, 64), (65, 85)]
