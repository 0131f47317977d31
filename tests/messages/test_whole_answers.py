"""Answers are whole in the requests of a real session, by the public API. Source: R-GEN-8, R-WIN-3; adapters PM-2."""

from collections.abc import Iterable
from random import Random
from typing import Any

import pytest

from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.results import Context
from ledger.stores.in_memory import InMemoryStore
from tests.laws.test_answers import some_config
from tests.support.answers import AnswerStep, Said, history
from tests.support.examples import seeds
from tests.support.ledgers import ledger_over
from tests.support.request_rules import faults, faults_of_anthropic

FEW = 6
MANY = 60


async def take(ledger: MemoryLedger, session: str, step: AnswerStep, said: Said, random: Random) -> None:
    active = []
    if step.kind not in {"say", "results", "context"}:
        await ledger.settle(session)  # a compaction that ends meanwhile would cover what is chosen
        active = await ledger.get_active_entries(session)
    chosen = active[round(step.place * (len(active) - 1))] if active else None
    match step.kind:
        case "say" | "results":
            await ledger.add_messages(session, step.messages)
        case "context":
            await ledger.add_context(session, "a file", source="notes.txt")
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


async def check_sessions(store: Store, namespace: str, tried: Iterable[int]) -> None:
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


async def test_a_compaction_inside_a_tool_loop_leaves_the_answer_whole() -> None:
    """The request is valid only with the thinking; once the calls have results, the answer leaves as a whole."""
    ledger = ledger_over(InMemoryStore())
    ledger.set_summarizer(None, lambda prompt: "short")
    rules = {"type": "token_threshold", "max_entries": 3, "recent_window": 1, "min_entries_to_compress": 1}
    await ledger.update_config("s", {"window": {"type": "full"}, "compactions": [rules]})
    await ledger.add_messages("s", [{"role": "user", "content": f"question {at}"} for at in range(4)])
    thought = {"type": "thinking", "thinking": "Both.", "signature": "c2ln"}
    calls = [{"type": "tool_use", "id": f"c{at}", "name": "look", "input": {}} for at in range(3)]
    answer = {"role": "assistant", "content": [thought, {"type": "text", "text": "I look."}, *calls]}
    await ledger.add_messages("s", [answer])
    for at in range(3):
        await ledger.settle("s")
        request = (await ledger.get_context("s")).as_anthropic()
        assert faults_of_anthropic(request) == []
        assert [*request["messages"][1]["content"]] == answer["content"]
        result = {"type": "tool_result", "tool_use_id": f"c{at}", "content": f"found {at}"}
        await ledger.add_messages("s", [{"role": "user", "content": [result]}])
    await ledger.add_messages("s", [{"role": "assistant", "content": "Done."}])
    await ledger.settle("s")
    assert [entry.content for entry in (await ledger.get_context("s")).entries] == ["Done."]
