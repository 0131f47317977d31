"""The head of a summary without a model. Source: R-SUM-10."""

from typing import Any

import pytest

from ledger.llm.summarizers.overview import Overview, overview_of, parted
from ledger.session.entry_drafts import draft_entry
from projections.entries import Entry


def entries(*raw: dict[str, Any]) -> tuple[Entry, ...]:
    created = []
    names = ("kind", "role", "content", "tool_name", "tool_status", "metadata")
    for version, each in enumerate(raw, start=1):
        draft = draft_entry(each)
        fields = {name: getattr(draft, name) for name in names}
        created.append(Entry(version, f"e{version}", "w", tokens=1, tokenizer="caller", recorded_us=0, **fields))
    return tuple(created)


def user(content: str) -> dict[str, Any]:
    return {"role": "user", "content": content}


def said(content: str) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def context(content: str) -> dict[str, Any]:
    return {"kind": "context", "content": content}


def call(tool: str) -> dict[str, Any]:
    return {"kind": "tool_call", "tool_name": tool}


def result(tool: str, content: str, status: str | None = None) -> dict[str, Any]:
    return {"kind": "tool_result", "tool_name": tool, "content": content, "tool_status": status}


TALK = entries(user("Help me debug"), call("shell"), result("shell", "error: x"), call("read"), user("Thanks"))


def test_two_overviews_make_that_of_both_parts() -> None:
    assert overview_of(TALK[:3]).then(overview_of(TALK[3:])) == overview_of(TALK)


@pytest.mark.parametrize("texts", [TALK, TALK[:1], TALK[1:4], ()])
def test_an_overview_is_read_from_the_summary_that_begins_with_it(texts: tuple[Entry, ...]) -> None:
    overview = overview_of(texts)
    found, rest = parted("\n".join([*overview.lines, "[1] User: Help me debug"]))
    assert (found.lines, rest) == (overview.lines, ["[1] User: Help me debug"])


@pytest.mark.parametrize("text", ["5 user messages", "They talked.\n2 errors encountered", ""])
def test_a_summary_of_another_origin_has_no_overview(text: str) -> None:
    assert parted(text) == (Overview(), text.splitlines())


def test_a_number_that_nobody_can_count_to_is_a_line_as_any() -> None:
    line = f"{'9' * 5_000} user messages"
    assert parted(f"[Previous conversation summary]\n{line}") == (Overview(), [line])


def test_a_long_list_of_tools_is_cut() -> None:
    line = overview_of(entries(*(call(f"t{number}") for number in range(30)))).lines[-1]
    assert line.startswith("Tools used: t0, t1,")
    assert line.endswith("t19, …")
