"""A session that shows a model its context instead of all items. Source: adapters AD-6."""

import random
from typing import Any

import pytest

from ledger.adapters.openai_agents import MemoryLedgerSession, run_context
from ledger.errors import InvalidInput
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from tests.support.ledgers import ledger_over

CONFIG: Any = {"compactions": [{"type": "token_threshold", "max_entries": 20, "recent_window": 12}]}


def turn(number: int, calls: int, *, thinks: bool = True) -> list[Any]:
    """Return what is said in a turn of a reasoning model that calls tools at once."""
    thought = {"type": "reasoning", "id": f"rs_{number}", "summary": [{"type": "summary_text", "text": "hm"}]}
    asked = [
        {
            "type": "function_call",
            "id": f"fc_{number}_{at}",
            "call_id": f"c{number}_{at}",
            "name": "look",
            "arguments": "",
        }
        for at in range(calls)
    ]
    found = [
        {"type": "function_call_output", "call_id": f"c{number}_{at}", "output": f"{number}.{at}"}
        for at in range(calls)
    ]
    said = {"role": "assistant", "id": f"msg_{number}", "content": [{"type": "output_text", "text": f"so {number}"}]}
    thoughts = [thought] if thinks else []
    last = [{**thought, "id": f"rs_{number}b"}] if thinks and calls else []
    return [{"role": "user", "content": f"question {number}"}, *thoughts, *asked, *found, *last, said]


def whole(items: list[Any], limit: int) -> bool:
    """Tell whether *items* are the newest, and more than *limit* only by the rest of an answer and its results."""
    count = len(items) - limit
    return count <= 0 or all(item.get("role") != "user" for item in items[: count + 1])


def faults_of(items: list[Any], given: list[Any]) -> list[str]:
    """Return what a provider would refuse of *items*, which were *given* with others between."""
    faults, asked = [], set()
    led_to = {}  # the reasoning that an id came after
    thought = None
    for item in given:
        if item.get("type") == "reasoning":
            thought = item["id"]
        elif item.get("role") == "user" or str(item.get("type")).endswith("_output"):
            thought = None
        elif thought:
            led_to[item["id"]] = thought
    present = {item.get("id") for item in items}
    for at, item in enumerate(items):
        following = items[at + 1] if at + 1 < len(items) else {"role": "user"}
        if item.get("type") == "reasoning" and (
            following.get("role") == "user" or str(following.get("type")).endswith("_output")
        ):
            faults.append(f"{item['id']} led to nothing")
        if item.get("type") == "function_call":
            asked.add(item["call_id"])
        if item.get("type") == "function_call_output" and item["call_id"] not in asked:
            faults.append(f"{item['call_id']} was not asked for")
        if item.get("id") in led_to and led_to[item["id"]] not in present:
            faults.append(f"{item['id']} came after {led_to[item['id']]}")
    answered = {item["call_id"] for item in items if item.get("type") == "function_call_output"}
    return faults + [f"{call} has no answer" for call in asked - answered]


async def random_context(seed: int, ledger: MemoryLedger) -> list[str]:
    dice = random.Random(seed)
    windows = [
        {"type": "max_tokens", "memory_max_tokens": 120},
        {"type": "sliding_window", "max_tokens": 90},
        {"type": "full"},
    ]
    faults = []
    for number, window in enumerate(windows):
        config = {"window": window, **(CONFIG if dice.random() < 0.6 else {"compactions": []})}
        async with MemoryLedgerSession(f"s{number}", ledger=ledger, config=config, view="context") as session:
            given: list[Any] = []
            for at in range(12):
                new = turn(at, dice.randint(0, 3), thinks=dice.random() < 0.7)
                await session.add_items(new)
                given += new
                for _ in range(dice.choice([0, 0, 1, 2, 5])):  # results, then calls: what is left waits
                    await session.pop_item()
                for limit in (None, dice.randint(1, 12)):
                    items = await session.get_items(limit)
                    faults += faults_of(items, given)
                    assert limit is None or whole(items, limit)
    return faults


async def test_any_context_is_one_that_a_provider_takes__AD_6(seed: int) -> None:
    assert await random_context(seed, ledger_over(InMemoryStore())) == []


async def test_a_context_of_whatever_the_window_has_would_be_refused(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control of the test above."""
    monkeypatch.setattr(run_context, "_whole", lambda items: items)
    monkeypatch.setattr(run_context, "_adjacent", lambda items: (shown.item for shown in items))
    assert await random_context(seed, ledger_over(InMemoryStore())) != []


async def test_a_summary_stands_for_what_it_covers_and_nothing_is_lost__AD_6(store: Store, namespace: str) -> None:
    ledger = ledger_over(store, namespace=namespace)
    given = [item for number in range(8) for item in turn(number, 1)]
    async with MemoryLedgerSession("s", ledger=ledger, config=CONFIG, view="context") as session:
        for number in range(8):
            await session.add_items(turn(number, 1))
        shown = await session.get_items()
        assert shown[0]["role"] == "user", "the summary, which may tell of what a stranger wrote, is not the system's"
        assert shown[0]["content"].startswith("[Previous conversation summary]")
        assert len(shown) < len(given)
        assert shown[-6:] == turn(7, 1)
        assert await MemoryLedgerSession("s", ledger=ledger).get_items() == given
        before = await session.at(version=7).get_items()
        assert before == turn(0, 1)
        assert await session.pop_item() == given[-1]
        await session.clear_session()
        assert await session.get_items() == []
    async with MemoryLedgerSession("unknown", ledger=ledger, view="context") as other:
        assert await other.get_items() == await other.at(version=1).get_items() == []


async def test_an_image_is_in_the_context_as_it_was_given__AD_6() -> None:
    ledger = ledger_over(InMemoryStore())
    picture = {"type": "input_image", "image_url": f"data:image/png;base64,{'iVBORw0K' * 1_000_000}"}
    item: Any = {"role": "user", "content": [{"type": "input_text", "text": "What is it?"}, picture]}
    async with MemoryLedgerSession("s", ledger=ledger, view="context") as session:
        await session.add_items([item])
        assert await session.get_items() == [item]


def test_an_unknown_view_is_refused() -> None:
    with pytest.raises(InvalidInput, match="view: must be transcript or context"):
        MemoryLedgerSession("s", view="window")  # type: ignore[arg-type]  # refused
