"""Law: after a rebuild a session is what the what-if of the same config shows, and goes on like it. Source: R-RBD-3."""

import json
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, Final

import pytest

from ledger.events import Continuation, RecordedEvent
from ledger.memory import MemoryLedger
from ledger.ports import Store, SummaryText
from ledger.replay.what_if.recorded_answers import Unanswered, cache_of
from ledger.results import WhatIf
from ledger.session import rebuild_decisions
from ledger.session.evolve import SESSION, end_of_batch
from ledger.session.state import SessionState
from ledger.stores.in_memory import InMemoryStore
from projections.log.entry_fates import TimelinePage
from projections.log.history import HISTORY
from projections.prompts import SummaryRequest
from projections.values import ranges
from tests.support.examples import seeds, seeds_to_fail
from tests.support.timeline_reader import TimelineReader

TOKEN_THRESHOLD: Final = {"type": "token_threshold", "max_entries": 6, "recent_window": 2, "min_entries_to_compress": 2}
CONFIGS: Final[list[dict[str, Any]]] = [
    {"profile": "none"},
    {"profile": "rolling", "size": 3, "max_summaries": 3},
    {"profile": "rolling_interactions", "size": 2, "max_summaries": 2},
    {"window": {"type": "full"}, "compactions": [TOKEN_THRESHOLD]},
    {"window": {"type": "full"}, "compactions": [TOKEN_THRESHOLD | {"max_summary_tokens": 6}]},
    {
        "window": {"type": "full"},
        "compactions": [{"type": "summarizer", "interaction_threshold_qty": 4, "interaction_keep": 1}],
    },
    {
        "window": {"type": "full"},
        "compactions": [{"type": "neuralyzer", "interaction_threshold_qty": 3, "interaction_keep": 1}],
    },
    {"window": {"type": "full"}, "compactions": [{"type": "progressive", "context_window": 200}]},
    {"window": {"type": "full"}, "compactions": [{"type": "summarization", "max_tokens": 150, "model": "m"}]},
    {"window": {"type": "sliding_window", "max_tokens": 100}, "compactions": [TOKEN_THRESHOLD]},
    {"window": {"type": "max_tokens", "memory_max_tokens": 120}, "compactions": []},
    {
        "window": {"type": "full"},
        "compactions": [
            {"type": "summarizer", "interaction_threshold_qty": 3, "interaction_keep": 1},
            {"type": "neuralyzer", "interaction_threshold_qty": 4, "interaction_keep": 1},
        ],
    },
]


class ByRequest:
    """A summarizer whose text follows from the request."""

    method = "llm"
    model: str | None = "m"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def summarize(self, request: SummaryRequest) -> SummaryText:
        self.asked.append(request.request_hash)
        text = f"s {request.request_hash[:6]}"
        return SummaryText(
            json.dumps({"missing_entities": [], "summary": text}) if request.form == "json" else text, 7, 3
        )


async def talk(ledger: MemoryLedger, random: Random, count: int, *, changes: bool = True) -> None:
    """Add *count* batches, each settled, and now and then edit, remove or clear."""
    for _ in range(count):
        word = f"{random.getrandbits(24):06x}"
        match random.choices(["user", "assistant", "tool", "pinned", "batch"], [8, 8, 3, 1, 1])[0]:
            case "user":
                await ledger.add_user_message("s", f"user {word}", tokens=random.choice([5, 10, 30]))
            case "assistant":
                await ledger.add_assistant_message("s", f"answer {word}", tokens=random.choice([5, 10, 30]))
            case "tool":
                await ledger.add_tool_call("s", "shell", {"command": word}, tool_call_id=word, tokens=5)
                await ledger.settle()
                if random.random() < 0.8:
                    await ledger.add_tool_result("s", "shell", f"result {word}", tool_call_id=word, tokens=20)
            case "pinned":
                await ledger.add_entries("s", [{"role": "system", "content": f"rule {word}"}])
            case "batch":
                await ledger.add_entries(
                    "s", [{"role": "user", "content": f"a {word}"}, {"role": "assistant", "content": f"b {word}"}]
                )
        await ledger.settle()
        entries = (await ledger.get_state("s")).window.entries
        if changes and entries and random.random() < 0.08:
            entry = random.choice(list(entries))
            if random.random() < 0.5:
                await ledger.edit_entry("s", entry.entry_id, f"edited {word}")
            else:
                await ledger.remove_entry("s", entry.entry_id)
        if changes and random.random() < 0.01:
            await ledger.clear_session("s")


def shown(window: Any) -> list[Any]:
    return [
        (item.role, item.content, item.version) if hasattr(item, "role") else (item.key, item.text)
        for item in window.items
    ]


def kept(state: SessionState, removed: frozenset[int]) -> dict[str, Any]:
    """Return what of *state* decides how the session goes on, without ids, versions of compactions and times."""
    state = end_of_batch(state)

    def without(covered: Any) -> tuple[int, ...]:
        return tuple(version for version in ranges.versions(covered) if version not in removed)

    return {
        "config": state.config,
        "entries": [(entry.version, entry.content, entry.tokens) for entry in state.window.entries],
        "window": (state.window.tokens, state.window.pinned, state.window.users),
        "summaries": [
            (each.key, each.text, each.tokens, without(each.covered), each.block, each.trust, each.first_version)
            for each in state.summaries.live
        ],
        "items": state.items,
        "progress": dict(state.progress),
        "failures": [(each.key, each.block, each.count) for each in state.compactions.failures],
        "watermarks": dict(state.compactions.watermarks),
        "active": len(state.window.entries),
        "added": state.counts.added,
    }


