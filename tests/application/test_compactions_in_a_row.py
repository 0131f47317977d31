"""One write spends a bounded number of compactions; a worker does the rest, and the result is the same."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ledger.memory import MemoryLedger
from ledger.ports import SummaryText
from ledger.server.service_settings import load_service_settings
from ledger.stores.in_memory import InMemoryStore
from projections.prompts import SummaryRequest
from tests.server.conftest import running
from tests.support.ledgers import ledger_over

CONFIG: dict[str, Any] = {"compactions": [{"type": "rolling_blocks", "size": 2, "max_summaries": 50}]}
ENTRIES = [{"role": "user", "content": f"message {number} " * 5} for number in range(60)]


class Counting:
    method, model = "llm", "house-model"

    def __init__(self) -> None:
        self.asked = 0

    async def summarize(self, request: SummaryRequest) -> SummaryText:
        self.asked += 1
        return SummaryText("short")


async def summaries_after(
    most: int | None, *, rounds: int = 0, config: dict[str, Any] = CONFIG, entries: Sequence[dict[str, str]] = ENTRIES
) -> tuple[int, list[int]]:
    """Return the summaries after one write and some rounds of a worker, and the calls after each."""
    model = Counting()
    ledger: MemoryLedger = ledger_over(InMemoryStore(), config=config, summarizer=model)
    services = ledger._handle.services
    services.compactor.most_in_a_row = most
    await ledger.add_entries("s", entries)
    await ledger.settle()
    calls = [model.asked]
    stream = ledger._handle.stream("s", None)
    for _ in range(rounds):  # as `worker.compaction.compact` does
        await services.compactor.evaluate(stream, await services.states.newest(stream), actor="worker")
        await services.compactor.settle(stream)
        calls.append(model.asked)
    return len(await ledger.get_summaries("s")), calls


async def test_one_write_makes_no_more_compactions_than_may_follow_each_other() -> None:
    whole, calls = await summaries_after(None)
    assert whole > 9
    assert calls == [whole], "without a bound all are made at once"
    assert await summaries_after(3) == (3, [3])


async def test_a_compaction_counts_as_the_calls_that_it_makes() -> None:
    """It asks twice for JSON and gets none, so it fails; both calls were paid."""
    config = {
        "compactions": [
            {"type": "summarizer", "interaction_threshold_qty": 4, "interaction_keep": 1},
            *CONFIG["compactions"],
        ]
    }
    said = [{**each, "role": ("user", "assistant")[number % 2]} for number, each in enumerate(ENTRIES)]
    assert await summaries_after(2, config=config, entries=said) == (0, [2])
    assert await summaries_after(3, config=config, entries=said) == (1, [3]), "the next one begins below the bound"


async def test_a_worker_does_the_rest_a_few_at_a_time() -> None:
    whole, _ = await summaries_after(None)
    found, calls = await summaries_after(3, rounds=whole // 3 + 1)
    assert found == whole
    assert max(after - before for before, after in pairwise(calls)) <= 3


def test_the_service_bounds_what_a_request_may_spend() -> None:
    assert load_service_settings().compactions_in_a_row == 10
    with running(InMemoryStore(), worker=False, compactions_in_a_row=4) as service:
        assert service.service.services.compactor.most_in_a_row == 4
