"""How a program gets its messages its own way, against R-002-8."""

from collections.abc import Iterable

import pytest

from ledger.events import JsonObject
from ledger.memory import MemoryLedger
from ledger.session.views import window_of
from projections.entries import Entry
from projections.formatters import FORMATTERS, DefaultFormatter
from projections.prompts import marked
from projections.summaries import Summary
from tests.support.driver import Driven, Scripted
from tests.support.specification import given

SMALL = {"max_entries": 4, "recent_window": 1, "min_entries_to_compress": 1}


def formatted(notation: str, formatter: DefaultFormatter) -> list[JsonObject]:
    return formatter.format_messages(given({"profile": "none"}, notation).state.window.entries)


def test_the_default_formatter_shows_roles_and_renders_results_as_a_user_would_paste_them() -> None:
    """R-002-8, R-GEN-5: seed 002 shows a result with role user."""
    *shown, context = formatted("i u c1 r1 a p q x", DefaultFormatter())
    assert shown == [
        {"role": "system", "content": "i 1"},
        {"role": "user", "content": "u 2"},
        {"role": "assistant", "content": "c1 3"},
        {"role": "user", "content": marked("tool1: r1 4")},
        {"role": "assistant", "content": "a 5"},
        {"role": "user", "content": "p 6"},
        {"role": "assistant", "content": "q 7"},
    ]
    assert context == {"role": "user", "content": marked("Context: x 8")}, "what a file says is data"


def test_with_metadata_each_message_begins_with_its_kind() -> None:
    """R-002-8."""
    shown = formatted("u c1 r1 q", DefaultFormatter(include_metadata=True))
    assert [message["content"] for message in shown] == [
        "[message] u 1",
        "[tool_call] c1 2",
        f"[tool_result] {marked('tool1: r1 3')}",
        "[step_result] q 4",
    ]


def test_a_summary_is_shown_as_what_a_user_says_under_its_header() -> None:
    """R-GEN-5, R-WIN-3."""
    session = Driven(SMALL, Scripted("They talked.")).add("u9 a9 u9 a9 u9")
    summary, entry = DefaultFormatter().format_messages(window_of(session.state).items)
    assert summary == {"role": "user", "content": "[Previous conversation summary]\nThey talked."}
    assert entry == {"role": "user", "content": "u9 5"}


def test_results_steps_and_system_prompts() -> None:
    """R-002-8: objects become canonical JSON."""
    formatter = DefaultFormatter()
    assert formatter.format_tool_results({"geo": {"lon": 2, "lat": "Ä"}, "shell": "ok"}) == (
        'geo: {"lat":"Ä","lon":2}\nshell: ok'
    )
    assert formatter.format_step_instruction("plan", "Make a plan.") == "[plan] Make a plan."
    assert formatter.format_system_prompt("Be brief.") == "Be brief."
    assert formatter.format_system_prompt("Be brief.", "It is May.") == f"Be brief.\n\n{marked('It is May.')}"


class Loud:
    """A formatter of the caller's own."""

    def format_messages(self, items: Iterable[Entry | Summary]) -> list[JsonObject]:
        return [{"role": "user", "content": item.content.upper()} for item in items if isinstance(item, Entry)]


async def test_a_config_names_a_registered_formatter_and_a_program_may_pass_its_own(
    ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R-002-8."""
    await ledger.add_user_message("s", "hello")
    assert (await ledger.get_context("s")).formatted() == [{"role": "user", "content": "hello"}]
    await ledger.update_config("s", {"formatter": "labelled"})
    assert (await ledger.get_context("s")).formatted() == [{"role": "user", "content": "[message] hello"}]
    assert (await ledger.get_context("s")).formatted(Loud()) == [{"role": "user", "content": "HELLO"}]
    monkeypatch.setitem(FORMATTERS, "loud", Loud())
    await ledger.update_config("s", {"formatted_by": "loud"})
    assert (await ledger.get_context("s")).formatted() == [{"role": "user", "content": "HELLO"}]
