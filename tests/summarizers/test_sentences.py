"""What an extractive summary may quote. Source: R-SUM-11."""

import pytest

from ledger.llm.summarizers.sentences import sentences_before, sentences_of, split
from tests.summarizers.test_overview import context, entries, result, said


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("I live in Rome. Do you? Yes!", ["I live in Rome.", "Do you?", "Yes!"]),
        ('He said "No." Then he left.', ['He said "No."', "Then he left."]),
        (
            "Mr. J. Smith paid 3.50 for it, i.e. too much. Fine.",
            ["Mr. J. Smith paid 3.50 for it, i.e. too much.", "Fine."],
        ),
        ("See www.example.com/a.b?c=1 now", ["See www.example.com/a.b?c=1 now"]),
        ("one\n- two\n* three\n1. four\n\n---\n# five", ["one", "two", "three", "1. four", "five"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["a | b |", "1 | 2 |"]),
        ("我住在北京。你呢？我也是！", ["我住在北京。", "你呢？", "我也是！"]),  # noqa: RUF001 - Chinese
        ("मैं दिल्ली में हूँ। और तुम?", ["मैं दिल्ली में हूँ।", "और तुम?"]),
        ("أسكن في القاهرة. وأنت؟ نعم", ["أسكن في القاهرة.", "وأنت؟", "نعم"]),
        (" \n ...\n", []),
        ("x" * 700, ["x" * 300, "x" * 300, "x" * 100]),
        (("word " * 80).strip(), [("word " * 60).strip(), ("word " * 20).strip()]),
    ],
)
def test_a_text_is_cut_into_sentences_lines_items_and_rows(text: str, sentences: list[str]) -> None:
    assert list(split(text)) == sentences


def test_of_a_failed_tool_the_first_line_that_says_so_weighs_most() -> None:
    trace = "Traceback (most recent call last):\n  File x\nValueError: bad seat\nsee the log"
    found = list(sentences_of(entries(result("book", trace, "error"))[0]))
    assert {sentence.speaker for sentence in found} == {"book error"}
    assert max(found, key=lambda sentence: sentence.weight).text == "ValueError: bad seat"
    assert "see the log" in [sentence.text for sentence in found]


def test_a_failed_tool_without_a_word_is_named_too() -> None:
    (only,) = sentences_of(entries(result("book", " ", "error"))[0])
    assert (only.speaker, only.text) == ("book error", "without a message")


def test_code_counts_less_than_prose() -> None:
    prose, code, after = sentences_of(entries(said("Try it:\n```\nx = 1\n```\nDone."))[0])
    assert code.weight < prose.weight == after.weight


def test_who_speaks_is_named_as_in_the_transcript_and_by_name() -> None:
    named = {"role": "user", "content": "Hi there", "metadata": {"name": "Ann: the\n boss"}}
    speakers = [next(iter(sentences_of(entry))).speaker for entry in entries(said("Hi"), context("a"), named)]
    assert speakers == ["Assistant", "Context", "User (Ann the boss)"]


def test_a_very_long_entry_is_read_at_both_ends() -> None:
    found = [sentence.text for sentence in sentences_of(entries(said("Begin.\n" + "x\n" * 50_000 + "End."))[0])]
    assert (found[0], found[-1], len(found) < 10_100) == ("Begin.", "End.", True)


def test_marks_of_an_earlier_summary_stay() -> None:
    found = list(sentences_before(["[3] User: I live in Rome. … It rains.", "They talked.", "[x] User: no"]))
    assert [(sentence.version, sentence.speaker, sentence.text) for sentence in found] == [
        (3, "User", "I live in Rome."),
        (3, "User", "It rains."),
        (None, "", "They talked."),
        (None, "", "[x] User: no"),
    ]
