"""The law of counts: an entry's tokens are never below nine tenths of what a request carries of it. Source: R-TOK-8."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from ledger.formats.messages.message_intake import read_messages
from ledger.llm.tokenizers import TOKENIZERS
from ledger.ports import Count, Countable
from ledger.session.entry_drafts import draft_entry
from tests.support.block_kinds import KINDS
from tests.support.carried import Made

SHARE = 0.9
Counts = Callable[[Countable], Count]


@dataclass
class TooLow(AssertionError):
    """A count that is below the share."""

    kind: str
    counted: int
    sent: int


def counted(messages: list[dict[str, Any]], count: Counts) -> int:
    entries, _ = read_messages(messages)
    return sum(count(draft_entry(raw)).tokens for raw in entries)


def check(kind: str, made: Made, count: Counts) -> None:
    messages, sent = made
    tokens = counted(messages, count)
    if tokens < SHARE * sent:
        raise TooLow(kind, tokens, sent)


def check_histories(number: int, count: Counts, *, tokenizer: str = "o200k_base") -> None:
    seed = secrets.randbits(32)
    print(f"seed {seed} with {tokenizer}")
    random = Random(seed)
    for _ in range(number):
        history = [(kind, KINDS[kind](random)) for kind in random.choices(sorted(KINDS), k=random.randint(1, 12))]
        for kind, made in history:
            check(kind, made, count)
        check("all", ([m for _, (ms, _) in history for m in ms], sum(sent for _, (_, sent) in history)), count)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_each_kind_of_block_is_counted__R_TOK_8(kind: str) -> None:
    for number in range(5):
        check(kind, KINDS[kind](Random(f"{kind} {number}")), TOKENIZERS["o200k_base"].count)


def test_counts_of_random_histories_are_not_too_low__LAW_30() -> None:
    check_histories(100, TOKENIZERS["o200k_base"].count)


@pytest.mark.slow
def test_counts_of_2000_random_histories_are_not_too_low__LAW_30() -> None:
    check_histories(2_000, TOKENIZERS["o200k_base"].count)


def test_the_law_catches_a_count_of_the_text_alone() -> None:
    counter = TOKENIZERS["o200k_base"]
    with pytest.raises(TooLow):
        check_histories(100, lambda item: counter.count_text(item.content))


def test_the_law_catches_a_count_without_media() -> None:
    def count(item: Countable) -> Count:
        whole, text = TOKENIZERS["o200k_base"].count(item), TOKENIZERS["o200k_base"].count_text(item.content)
        return text if "image" in str(item.data) else whole

    with pytest.raises(TooLow):
        check_histories(100, count)


@pytest.mark.parametrize("tokenizer", ["cl100k_role", "approximate", "agentary"])
def test_every_tokenizer_counts_more_than_the_text__R_TOK_8(tokenizer: str) -> None:
    counter = TOKENIZERS[tokenizer]
    for kind in ("anthropic thinking", "anthropic image", "responses encrypted reasoning"):
        messages, _ = KINDS[kind](Random(7))
        entries, _ = read_messages(messages)
        found = [counter.count(draft_entry(raw)) for raw in entries]
        assert found[-1].tokenizer.endswith("+request") or found[0].tokenizer.endswith("+request")
        assert sum(each.tokens for each in found) > sum(counter.count_text(raw["content"]).tokens for raw in entries)


def test_text_alone_keeps_its_count_and_the_name_of_its_tokenizer() -> None:
    found = TOKENIZERS["o200k_base"].count(draft_entry({"role": "user", "content": "Hello, how are you?"}))
    assert found == Count(6, "o200k_base")
