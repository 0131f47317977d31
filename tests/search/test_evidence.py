"""How much of the evidence for 155 questions about 37 real conversations is found, and how much a window recalls.

The questions of a scenario are asked of all its conversations. A quote is found if an entry that holds it is
among the five that search returns, neighbours not counted.
"""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest

from ledger import LocalEmbedder
from ledger.memory import MemoryLedger
from ledger.stores.postgres import PostgresStore

pytestmark = [pytest.mark.data, pytest.mark.postgres]

BUDGET = 2_000
_PLAIN = str.maketrans({0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"', 0x2013: "-", 0x2014: "-"})


class Question(NamedTuple):
    """A question, its scenario, and the messages of the scenario (by number, from 0) that hold its evidence."""

    scenario: str
    text: str
    evidence: frozenset[int]


def messages_of(folder: Path) -> dict[str, list[str]]:
    """Return the messages of each scenario, in order."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.glob("memory_*.json")):
        for line in path.read_text().splitlines():
            turns = json.loads(line)["question"]
            texts = found.setdefault(path.stem.removeprefix("memory_"), [])
            texts += [message["content"] for turn in turns for message in turn]
    return found


def questions_of(folder: Path, messages: dict[str, list[str]]) -> list[Question]:
    answers = [json.loads(line) for line in (folder / "BFCL_v4_memory.possible_answer.json").read_text().splitlines()]
    quotes = {answer["id"]: answer["source"] for answer in answers}
    asked = [json.loads(line) for line in (folder / "BFCL_v4_memory.json").read_text().splitlines()]
    return [
        Question(
            measure["scenario"],
            measure["question"][0][0]["content"],
            evidence(quotes[measure["id"]], messages[measure["scenario"]]),
        )
        for measure in asked
    ]


def evidence(quote: str, messages: list[str]) -> frozenset[int]:
    """Return the messages with every part of *quote*, or else those that share most of its words."""
    parts = [part.strip(' .,;-"') for part in plain(quote).split("...")]
    verbatim = {at for at, text in enumerate(messages) if all(part in plain(text) for part in parts if part)}
    wanted = set(re.findall(r"\w+", plain(quote)))
    shared = [len(wanted & set(re.findall(r"\w+", plain(text)))) for text in messages]
    return frozenset(verbatim or {at for at, count in enumerate(shared) if count == max(shared)})


def plain(text: str) -> str:
    return " ".join(text.replace("…", "...").translate(_PLAIN).lower().split())


@pytest.fixture
async def recorded(
    postgres_store: PostgresStore, namespace: str, data: Path
) -> AsyncIterator[tuple[MemoryLedger, list[Question]]]:
    """A ledger with one session for each scenario, and the questions."""
    messages = messages_of(data / "bfcl_memory")
    config = {"profile": "none", "window": {"type": "recall", "max_tokens": BUDGET}}
    async with MemoryLedger.open(namespace=namespace, store=postgres_store, config=config) as ledger:
        for scenario, texts in messages.items():
            await ledger.add_entries(scenario, [{"role": "user", "content": text} for text in texts])
        yield ledger, questions_of(data / "bfcl_memory", messages)


def share(found: list[bool]) -> float:
    return sum(found) / len(found)


@pytest.mark.full
async def test_the_first_five_hits_hold_the_evidence(
    recorded: tuple[MemoryLedger, list[Question]], capsys: pytest.CaptureFixture[str]
) -> None:
    ledger, questions = recorded
    assert len(questions) == 155
    hit, near = [], []
    for question in questions:
        found = await ledger.search(question.text, session_id=question.scenario, top_k=5)
        versions = {each.version for each in found}
        around = versions | {entry.version for each in found for entry in (*each.before, *each.after)}
        hit.append(bool({at + 2 for at in question.evidence} & versions))  # the first message is version 2
        near.append(bool({at + 2 for at in question.evidence} & around))
    with capsys.disabled():
        print(f"\nsearch@5 finds {share(hit):.3f} of the evidence, {share(near):.3f} with neighbours")
    assert share(hit) >= 0.955


@pytest.mark.full
async def test_a_small_window_recalls_the_evidence(
    recorded: tuple[MemoryLedger, list[Question]], capsys: pytest.CaptureFixture[str]
) -> None:
    """The control: the newest turns alone, at the same budget, hold a third of it."""
    ledger, questions = recorded
    stored = [await shows(ledger, question, question.text) for question in questions]
    newest = [await shows(ledger, question, "zzzz") for question in questions]
    with capsys.disabled():
        print(f"\nat {BUDGET:,} tokens recall keeps {share(stored):.3f}, the newest turns {share(newest):.3f}")
    assert share(stored) >= 0.97
    assert share(newest) < 0.40


@pytest.mark.slow
async def test_an_embedder_finds_more_and_loses_nothing_among_ten(
    recorded: tuple[MemoryLedger, list[Question]],
    postgres_store: PostgresStore,
    namespace: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The law of fusion. The control: meaning alone finds less."""
    by_words, questions = recorded
    embedder = LocalEmbedder()
    async with MemoryLedger.open(namespace=namespace, store=postgres_store, embedder=embedder) as by_both:
        await by_both.embed_pending()
        both = [await places(by_both, each) for each in questions]
    words = [await places(by_words, each) for each in questions]
    monkeypatch.setenv("MEMORY_LEDGER_SEARCH_RANKING", '{"words": 0, "meaning": 1}')
    async with MemoryLedger.open(namespace=namespace, store=postgres_store, embedder=embedder) as by_meaning:
        meaning = [await places(by_meaning, each) for each in questions]
    assert within(both, 5) >= 0.97
    assert within(both, 10) >= within(words, 10)
    assert within(meaning, 10) < within(words, 10)


async def places(ledger: MemoryLedger, question: Question) -> int:
    """Return the place of the first hit that is evidence; 0 if none of ten is."""
    found = await ledger.search(question.text, session_id=question.scenario, top_k=10, around=0)
    evidence = {at + 2 for at in question.evidence}
    return next((place for place, each in enumerate(found, start=1) if each.version in evidence), 0)


def within(found: list[int], most: int) -> float:
    return share([0 < place <= most for place in found])


async def shows(ledger: MemoryLedger, question: Question, query: str) -> bool:
    context = await ledger.get_context(question.scenario, query=query)
    current = context.entries[-1]  # the last message is an open turn, which is outside the budget
    assert context.tokens - current.tokens <= BUDGET
    versions = [entry.version for entry in context.entries]
    assert versions == sorted(versions)
    return bool({at + 2 for at in question.evidence} & set(versions))
