"""What a model thought is beside the answer that it led to, so that a request has it. Source: adapters IN-4, IN-11."""

import json
from typing import Any

import pytest

from ledger.formats.importers import Conversation, documents, read
from ledger.formats.messages import REQUESTS
from ledger.stores.in_memory import InMemoryStore
from projections.rendering import NO_RESULT
from tests.support.ledgers import ledger_over
from tests.support.request_rules import faults

THOUGHT = {"type": "thinking", "thinking": "A tool may know.", "signature": "c2ln"}
HIDDEN = {"type": "redacted_thinking", "data": "c2VjcmV0"}
TEXT = {"type": "text", "text": "I look."}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "zoom", "input": {"factor": 2}}


def conversations_of(data: bytes) -> list[Conversation]:
    return list(read(documents(data), name="file"))


def claude_code(*lines: list[dict[str, Any]]) -> bytes:
    """Return a transcript of a question and one answer, of which each of *lines* has some blocks."""
    common = {"sessionId": "5f0c1d2e-0000-4000-8000-000000000000", "timestamp": "2026-01-01T00:00:00Z"}
    found: list[dict[str, Any]] = [
        {**common, "type": "user", "uuid": "u0", "parentUuid": None, "message": {"role": "user", "content": "What?"}}
    ]
    for at, blocks in enumerate(lines, 1):
        message = {"id": "msg_1", "role": "assistant", "model": "m", "content": blocks}
        found.append({**common, "type": "assistant", "uuid": f"u{at}", "parentUuid": f"u{at - 1}", "message": message})
    return b"".join(json.dumps(line).encode() + b"\n" for line in found)


def anthropic(*lines: list[dict[str, Any]]) -> bytes:
    answer = {"role": "assistant", "content": [block for blocks in lines for block in blocks]}
    return json.dumps({"messages": [{"role": "user", "content": "What?"}, answer]}).encode()


@pytest.mark.parametrize("written", [claude_code, anthropic])
@pytest.mark.parametrize(
    "lines",
    [[[THOUGHT], [TEXT], [CALL]], [[THOUGHT, HIDDEN], [CALL]], [[THOUGHT], [HIDDEN], [TEXT, CALL]]],
    ids=["text", "call", "both"],
)
async def test_the_window_of_an_open_tool_loop_has_the_thinking(written: Any, lines: list[Any]) -> None:
    """The agent would have sent it; Anthropic refuses the calls without it."""
    ledger = ledger_over(InMemoryStore())
    done = await ledger.import_conversations(conversations_of(written(*lines)))
    (session,) = done.session_ids
    shown = (await ledger.get_context(session)).shown_messages
    requests = {name: make(shown, {}) for name, make in REQUESTS.items()}
    assert faults(requests) == []
    answer, pending = requests["anthropic"]["messages"][1:]
    assert answer["content"] == [block for blocks in lines for block in blocks]
    assert pending["content"] == [{"type": "tool_result", "tool_use_id": "toolu_1", "content": NO_RESULT}]
    again = await ledger.import_conversations(conversations_of(written(*lines)))
    assert again.entries == 0
