"""The summary without a model. Source: R-SUM-10."""

from typing import Any

import pytest

from ledger.session.drafts import draft_entry
from ledger.summarizers.heuristic import Heuristic, describe
from projections.entries import Entry
from projections.prompts import SummaryRequest

V_SUM_1 = """\
[Previous conversation summary]
2 user messages
First: "Help me debug this API"
Last: "Thanks"
Tools used: shell, read_file
1 error encountered"""


def entries(*raw: dict[str, Any]) -> tuple[Entry, ...]:
    created = []
    for version, each in enumerate(raw, start=1):
        draft = draft_entry(each)
        fields = {name: getattr(draft, name) for name in ("kind", "role", "content", "tool_name", "tool_status")}
        created.append(Entry(version, f"e{version}", "w", tokens=1, tokenizer="caller", recorded_us=0, **fields))
    return tuple(created)


def user(content: str) -> dict[str, Any]:
    return {"role": "user", "content": content}


def call(tool: str) -> dict[str, Any]:
    return {"kind": "tool_call", "tool_name": tool}


def result(tool: str, content: str, status: str | None = None) -> dict[str, Any]:
    return {"kind": "tool_result", "tool_name": tool, "content": content, "tool_status": status}


def test_it_lists_the_questions_the_tools_and_the_failures() -> None:
    """V-SUM-1."""
    texts = entries(
        user("Help me debug this API"),
        call("shell"),
        result("shell", "error: x"),
        call("read_file"),
        call("shell"),
        user("Thanks"),
    )
    assert describe(texts) == V_SUM_1


def test_it_states_that_there_are_no_users_and_tools() -> None:
    """V-SUM-2."""
    texts = entries({"role": "assistant", "content": "Hello."}, {"kind": "context", "content": "a file"})
    assert describe(texts) == "[Previous conversation summary]\n0 user messages"


def test_one_message_is_first_and_not_last() -> None:
    assert describe(entries(user("Hi"))) == '[Previous conversation summary]\n1 user message\nFirst: "Hi"'


@pytest.mark.parametrize(
    ("content", "quoted"),
    [("a \n\t b", "a b"), ("x" * 100, "x" * 100), ("x" * 101, "x" * 100 + "..."), ("日" * 101, "日" * 100 + "...")],
)
def test_quotes_are_one_line_of_at_most_100_characters(content: str, quoted: str) -> None:
    assert f'First: "{quoted}"' in describe(entries(user(content)))


@pytest.mark.parametrize(
    ("content", "status", "counts"),
    [
        ("all well", "error", True),
        ("Error: no", "ok", False),
        ("  Traceback (most recent call last)", None, True),
        ("EXCEPTION in thread", None, True),
        ("errors: 0", None, False),
        ("no error", None, False),
    ],
)
def test_an_error_is_known_by_its_status_or_its_first_word(content: str, status: str | None, counts: bool) -> None:
    assert ("1 error encountered" in describe(entries(result("shell", content, status)))) is counts


async def test_continued_summaries_come_first() -> None:
    request = SummaryRequest(messages=(), template_hash="", entries=entries(user("Hi")), folded=("Before.",))
    assert (await Heuristic().summarize(request)).text.startswith("Before.\n\n[Previous conversation summary]\n1 user")
