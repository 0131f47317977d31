"""The window item by item, and at each model call, is what the library shows and recorded."""

import random
from typing import Any

import pytest
from msgspec.structs import asdict

from ledger.errors import InvalidInput, SessionNotFound
from ledger.events import ContextRendered, EntryAdded
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from projections.memory_config import config as memory_config
from projections.memory_config.budget import limit_path
from projections.summaries import Summary
from projections.values.ranges import versions
from tests.support.counting_store import CountingStore
from tests.support.ledgers import ledger_over
from tests.support.planted_marks import CONFIGS, live

RECALLING: dict[str, Any] = {"window": {"type": "recall", "max_tokens": 500}, "compactions": []}


async def lived(config: dict[str, Any], seed: int, turns: int = 12) -> MemoryLedger:
    ledger = ledger_over(CountingStore(InMemoryStore()), config=config)
    await live(ledger, random.Random(seed), turns=turns)
    return ledger


@pytest.mark.parametrize("config", [*CONFIGS.values(), RECALLING], ids=[*CONFIGS, "recall"])
async def test_each_window_is_the_context_of_its_version(config: dict[str, Any], seed: int) -> None:
    ledger = await lived(config, seed)
    dice, recorded = random.Random(seed), {}
    for event in await ledger.get_events("s"):
        if isinstance(event.payload, ContextRendered):
            recorded[event.payload.rendered_version] = event
    newest = (await ledger.get_state("s")).version
    for version in sorted(dice.sample(range(1, newest + 1), 12) + list(recorded)[:3]):
        state = await ledger.get_state("s", version=version)
        context = await ledger.get_context("s", version=version)
        shown = await ledger.get_window("s", version=version)
        items = [(item.kind, item.id, item.version, item.tokens) for item in shown.items]
        assert items == [
            ("summary", item.summary_id, item.version, item.tokens)
            if isinstance(item, Summary)
            else ("entry", item.entry_id, item.version, item.tokens)
            for item in context.window.items
        ]
        assert (shown.tokens, shown.total) == (context.tokens, len(items))
        budget = asdict(context.budget)
        assert {name: getattr(shown.budget, name) for name in budget} == budget
        by_source = dict.fromkeys(("system", "pinned", "current_turn", "history", "recalled", "summary"), 0)
        for item in shown.items:
            by_source[item.source] += item.tokens or 0
        assert by_source.pop("summary") == budget["summaries"]
        assert by_source == {name: budget[name] for name in by_source}
        active = {entry.version for entry in state.window.entries}
        hidden = {each for part in shown.hidden for each in versions(part.versions)}
        assert hidden == active - set(versions(shown.shown))
        assert shown.hidden_total == len(hidden)
        event = recorded.get(version)
        assert (shown.recorded and shown.recorded.verdict) == ("proved" if event else None)
        assert shown.recorded is None or shown.recorded.version == event.version
        paged = [
            item
            for offset in range(0, shown.total, 2)
            for item in (await ledger.get_window("s", version=version, offset=offset, limit=2)).items
        ]
        assert tuple(paged) == shown.items


async def test_a_recorded_window_that_was_changed_since_differs(
    store: Store, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control of ``proved``."""
    ledger = ledger_over(store, namespace=namespace)
    await ledger.add_user_message("s", "one")
    await ledger.get_context("s", record=True)
    assert (await ledger.get_window("s", version=2)).recorded.verdict == "proved"
    assert (await ledger.get_window("s", version=2, query="one")).recorded is None
    monkeypatch.setattr("ledger.application.reading.context_audit._digest_of_text", lambda text: "0" * 64)
    assert (await ledger.get_window("s", version=2)).recorded.verdict == "differs"


async def test_the_config_in_force_and_the_field_that_limits_are_named(store: Store, namespace: str) -> None:
    ledger = ledger_over(store, namespace=namespace, config={"window": {"type": "max_tokens", "memory_max_tokens": 50}})
    await ledger.add_user_message("s", "one")
    found = await ledger.get_window("s")
    assert (found.config_version, found.budget.limit_from, found.budget.limit) == (1, "window.memory_max_tokens", 50)
    await ledger.update_config("s", {"window": {"type": "full"}})
    found = await ledger.get_window("s")
    assert (found.config_version, found.budget.limit_from, found.turn) == (3, None, 1)
    assert (await ledger.get_window("s", version=2)).config_version == 1
    for raw, path in (
        ({"window": {"type": "full"}, "compactions": [{"type": "token_threshold", "max_tokens": 9}]}, "max_tokens"),
        (
            {"window": {"type": "full"}, "compactions": [{"type": "progressive", "context_window": 900}]},
            "context_window",
        ),
    ):
        assert limit_path(memory_config.load(raw)) == f"compactions[0].{path}"
    with pytest.raises(SessionNotFound):
        await ledger.get_window("nobody")
    with pytest.raises(InvalidInput):
        await ledger.get_window("s", limit=0)


@pytest.mark.parametrize("config", [*CONFIGS.values(), RECALLING], ids=[*CONFIGS, "recall"])
async def test_each_call_of_a_model_has_its_window(config: dict[str, Any], seed: int) -> None:
    ledger = await lived(config, seed)
    whole = (await ledger.model_calls("s")).calls
    events = await ledger.get_events("s")
    assert [call.version for call in whole if call.recorded] == [
        event.payload.rendered_version for event in events if isinstance(event.payload, ContextRendered)
    ]
    for call in whole:
        context = await ledger.get_context("s", version=call.version)
        assert set(versions(call.shown)) == {entry.version for entry in context.entries}
        assert call.summaries == tuple(summary.summary_id for summary in context.summaries)
        assert (call.tokens, call.limit) == (context.tokens, context.budget.limit)
        shown = await ledger.get_window("s", version=call.version)
        assert (call.hidden, call.turn, call.recorded) == (shown.hidden_total, shown.turn, shown.recorded is not None)
    answered, asked = 0, False
    for event in events:
        if isinstance(payload := event.payload, EntryAdded):
            answered += asked and payload.role == "assistant"
            asked = payload.role != "assistant"
        asked = asked and not isinstance(payload, ContextRendered)
    assert sum(not call.recorded for call in whole) == answered


async def test_model_calls_in_pages_are_those_of_the_whole(seed: int) -> None:
    ledger = await lived(CONFIGS["token_threshold"], seed)
    whole = (await ledger.model_calls("s")).calls
    dice, found, after = random.Random(seed), [], 0
    while after is not None:
        page = await ledger.model_calls("s", after=after, limit=dice.randint(1, 3))
        found += page.calls
        after = page.next_after
    assert tuple(found) == whole
    for after in range(1, whole[-1].version):
        tail = (await ledger.model_calls("s", after=after)).calls
        assert tail == whole[len(whole) - len(tail) :]
        assert len(tail) >= sum(call.version >= after and not call.recorded for call in whole)
