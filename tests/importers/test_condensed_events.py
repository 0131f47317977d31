"""What OpenHands keeps from its agent, and where it puts the summary of a condensation. Source: adapters IN-16."""

from typing import Any

import pytest

from tests.importers.test_imported_windows import event, shown


def condensed(number: int, **args: Any) -> dict[str, Any]:
    return event(number, action="condensation", source="agent", args={"summary": "a summary", **args})


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (0, ["a summary", "message 1", "message 4", "message 7"]),
        (1, ["message 1", "a summary", "message 4", "message 7"]),
        (2, ["message 1", "message 4", "a summary", "message 7"]),
    ],
)
async def test_the_summary_stands_at_its_offset_among_the_events_that_are_left__IN_16(
    offset: int, expected: list[str]
) -> None:
    lines = [event(1), event(2), event(3), event(4), condensed(5, forgotten_event_ids=[2, 3], summary_offset=offset)]
    window, done = await shown([*lines, event(7)])
    assert [text for _, text in window] == expected
    assert done.notes == ()


async def test_a_summary_without_an_offset_is_said_so__IN_16() -> None:
    window, done = await shown([event(1), event(2), condensed(3, forgotten_event_ids=[2]), event(5)])
    assert [text for _, text in window] == ["message 1", "a summary", "message 5"]
    assert [(note.kind, note.line) for note in done.notes] == [("window_not_known", 3)]


@pytest.mark.parametrize(
    "kept_back",
    [
        event(
            2, observation="agent_state_changed", source="environment", content="", extras={"agent_state": "running"}
        ),
        event(2, action="change_agent_state", source="user", args={"agent_state": "running"}),
        event(2, action="null", source="agent", args={}),
        event(2, action="run", source="agent", args={"command": "true", "hidden": True}),
    ],
    ids=["state", "change of state", "null", "hidden"],
)
async def test_events_that_the_program_keeps_from_the_agent_are_not_shown__IN_16(kept_back: Any) -> None:
    window, done = await shown([event(1), kept_back, event(3)])
    assert [text for _, text in window] == ["message 1", "message 3"]
    assert sum(done.other_lines.values()) == 1


async def test_what_another_agent_did_for_a_delegation_leaves_with_its_result__IN_16() -> None:
    call = {"tool_call_metadata": {"tool_call_id": "d1", "function_name": "delegate"}}
    lines = [
        event(1),
        event(2, action="delegate", source="agent", args={"agent": "Browser", "inputs": {}}, **call),
        event(3),
        event(4),
        event(5, observation="delegate", source="agent", content="It is open.", cause=2, **call),
        event(7),
    ]
    window, _ = await shown(lines)
    assert [text for role, text in window if role != "assistant"] == ["message 1", "It is open.", "message 7"]
    before, _ = await shown(lines[:4])
    assert [text for _, text in before][-1] == "message 4"
