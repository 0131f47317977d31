"""The summary that quotes what says most. Source: R-SUM-11, R-SUM-12."""

import random
import re
import time
from collections.abc import Sequence
from statistics import median

import pytest

from ledger.llm.summarizers.extractive import Extractive, extract, terms
from ledger.llm.summarizers.overview import overview_of
from ledger.llm.tokenizers import TOKENIZERS
from projections.entries import Entry
from projections.prompts import SummaryRequest
from tests.summarizers.test_overview import call, entries, result, said, user
from tests.support.driver import Driven

WORDS = [
    "the",
    "and",
    "of",
    "it",
    "was",
    "we",
    "go",
    "to",
    "see",
    "red",
    "blue",
    "seat",
    "flight",
    "order",
    "paid",
    "Rome",
    "Paris",
    "Ann",
    "Bob",
    "E12",
    "20418",
    "17:00",
]
CHATTER = "Well, that is nice to hear and we will see how it goes."
_LINE = re.compile(r"\[(\d+)\] ([^:]+): (.*)")


def counting(name: str = "o200k_base"):
    return lambda text: TOKENIZERS[name].count_text(text).tokens


def summary(texts: Sequence[Entry], budget: int, folded: Sequence[str] = (), tokenizer: str = "o200k_base") -> str:
    return extract(texts, folded, budget=budget, count=counting(tokenizer))


def random_talk(chance: random.Random, length: int) -> tuple[Entry, ...]:
    def sentence() -> str:
        return " ".join(chance.choices(WORDS, k=chance.randint(1, 15))) + chance.choice([".", "?", "\n", "。", "..."])

    def text() -> str:
        return "".join(f"{sentence()} " for _ in range(chance.randint(1, 6)))

    kinds = (user, said, lambda content: result("shell", content), lambda _: call("shell"))
    return entries(*(chance.choice(kinds)(text()) for _ in range(length)))


def check_quotes(text: str, texts: Sequence[Entry], budget: int, tokenizer: str) -> None:
    """Every line after the overview quotes the entry of its version, in order, and the whole fits the budget."""
    head = overview_of(texts).lines
    lines = text.splitlines()
    quoted = [match for line in lines if (match := _LINE.fullmatch(line))]
    shown = len(lines) - len(quoted)
    assert lines[:shown] == head[:shown]
    assert [int(match[1]) for match in quoted] == sorted(int(match[1]) for match in quoted)
    for match in quoted:
        content = " ".join(texts[int(match[1]) - 1].content.split())
        assert all(piece in content for piece in match[3].split(" … "))
    assert counting(tokenizer)(text) <= budget or lines == head[:2]


