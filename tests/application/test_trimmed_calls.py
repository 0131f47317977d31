"""Reported calls that left messages out: the window is what the newest one was sent, and its answer.

Source: adapters IN-3, IN-13.
"""

import random
from typing import Any

import pytest

from ledger.application.recording import recorded_calls
from ledger.application.recording.recorded_calls import record_call
from ledger.application.recording.seen_branches import SeenBranches
from ledger.formats.importers.opentelemetry.otlp_records import records_of
from ledger.formats.importers.opentelemetry.reported_calls import calls_of
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from tests.importers.test_trimmed_calls import A1, A2, A3, Q1, Q2, Q3, RULES, SUMMARY, message, otlp, pairs, shown
from tests.support.ledgers import ledger_over

Message = dict[str, Any]


async def report(ledger: MemoryLedger, number: int, sent: list[Message], answer: Message) -> None:
    calls = list(calls_of(list(records_of(otlp(number, sent, answer), line=None))))
    seen = SeenBranches(calls)
    for call in calls:
        await record_call(ledger._handle, call, seen)


@pytest.fixture
def ledger(store: Store, namespace: str) -> MemoryLedger:
    return ledger_over(store, namespace=namespace)


@pytest.mark.parametrize(
    "sent",
    [
        [RULES, Q2, A2, Q3],
        [RULES, SUMMARY, Q2, A2, Q3],
        [RULES, A2, Q3],
        [RULES, Q1, SUMMARY, A2, Q3],
        [RULES, Q1, message("assistant", "[cut]"), Q2, A2, Q3],
    ],
    ids=["trimmed", "summarized", "answer only", "first kept", "text cut"],
)
async def test_the_window_is_what_was_sent_and_its_answer__IN_13(ledger: MemoryLedger, sent: list[Message]) -> None:
    more = message("user", "more")
    calls = [([RULES, Q1], A1), ([RULES, Q1, A1, Q2], A2), (sent, A3), ([*sent, A3, more], A1)]
    for number, call in enumerate(calls):
        await report(ledger, number, *call)
    version = (await ledger.get_state("s")).version
    for number, call in enumerate(calls):  # an exporter that tries again
        await report(ledger, number, *call)
    assert (await ledger.get_state("s")).version == version
    assert await shown(ledger) == pairs([*sent, A3, more, A1])
    assert [row.session_id for row in await ledger.list_sessions()] == ["s"]
    assert (await ledger.get_stats("s")).window_not_known == 0
    assert (await ledger.verify()).ok


async def test_a_call_that_repeats_nothing_leaves_the_window_unknown__IN_13(ledger: MemoryLedger) -> None:
    for number, call in enumerate([([RULES, Q1], A1), ([RULES, SUMMARY, Q2], A2), ([RULES, SUMMARY, Q2], A2)]):
        await report(ledger, number, *call)
    assert await shown(ledger) == pairs([RULES, Q1, A1])
    assert await shown(ledger, "s~2") == pairs([RULES, SUMMARY, Q2, A2])
    assert (await ledger.get_stats("s")).window_not_known == 1
    assert (await ledger.get_stats("s~2")).window_not_known == 0


async def test_another_agent_does_not_take_the_window_over__IN_13(ledger: MemoryLedger) -> None:
    other = message("system", "Name the next question.")
    for number, call in enumerate([([RULES, Q1], A1), ([other, A1, Q2], A2), ([RULES, Q1, A1, Q2], A2)]):
        await report(ledger, number, *call)
    assert await shown(ledger) == pairs([RULES, Q1, A1, Q2, A2])


async def wrong(seeds: range) -> list[int]:
    """Return the seeds of conversations whose window is not what the newest call was sent, and its answer."""
    found = []
    for seed in seeds:
        chance, ledger, window = random.Random(seed), ledger_over(InMemoryStore()), [RULES]
        for number in range(chance.randint(2, 12)):
            if number and chance.random() < 0.4:
                head = [message("user", f"summary {number}")] if chance.random() < 0.5 else []
                window = [RULES, *head, *window[chance.randint(1, len(window) - 1) :]]
            window.append(message("user", f"question {number}"))
            answer = message("assistant", f"answer {number}")
            await report(ledger, number, list(window), answer)
            window.append(answer)
        if await shown(ledger) != pairs(window) or not (await ledger.verify()).ok:
            found.append(seed)
    return found


async def test_the_window_is_that_of_the_newest_call__IN_13() -> None:
    start = random.randrange(10**9)
    failed = await wrong(range(start, start + 100))
    assert not failed, f"seeds {failed[:5]}, from {start}"


async def test_calls_that_begin_branches_instead_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: as it was, each call that left messages out began a branch."""
    monkeypatch.setattr(recorded_calls, "goes_on", lambda *_: False)
    assert await wrong(range(20))
