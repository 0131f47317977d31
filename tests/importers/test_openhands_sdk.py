"""Events of the OpenHands agent SDK. Source: adapters IN-23."""

import json
from typing import Any

import pytest

from ledger.errors import ImportRefused
from ledger.formats.importers import documents, read
from ledger.stores.in_memory import InMemoryStore
from tests.support.importer_samples import SAMPLES
from tests.support.ledgers import ledger_over


async def shown(data: bytes, shape: str = "messages") -> tuple[list[Any], Any]:
    """Return the messages of the context after an import of *data*, in a shape, and the result."""
    ledger = ledger_over(InMemoryStore())
    done = await ledger.import_conversations(read(documents(data), name="file"))
    context = await ledger.get_context("file")
    return context.messages if shape == "messages" else getattr(context, shape)(), done


async def test_events_are_what_the_agent_sent__IN_23() -> None:
    messages, done = await shown((SAMPLES / "openhands_sdk_events.jsonl").read_bytes())
    assert [message["role"] for message in messages] == [
        *("system", "user", "assistant", "tool", "tool", "assistant", "user", "assistant", "tool")
    ]
    assert messages[0]["content"] == "You repair pumps.\nThe workshop is at /srv/pumps."
    assert messages[1]["content"] == "Why does pump 7 stop?\n[image_url]\nPumps have logs in log/."
    assert (messages[2]["content"], len(messages[2]["tool_calls"])) == ("I read the log.", 2)
    assert messages[3]["content"] == "valve stuck"
    assert messages[-1]["content"] == "Action rejected: not now"
    assert dict(done.other_lines) == {"ConversationStateUpdateEvent": 1}
    assert done.notes == ()


async def test_thinking_goes_back_in_the_shape_that_it_came_in__IN_23() -> None:
    data = (SAMPLES / "openhands_sdk_events.jsonl").read_bytes()
    request, _ = await shown(data, "as_anthropic")
    thinking = [block for message in request["messages"] for block in message["content"] if block["type"] == "thinking"]
    assert thinking == [{"type": "thinking", "thinking": "The log will tell.", "signature": "c2ln"}]
    request, _ = await shown(data, "as_responses")
    reasoning = next(at for at, item in enumerate(request["input"]) if item.get("type") == "reasoning")
    assert request["input"][reasoning]["encrypted_content"] == "ZW5j"
    assert request["input"][reasoning + 1]["call_id"] == "call_3"


async def test_a_condensation_leaves_the_window_that_the_agent_had__IN_23() -> None:
    messages, done = await shown((SAMPLES / "openhands_sdk_condensed.json").read_bytes())
    texts = [str(message["content"] or "").rpartition("\n")[2] for message in messages]
    assert texts == [
        "The workshop is at /srv/pumps.",
        "Pumps have logs in log/.",
        "The valve of pump 7 is stuck.",
        "Open it.",
        "",
        "Action rejected: not now",
        "Now open it.",
    ]
    assert done.notes == ()


def said(number: int, **fields: Any) -> dict[str, Any]:
    text = [{"type": "text", "text": f"message {number}"}]
    about = {"id": f"e{number}", "timestamp": "2026-03-02T09:00:00", "source": "user", "kind": "MessageEvent"}
    return {**about, "llm_message": {"role": "user", "content": text}, **fields}


def condensed(number: int, **fields: Any) -> dict[str, Any]:
    about = {"id": f"e{number}", "timestamp": "2026-03-02T09:00:00", "source": "environment", "kind": "Condensation"}
    return {**about, "llm_response_id": "r", **fields}


async def window_of(*events: dict[str, Any]) -> tuple[list[str], list[str]]:
    messages, done = await shown(b"\n".join(json.dumps(event).encode() for event in events))
    return [str(message["content"]).rpartition("\n")[2] for message in messages], [note.kind for note in done.notes]


async def test_a_summary_without_a_place_is_in_no_request__IN_23() -> None:
    assert await window_of(said(1), said(2), condensed(3, forgotten_event_ids=["e1"], summary="a summary")) == (
        ["message 2"],
        [],
    )


async def test_an_earlier_summary_that_stays_is_said__IN_23() -> None:
    first = condensed(3, forgotten_event_ids=["e1"], summary="one", summary_offset=0)
    both = condensed(4, forgotten_event_ids=["e2"], summary="two", summary_offset=1)
    instead = condensed(4, forgotten_event_ids=["e2", "e3-summary"], summary="two", summary_offset=0)
    assert await window_of(said(1), said(2), first, instead, said(5)) == (["two", "message 5"], [])
    assert (await window_of(said(1), said(2), first, both, said(5)))[1] == ["window_not_known"]


async def test_a_conversation_that_goes_on_from_an_earlier_event_is_a_rewind__IN_23() -> None:
    events = [said(1), said(2, parent_id="e1"), said(3, parent_id="e2"), said(4, parent_id="e1")]
    assert await window_of(*events) == (["message 1", "message 4"], ["rewind"])
    from_the_start = [*events[:3], said(4, parent_id="__root__")]
    assert await window_of(*from_the_start) == (["message 4"], ["rewind"])


def test_a_file_of_one_event_says_how_to_join_them__IN_23() -> None:
    name = "event-00001-0b5e0001-aaaa-4bbb-8ccc-000000000001"
    with pytest.raises(ImportRefused, match="join its files into one"):
        list(read(documents(json.dumps(said(1)).encode()), name=name))
