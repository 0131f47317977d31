"""State and events of Google ADK as the ledger stores them, without the SDK. Source: adapters GA-1, AD-3, AD-5."""

from datetime import UTC, datetime
from typing import Any

import pytest

from ledger.adapters.google_adk.adk_events import draft_of, event_of
from ledger.adapters.google_adk.adk_state import ABOUT, app_names, parts_of, session_names, state_of, user_names
from ledger.adapters.large_items import LargeValues
from ledger.events.names import check_name
from ledger.events.strict_json import check_value
from ledger.memory import MemoryLedger

HARD: list[Any] = [
    *(None, True, 1, 1.0, 1.5, 2**80, float("inf"), "", "x\0y", "\ud800", [], {}),
    {"~json": "1"},
    {"deep": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]},
    {f"k{number}": number for number in range(1_001)},
]


def event(**fields: Any) -> dict[str, Any]:
    return {"id": "e", "invocation_id": "i", "author": "guide", "timestamp": 1_767_225_600.25, **fields}


def spoken(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return event(content={"role": "model", "parts": list(parts)}, **fields)


@pytest.mark.parametrize("value", HARD, ids=range(len(HARD)))
def test_a_value_of_state_comes_back_equal_whatever_it_is__GA_1(value: Any) -> None:
    stored = parts_of({"k": value}).session
    check_value(stored, field="data")
    found = state_of(stored)
    assert found == {"k": value}
    assert type(found["k"]) is type(value)


@pytest.mark.parametrize("key", ["k", "", "~k", "~~k", "~adk", "~json", "a b:c/d", "k" * 300, "x\0y", "é" * 200])
def test_a_key_of_state_comes_back_whatever_it_is__GA_1(key: str) -> None:
    stored = parts_of({key: 1, f"user:{key}": 2, f"app:{key}": 3})
    for number, (part, prefix) in enumerate(((stored.session, ""), (stored.user, "user:"), (stored.app, "app:")), 1):
        check_value(part, field="data")
        assert ABOUT not in part
        assert state_of({ABOUT: {}, **part}, prefix) == {f"{prefix}{key}": number}


def test_temporary_state_is_in_no_part__GA_1() -> None:
    assert parts_of({"temp:a": 1, "a": 2, "user:a": 3, "app:a": 4}) == ({"a": 2}, {"a": 3}, {"a": 4})


@pytest.mark.parametrize("part", ["a", "", "a|b", "~a", "a/b", "x" * 300, "é" * 300, "漢" * 60, "|user", ".."])
def test_names_are_valid_and_differ__AD_3(part: str) -> None:
    names = {
        session_names(part, "u", "s"),
        session_names("a", part + "u2", "s"),
        session_names("a", "u3", part + "s"),
        user_names(part, "u"),
        app_names(part),
    }
    assert len(names) == 5
    for user, session in names:
        check_name(user, field="user")
        check_name(session, field="session")
    assert session_names("a|b", "c", "s") != session_names("a", "b|c", "s")


@pytest.mark.parametrize(
    ("given", "kind", "content", "more"),
    [
        (spoken({"text": "Hi"}, {"text": " there"}), "message", "Hi there", {"role": "assistant"}),
        (spoken({"text": "Hi"}, author="user"), "message", "Hi", {"role": "user"}),
        (
            spoken({"text": "Wait."}, {"function_call": {"id": "c1", "name": "f", "args": {"x": 1}}}),
            "tool_call",
            'Wait.\nf({"x": 1})',
            {"tool_name": "f", "tool_call_id": "c1", "arguments": {"x": 1}},
        ),
        (
            spoken({"function_response": {"id": "c1", "name": "f", "response": {"result": "fine"}}}),
            "tool_result",
            "fine",
            {"tool_name": "f", "tool_call_id": "c1", "tool_status": None},
        ),
        (
            spoken({"function_response": {"id": "c1", "name": "f", "response": {"error": "no"}}}),
            "tool_result",
            '{"error": "no"}',
            {"tool_status": "error"},
        ),
        (spoken({"text": "Hm.", "thought": True}), "message", "Hm.", {"role": "assistant"}),
        (spoken({"inline_data": {"data": "AA==", "mime_type": "image/png"}}), "message", "[inline_data]", {}),
        (spoken({"text": "   "}), "message", "[text]", {}),
        (event(actions={"state_delta": {"a": 1}}), "context", "[state_delta]", {}),
        (event(error_code="SAFETY", error_message="No."), "context", "[error] No.", {}),
        (event(), "context", "[event]", {}),
        (
            event(actions={"compaction": {"compacted_content": {"role": "model", "parts": [{"text": "Before."}]}}}),
            "message",
            "Before.",
            {"role": "assistant"},
        ),
        (spoken({"text": "x\0y\ud800"}), "message", "x␀y�", {}),
        (spoken({"function_call": {"name": "n" * 600, "args": {}}}), "context", "[event]", {}),
        (spoken({"function_call": {"name": "", "args": {}}}), "message", "[function_call]", {}),
    ],
    ids=range(15),
)
async def test_an_event_is_one_entry_and_comes_back_whole__GA_1(
    ledger: MemoryLedger, given: dict[str, Any], kind: str, content: str, more: dict[str, Any]
) -> None:
    draft = draft_of(given, LargeValues())
    assert (draft.kind, draft.content) == (kind, content)
    assert {name: getattr(draft, name) for name in more} == more
    assert draft.created_at == datetime(2026, 1, 1, 0, 0, 0, 250_000, tzinfo=UTC)
    await ledger.add_entries("s", [draft])
    (entry,) = await ledger.get_transcript("s")
    assert event_of(entry) == given


def test_who_spoke_is_in_the_metadata__AD_12() -> None:
    given = spoken({"text": "Hi"}, branch="a.b", actions={"transfer_to_agent": "clerk"})
    assert draft_of(given, LargeValues()).metadata == {
        "agent": "guide",
        "run_id": "i",
        "branch": "a.b",
        "handoff_to": "clerk",
    }
    thought = draft_of(spoken({"text": "Hm.", "thought": True}), LargeValues())
    assert thought.metadata is not None
    assert thought.metadata["hidden"] is True


async def test_a_text_is_stored_once_and_reads_back_edited__AD_5(ledger: MemoryLedger) -> None:
    await ledger.add_entries("s", [draft_of(spoken({"text": "The code is 4417."}), LargeValues())])
    (entry,) = await ledger.get_transcript("s")
    assert "4417" not in str(entry.data)
    await ledger.edit_entry("s", entry.entry_id, "The code is ****.")
    (entry,) = await ledger.get_transcript("s")
    assert event_of(entry)["content"]["parts"] == [{"text": "The code is ****."}]


async def test_what_another_writer_added_is_an_event_too__AD_6(ledger: MemoryLedger) -> None:
    await ledger.add_user_message("s", "By hand.")
    await ledger.add_tool_call("s", "f", {"x": 1}, tool_call_id="c1")
    await ledger.add_tool_result("s", "f", "fine", tool_call_id="c1")
    user, call, result = map(event_of, await ledger.get_transcript("s"))
    assert (user["author"], user["content"]) == ("user", {"role": "user", "parts": [{"text": "By hand."}]})
    assert call["content"]["parts"] == [{"function_call": {"id": "c1", "name": "f", "args": {"x": 1}}}]
    answer = {"id": "c1", "name": "f", "response": {"result": "fine"}}
    assert result["content"] == {"role": "user", "parts": [{"function_response": answer}]}
