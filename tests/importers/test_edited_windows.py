"""What a coding agent changed or cleared of its window without a summary. Source: adapters IN-4, IN-16."""

import pytest

from tests.importers.test_imported_windows import shown, talk
from tests.support.agent_logs import SESSION, boundary, claude, uuid


@pytest.mark.parametrize("growing", [False, True])
async def test_a_text_that_the_agent_sends_for_a_long_result_is_shown__IN_4(growing: bool) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "dill " * 1_000}
    replaced = {"kind": "tool-result", "toolUseId": "t1", "replacement": "dill, and more in a file"}
    lines = [
        claude(1, None, "user", "Look."),
        claude(2, 1, "assistant", "", message={"role": "assistant", "id": "msg_2", "content": [call]}),
        claude(3, 2, "user", "", message={"role": "user", "content": [result]}),
        {"type": "content-replacement", "sessionId": SESSION, "replacements": [replaced]},
        claude(4, 3, "assistant", "There is dill."),
    ]
    window, done = await shown(lines, growing=growing)
    assert [text for _, text in window][-2:] == ["dill, and more in a file", "There is dill."]
    assert done.notes == ()


async def test_what_the_api_cleared_is_said_so_once__IN_4() -> None:
    managed = {"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 8}]}
    said = [claude(number, number - 1, "assistant", f"message {number}") for number in (5, 6)]
    for line in said:
        line["message"]["context_management"] = managed
    _, done = await shown([*talk(4), *said])
    assert [(note.kind, note.line) for note in done.notes] == [("window_not_known", 5)]


async def test_lines_that_were_cut_out_leave_the_window__IN_4() -> None:
    cut = {**boundary(5), "subtype": "snip_boundary", "snipMetadata": {"removedUuids": [uuid(2), uuid(3)]}}
    window, done = await shown([*talk(4), cut, claude(6, 4, "user", "Go on.")])
    assert [text for _, text in window] == ["message 1", "message 4", "Go on."]
    assert done.notes == ()


async def test_results_that_claude_code_cleared_are_said_so__IN_4() -> None:
    cleared = {**boundary(5), "subtype": "microcompact_boundary", "microcompactMetadata": {"compactedToolIds": ["t1"]}}
    _, done = await shown([*talk(4), cleared, claude(6, 5, "user", "Go on.")])
    assert [(note.kind, note.line) for note in done.notes] == [("window_not_known", 5)]
