"""What ``search`` shows: a line of the text around the words asked for, and nothing that drives a terminal."""

import pytest

from ledger.cli.search_command import marked
from projections.words.words import words


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("My name is Michael", "michael", ["Michael"]),
        ("name after name", "NAME?", ["name", "name"]),
        ("renamed", "name", []),
        ("two dogs, one doghouse", "dog", ["dogs"]),
        ("nothing", "", []),
        ("a+b (c)", "+ ( [", []),
        ("정원 펌프를 고쳐", "펌프", ["펌프"]),
    ],
)
def test_the_words_asked_for_are_marked(text: str, query: str, expected: list[str]) -> None:
    line = marked(text, words(query), 60)
    assert [line.plain[span.start : span.end] for span in line.spans] == expected
    assert line.plain == text


def test_a_long_text_is_shown_around_the_longest_word() -> None:
    line = marked("filler " * 100 + "the walnut\nis here " + "filler " * 100, ["the", "walnut"], 60)
    assert line.plain.startswith("…")
    assert "the walnut is here" in line.plain
    assert len(line.plain) <= 60


def test_what_would_drive_a_terminal_is_spelled_out() -> None:
    """Trust I-34, I-59."""
    line = marked("walnut \x1b[31m red \u202e", ["walnut"], 60)
    assert "\x1b" not in line.plain
    assert "\\x1b[31m" in line.plain