@pytest.mark.parametrize("tokenizer", sorted(TOKENIZERS))
def test_a_summary_quotes_word_for_word_with_versions_within_its_budget(tokenizer: str, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(25):
        texts, budget = random_talk(chance, chance.randint(1, 20)), chance.randint(1, 300)
        text = summary(texts, budget, tokenizer=tokenizer)
        assert text == summary(texts, budget, tokenizer=tokenizer)
        check_quotes(text, texts, budget, tokenizer)


@pytest.mark.parametrize(
    "fault",
    [
        lambda text: text.replace("[2]", "[3]"),
        lambda text: text.replace("Noted: Rome", "Noted: Oslo"),
        lambda text: text.replace("Noted: Rome.", "Noted: Rome." + " … Noted: Rome." * 20),
        lambda text: "\n".join([*text.splitlines()[:-2], *reversed(text.splitlines()[-2:])]),
    ],
)
def test_a_wrong_quote_mark_order_or_length_is_found(fault) -> None:
    texts = entries(user("I live here. Hm."), said("Noted: Rome."), user("Call me after 17:00."))
    text = summary(texts, 60)
    check_quotes(text, texts, 60, "o200k_base")
    with pytest.raises(AssertionError):
        check_quotes(fault(text), texts, 60, "o200k_base")


@pytest.mark.parametrize(
    ("fact", "chatter"),
    [
        ("My order number is BB-20418.", CHATTER),
        ("Meine Mutter heißt Friederike und wohnt in Augsburg.", "Ja, das ist gut so und wir sehen dann weiter."),
        ("Мой рейс вылетает в 17:45 из Шереметьево.", "Да, это хорошо, и мы посмотрим, как пойдёт."),
        ("私の誕生日は7月14日です。", "はい、そうですね。"),
        ("我对花生严重过敏。", "好的，我们再看看吧。"),  # noqa: RUF001 - Chinese
        ("숙소는 부산 해운대 1203호입니다.", "네, 좋아요."),
    ],
)
def test_a_fact_survives_between_small_talk_in_any_language(fact: str, chatter: str) -> None:
    talk = [user(chatter), said(chatter)] * 10
    talk[7:7] = [user(fact)]
    text = summary(entries(user("Hello."), *talk, user("Bye.")), 100)
    assert f"[9] User: {fact}" in text.splitlines()


def test_what_is_said_twice_is_quoted_once() -> None:
    texts = entries(user("Hello."), *[user("My dog is called Bruno.")] * 5, user("Bye."))
    assert summary(texts, 200).count("Bruno") == 1


def test_a_tool_is_shown_by_its_outcome() -> None:
    log = "\n".join(f"step {number} of the build" for number in range(80))
    texts = entries(
        user("Go."), call("make"), result("make", f"{log}\nfatal: disk full\n{log}", "error"), call("test"),
        result("test", "collected\n41 passed, 2 failed in 3.20s", "ok"), user("Thanks."),
    )  # fmt: skip
    text = summary(texts, 100)
    assert "[3] make error: fatal: disk full" in text
    assert "[5] test ok: collected 41 passed, 2 failed in 3.20s" in text


def test_a_thought_in_a_message_does_not_cut_the_summary() -> None:
    """An answer of a model loses what follows an open mark of a thought; a quote does not."""
    session = Driven({"max_entries": 2, "recent_window": 0, "min_entries_to_compress": 1}, Extractive())
    session.add("u900", content="What does <think> mean? My key is K-7781.").add("a u")
    assert "K-7781" in session.completed[0].text


def test_summaries_of_summaries_do_not_grow_and_keep_their_marks() -> None:
    folded: list[str] = []
    for number in range(40):
        fact = "My passport number is X9931. " if number == 1 else ""
        texts = entries(said(f"Noted {number}, {CHATTER}"), user(f"{fact}{CHATTER} Then {number}."))
        folded = [summary(texts, 150, folded)]
        assert counting()(folded[0]) <= 150
    assert folded[0].startswith("[Previous conversation summary]\n40 user messages\n")
    assert "[2] User: My passport number is X9931." in folded[0]


def test_progressive_summaries_stay_within_a_quarter_of_the_limit() -> None:
    session = Driven({"compactions": [{"type": "progressive", "context_window": 2_000}]}, Extractive())
    chance = random.Random(1)
    for _ in range(150):
        words = " ".join(f"{chance.choice(WORDS)}{chance.randrange(1_000)}" for _ in range(20))
        session.add("u60", content=words)
    assert len(session.completed) > 5
    assert max(done.tokens_after for done in session.completed) <= 350


def test_summaries_that_pile_up_leave_room_for_messages() -> None:
    """Each gets a part of what is left of a quarter of the limit, so compactions do not become more frequent."""
    session = Driven({"max_tokens": 4_000, "recent_window": 5}, Extractive())
    for number in range(400):
        session.add("u60", content=f"Fact {number}: the code of door {number} is {number * 7919}.")
    sizes = [done.tokens_after for done in session.completed]
    assert sum(sizes) <= 1_000 + 100 * len(sizes)
    assert len(sizes) < 400 * 60 / 2_000


async def test_it_is_a_summarizer_with_a_budget_of_its_own() -> None:
    request = SummaryRequest(
        messages=(), template_hash="", entries=entries(user("I live in Rome.")), folded=("Before.",)
    )
    assert (await Extractive().summarize(request)).text.splitlines() == [
        "[Previous conversation summary]", "1 user message", 'First: "I live in Rome."', "Before."
    ]  # fmt: skip


def test_words_are_cut_where_writing_has_no_blanks() -> None:
    assert terms("Tel. 17:00, user@example.com 東京都") == ["Tel", "17:00", "user@example.com", "東京", "京都"]


def test_a_block_of_2000_tokens_takes_at_most_30_milliseconds() -> None:
    texts = random_talk(random.Random(2), 70)
    assert sum(counting()(entry.content) for entry in texts) > 2_000

    def seconds() -> float:
        begin = time.process_time()
        summary(texts, 600)
        return time.process_time() - begin

    assert median(seconds() for _ in range(5)) < 0.03