async def check_same(ledger: MemoryLedger, config: Any, seed: int, step: str) -> WhatIf:
    found = await ledger.what_if("s", config, on_miss="call")
    state = await ledger.get_state("s")
    history = await ledger.get_history("s")
    removed = frozenset(past.version for past in history.entries if past.status == "removed")
    assert kept(state, removed) == kept(found.state, removed), f"seed {seed}: {step}"
    assert shown((await ledger.get_context("s")).window) == shown(found.window), f"seed {seed}: {step}"
    return found


def failures(events: Sequence[RecordedEvent]) -> set[str]:
    """Return the requests whose compaction failed; a what-if takes the failure, a rebuild asks again (R-RBD-2)."""
    return {digest for digest, known in cache_of(events).items() if isinstance(known, Unanswered)}


def check_timeline(events: Sequence[RecordedEvent], seed: int) -> None:
    """Assert that the arithmetic of the viewer and the folds say the same of each version."""
    page = TimelinePage(0, events[-1].version)
    for event in events:
        page.add(event)
    reader, state, history = TimelineReader([page.page]), SESSION.initial, HISTORY.initial
    for event in events:
        state, history = SESSION.evolve(state, event), HISTORY.evolve(history, event)
        active = {entry.version: entry.tokens for entry in state.window.entries}
        assert reader.active(event.version) == active, f"seed {seed} at {event.version}"
        fates = {past.version: past.status for past in history.entries}
        assert reader.fates(event.version) == fates, f"seed {seed} at {event.version}"


async def check(seed: int, store: Store | None = None) -> None:
    """Assert that a rebuild is the what-if, that nothing is lost, that the session goes on, and that it can go back."""
    random = Random(seed)
    before, after = random.sample(CONFIGS, 2)
    summarizer, own = ByRequest(), store or InMemoryStore()
    async with MemoryLedger.open(namespace=f"rebuild{seed}", store=own, config=before, summarizer=summarizer) as ledger:
        await talk(ledger, random, random.randint(1, 30))
        if random.random() < 0.3:
            await ledger.update_config("s", random.choice(CONFIGS), replace=True)
            await talk(ledger, random, random.randint(1, 10))
        old = shown((await ledger.get_context("s")).window)
        entries = {past.version: past.status for past in (await ledger.get_history("s")).entries}
        wanted = await ledger.what_if("s", after, on_miss="call")
        asked, failed = len(summarizer.asked), failures(await ledger.get_events("s"))
        asked_for = await ledger.update_config("s", after, replace=True, rebuild=True)
        await ledger.settle("s")
        progress = await ledger.get_rebuild("s")
        assert progress
        assert progress.status == "completed", f"seed {seed}: {progress}"
        again = summarizer.asked[asked:]
        assert failed.issuperset(again), f"seed {seed}: the what-if had asked for all else (R-RBD-2)"
        assert len(again) == len(set(again)), f"seed {seed}: asked twice"
        found = await check_same(ledger, after, seed, f"rebuilt from {before} to {after}")
        assert shown(found.window) == shown(wanted.window), f"seed {seed}"
        stats, counts = await ledger.get_stats("s"), end_of_batch(await ledger.get_state("s")).counts
        assert stats.total_entries == stats.active_entries + counts.covered + counts.erased + counts.removed, (
            f"seed {seed}"
        )
        check_timeline(await ledger.get_events("s"), seed)
        now = {past.version: past.status for past in (await ledger.get_history("s")).entries}
        assert now.keys() == entries.keys(), f"seed {seed}"
        gone = {"removed", "cleared"}
        assert {at for at in now if now[at] in gone} == {at for at in entries if entries[at] in gone}, f"seed {seed}"
    async with MemoryLedger.open(namespace=f"rebuild{seed}", store=own, summarizer=summarizer) as ledger:
        assert await ledger.matches_replay("s")
        await talk(ledger, random, random.randint(1, 15), changes=False)
        await check_same(ledger, after, seed, "went on")
        await ledger.restore("s", asked_for.version - 1)
        assert [each[:2] for each in shown((await ledger.get_context("s")).window)] == [each[:2] for each in old], (
            f"seed {seed}"
        )


async def check_all(tried: Iterable[int], store: Store | None = None) -> None:
    for seed in tried:
        await check(seed, store)


async def test_a_rebuild_is_the_what_if() -> None:
    """R-RBD-3: 100 histories."""
    with seeds(100) as tried:
        await check_all(tried)


@pytest.mark.slow
async def test_a_rebuild_is_the_what_if_in_many_histories() -> None:
    with seeds(2000) as tried:
        await check_all(tried)


@pytest.mark.postgres
async def test_a_rebuild_is_the_what_if_on_postgres(postgres_store: Store) -> None:
    with seeds(10) as tried:
        await check_all(tried, postgres_store)


async def test_strategies_that_start_anew_after_the_switch_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: what strategies had counted is not carried over."""
    monkeypatch.setattr(rebuild_decisions, "_counted", lambda wanted: Continuation())
    with pytest.raises(AssertionError):
        await check_all(seeds_to_fail(100))


async def test_entries_that_do_not_return_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: only what leaves is changed."""
    monkeypatch.setattr(rebuild_decisions, "_parts", lambda entries: iter(()))
    with pytest.raises(AssertionError):
        await check_all(seeds_to_fail(100))
