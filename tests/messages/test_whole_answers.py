"""Answers are whole in the requests of a real session, by the public API. Source: R-GEN-8, R-WIN-3; adapters §8."""

from random import Random
from typing import Any

import pytest

from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.results import Context
from tests.laws.test_answers import some_config
from tests.laws.test_settling import seeds
from tests.support.answers import AnswerStep, Said, history
from tests.support.ledgers import ledger_over
from tests.support.request_rules import faults

FEW = 6
MANY = 60


async def take(ledger: MemoryLedger, session: str, step: AnswerStep, said: Said, random: Random) -> None:
    active = await ledger.get_active_entries(session) if step.kind not in {"say", "results", "context"} else []
    chosen = active[round(step.place * (len(active) - 1))] if active else None
    match step.kind:
        case "say" | "results":
            await ledger.add_messages(session, step.messages)
        case "context":
            await ledger.add_context(session, "a file", source="notes.txt")
        case "settle" | "erase":
            await ledger.settle(session)
        case "clear":
            await ledger.clear_session(session)
        case "edit" if chosen is not None and chosen.kind == "message":
            said.changed("edit", chosen.content)
            await ledger.edit_entry(session, chosen.entry_id, f"edited {chosen.content}")
        case "remove" if chosen is not None:
            await ledger.remove_entry(session, chosen.entry_id)
        case "pop" if active:
            popped = await ledger.pop_entry(session)
            said.changed("pop", popped.content if popped else "")


async def check_session(ledger: MemoryLedger, session: str, seed: int) -> None:
    """Assert that no provider refuses a request of the session, at any version, under any window."""
    random = Random(seed)
    steps, said = history(random, random.randint(5, 20))
    await ledger.update_config(session, some_config(random))
    for step in steps:
        await take(ledger, session, step, said, random)
        if random.random() < 0.3:
            await ledger.update_config(session, some_config(random))
        assert said.faults(requests_of(await ledger.get_context(session, query="found word"))) == [], f"seed {seed}"
        now = (await ledger.get_stats(session)).version
        past = await ledger.get_context(session, version=random.randint(1, now))  # perhaps within a write
        assert faults(requests_of(past)) == [], f"seed {seed}"


def requests_of(context: Context) -> dict[str, Any]:
    return {
        "openai": context.as_openai(),
        "responses": context.as_responses(),
        "anthropic": context.as_anthropic(),
    }


async def check_sessions(store: Store, namespace: str, tried: list[int]) -> None:
    ledger = ledger_over(store, namespace=namespace)
    ledger.set_summarizer(None, lambda prompt: "short")
    for number, seed in enumerate(tried):
        await check_session(ledger, f"s{number}", seed)


async def test_requests_of_random_sessions_are_taken_by_the_providers(store: Store, namespace: str) -> None:
    with seeds(FEW) as tried:
        await check_sessions(store, namespace, tried)


@pytest.mark.slow
async def test_requests_of_many_random_sessions_are_taken(store: Store, namespace: str) -> None:
    with seeds(MANY) as tried:
        await check_sessions(store, namespace, tried)
