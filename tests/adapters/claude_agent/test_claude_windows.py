"""The window of a session of the Claude Agent SDK is what its agent would send next. Source: adapters CL-10."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from ledger.adapters.claude_agent import LedgerSessionStore
from ledger.adapters.claude_agent.claude_window import AgentWindow
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.importers.test_imported_windows import talk
from tests.importers.test_window_laws import sent
from tests.support.agent_logs import boundary, claude, claude_log, summary, uuid
from tests.support.ledgers import ledger_over

KEY = {"project_key": "garden", "session_id": "s"}
Lines = Sequence[dict[str, Any]]


async def shown(ledger: MemoryLedger) -> list[str]:
    return await sent(ledger, "s", user_id="garden")


async def notes(ledger: MemoryLedger) -> list[str]:
    found = await ledger.get_transcript("s", user_id="garden")
    return [entry.metadata["import_note"]["kind"] for entry in found if "import_note" in (entry.metadata or {})]


def kept() -> list[dict[str, Any]]:
    """Four messages, a compaction that keeps the third and fourth, and a prompt."""
    about = {"preservedSegment": {"headUuid": uuid(3), "anchorUuid": uuid(6), "tailUuid": uuid(4)}}
    return [*talk(4), boundary(5, **about), summary(6, 5, "a summary"), claude(7, 4, "user", "Go on.")]


@pytest.mark.parametrize("size", [1, 2, 100])
async def test_after_a_compaction_the_window_is_the_summary_and_what_was_kept__CL_10(
    sessions: LedgerSessionStore, opened: MemoryLedger, size: int
) -> None:
    lines = kept()
    for start in range(0, len(lines), size):
        await sessions.append(KEY, lines[start : start + size])
    assert await shown(opened) == ["a summary", "message 3", "message 4", "Go on."]
    assert await sessions.load(KEY) == lines
    assert await notes(opened) == []
    assert (await opened.verify()).ok


async def test_a_rewind_takes_what_it_left_behind_out_of_the_window__CL_10(
    sessions: LedgerSessionStore, opened: MemoryLedger
) -> None:
    lines = [*talk(4), claude(5, 2, "user", "Instead, this.")]
    await sessions.append(KEY, lines[:4])
    await sessions.append(KEY, lines[4:])
    assert await shown(opened) == ["message 1", "message 2", "Instead, this."]
    assert await sessions.load(KEY) == lines
    assert await notes(opened) == ["rewind"]


async def test_lines_that_are_no_messages_and_lines_of_agents_are_not_shown__CL_10(
    sessions: LedgerSessionStore, opened: MemoryLedger
) -> None:
    other = {"type": "system", "uuid": uuid(3), "parentUuid": uuid(2), "content": "hook ran"}
    agent = claude(4, None, "user", "Find the frost date.", isSidechain=True, agentId="a1")
    lines = [{"type": "mode", "mode": "plan"}, *talk(2), other, agent, claude(5, 3, "user", "Go on.")]
    await sessions.append(KEY, lines)
    assert await shown(opened) == ["message 1", "message 2", "Go on."]
    assert await sessions.load(KEY) == lines
    subkey = {**KEY, "subpath": "subagents/agent-a1"}
    await sessions.append(subkey, [agent])
    found = await opened.get_context("s#~subagents%2Fagent-a1", user_id="garden")
    assert [each["content"] for each in found.messages] == ["Find the frost date."]


@pytest.mark.parametrize("parent", [None, "ffffffff-0000-4000-8000-000000000001"])
async def test_a_prompt_without_a_known_parent_takes_nothing_away_and_says_so__CL_10(
    sessions: LedgerSessionStore, opened: MemoryLedger, parent: str | None
) -> None:
    await sessions.append(KEY, talk(2))
    await sessions.append(KEY, [claude(3, parent, "user", "Where?")])
    assert await shown(opened) == ["message 1", "message 2", "Where?"]
    assert await notes(opened) == ["window_not_known"]


async def wrong(seeds: range) -> list[int]:
    """Return the seeds of logs whose window is another, appended in parts."""
    found = []
    for seed in seeds:
        chance = random.Random(seed)
        lines, expected = claude_log(chance)
        ledger = ledger_over(InMemoryStore())
        store = LedgerSessionStore(ledger=ledger)
        start = 0
        while start < len(lines):
            end = start + chance.randint(1, 6)
            await store.append(KEY, lines[start:end])
            start = end
        if await shown(ledger) != expected or await store.load(KEY) != lines or not (await ledger.verify()).ok:
            found.append(seed)
    return found


@pytest.mark.usefixtures("sdk")
async def test_the_window_is_what_the_lines_say__CL_10() -> None:
    start = random.randrange(10**9)
    failed = await wrong(range(start, start + 100))
    assert not failed, f"seeds {failed[:5]}, from {start}"


@pytest.mark.usefixtures("sdk")
async def test_a_window_that_is_not_followed_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: as it was, all lines stayed in the window."""
    monkeypatch.setattr(AgentWindow, "_needs_past", lambda *_: False)
    assert await wrong(range(30))


async def test_a_text_that_is_sent_for_a_long_result_is_said_so_and_the_line_stays__CL_10(
    sessions: LedgerSessionStore, opened: MemoryLedger
) -> None:
    """An edit would change what the SDK loads."""
    call = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "dill " * 100}
    replaced = {"kind": "tool-result", "toolUseId": "t1", "replacement": "dill, and more in a file"}
    lines = [
        claude(1, None, "user", "Look."),
        claude(2, 1, "assistant", "", message={"role": "assistant", "id": "msg_2", "content": [call]}),
        claude(3, 2, "user", "", message={"role": "user", "content": [result]}),
        {"type": "content-replacement", "sessionId": "s", "replacements": [replaced]},
    ]
    await sessions.append(KEY, lines[:3])
    await sessions.append(KEY, lines[3:])
    assert await sessions.load(KEY) == lines
    assert await notes(opened) == ["window_not_known"]
    assert (await opened.get_stats("s", user_id="garden")).window_not_known == 1


async def test_thinking_goes_back_to_anthropic_beside_the_rest_of_its_answer__CL_10(
    sessions: LedgerSessionStore, opened: MemoryLedger
) -> None:
    def line(number: int, *content: dict[str, Any]) -> dict[str, Any]:
        made = claude(number, number - 1, "assistant", "")
        return {**made, "message": {"id": "msg_1", "role": "assistant", "content": [*content]}}

    thinking = {"type": "thinking", "thinking": "It is seven.", "signature": "c2ln"}
    call = {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 7}}
    lines = [claude(1, None, "user", "Look."), line(2, thinking), line(3, {"type": "text", "text": "I look."})]
    lines.append(line(4, call))
    await sessions.append(KEY, lines)
    assert await sessions.load(KEY) == lines
    request = (await opened.get_context("s", user_id="garden")).as_anthropic()
    assert request["messages"][1]["content"] == [thinking, {"type": "text", "text": "I look."}, call]
