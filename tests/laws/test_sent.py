"""The law of counts, on the requests that are really made: a window counts nine tenths of each. Source: R-TOK-8.

What a request carries is measured by a walk of the test's own: the tokens of all texts in it, and for bytes what the
kind of block costs that had them.
"""

import json
import secrets
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from ledger.llm.tokenizers import TOKENIZERS, tool_tokens
from ledger.memory import MemoryLedger
from ledger.ports import Count, Countable
from ledger.stores.in_memory import InMemoryStore
from tests.support.block_kinds import SHAPES
from tests.support.carried import WORDS, Made, tokens

SHARE = 0.9
#: Names of parts, ids and kinds, which no model reads as text, and which every request has.
STRUCTURE = frozenset(
    {"type", "role", "id", "call_id", "tool_use_id", "tool_call_id", "media_type", "file_id", "status", "detail"}
    | {"format", "filename", "cache_control"}
)
CONFIGS: list[dict[str, Any]] = [
    {"profile": "none"},
    {"window": {"type": "max_tokens", "memory_max_tokens": 3_000}},
    {"window": {"type": "sliding_window", "max_tokens": 3_000}},
    {"window": {"type": "rolling", "size": 5, "unit": "entry", "order": "chronological"}},
]


class TooLow(AssertionError):
    """A window whose tokens are below the share of what its request carries."""


def texts(value: Any, key: str = "") -> Iterator[str]:
    if key in STRUCTURE:
        return
    if key == "input" and isinstance(value, dict) and value.keys() != {"arguments"}:
        yield json.dumps(value, separators=(",", ":"))
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from texts(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, str) and value not in {"[…]", "https://e.example/a.png"}:
        yield value


def carried(request: dict[str, Any], costs: dict[str, int]) -> int:
    """Return what *request* carries at least; *costs* are those of the bytes in it, by their base64 text."""
    total = 0
    for text in texts(request):
        data = text.rpartition(";base64,")[2]
        total += costs[data] if data in costs else 0 if text.startswith("data:") else tokens(text)
    return total


def bytes_of(value: Any) -> Iterator[str]:
    for text in texts(value):
        if text.startswith("data:") or (len(text) > 256 and " " not in text):
            yield text.rpartition(";base64,")[2]


def unique(made: Made, number: int) -> list[dict[str, Any]]:
    """Return messages whose calls have ids of their own, so that several units may follow each other."""
    text = json.dumps(made[0])
    for name in ("c", "w", "m", "rs", "ci", "fs", "ig", "mc", "ml", "ws", "cm"):
        text = text.replace(f'"{name}"', f'"{name}{number}"')
    for field in ("id", "tool_use_id", "call_id"):
        text = text.replace(f'"{field}": "t"', f'"{field}": "t{number}"')
    return json.loads(text)  # type: ignore[no-any-return]


async def check(random: Random, count: Callable[[Countable], Count] | None = None) -> None:
    shape = random.choice(sorted(SHAPES))
    kinds, costs = random.choices(sorted(SHAPES[shape]), k=random.randint(1, 8)), dict[str, int]()
    messages = []
    for number, kind in enumerate(kinds):
        made = SHAPES[shape][kind](random)
        costs |= dict.fromkeys(bytes_of(made[0]), made[1])
        messages += unique(made, number)
    tools = [{"name": f"t{number}", "description": " ".join(random.choices(WORDS, k=30))} for number in range(3)]
    reserve = tool_tokens(tools) if random.random() < 0.5 else 0
    config = {**random.choice(CONFIGS), "reserve_tokens": reserve}
    async with MemoryLedger.open(namespace="law", store=InMemoryStore()) as ledger:
        await ledger.add_messages("s", messages, config=config)
        context = await ledger.get_context("s")
        attachments = await ledger.get_attachments(context)
        said = context.tokens if count is None else sum(count(entry).tokens for entry in context.entries)
        for make in (context.as_anthropic, context.as_responses, context.as_openai):
            sent = carried(make(attachments), costs) + sum(map(tokens, texts(tools) if reserve else ()))
            if said + reserve < SHARE * sent:
                raise TooLow(f"{make.__name__} of {kinds} under {config}: {said} + {reserve} of {sent}")


async def check_histories(number: int, count: Callable[[Countable], Count] | None = None) -> None:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    random = Random(seed)
    for _ in range(number):
        await check(random, count)


async def test_windows_count_what_their_requests_carry__LAW_30() -> None:
    await check_histories(100)


@pytest.mark.slow
async def test_windows_of_2000_histories_count_what_their_requests_carry__LAW_30() -> None:
    await check_histories(2_000)


async def test_the_law_catches_a_count_of_the_text_alone() -> None:
    counter = TOKENIZERS["o200k_base"]
    with pytest.raises(TooLow):
        await check_histories(100, lambda item: counter.count_text(item.content))
