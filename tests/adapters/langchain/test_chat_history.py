"""Chat histories of LangChain on the ledger. Source: adapters AD-5, AD-13, LC-1."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from ledger.adapters.langchain import LedgerChatMessageHistory
from ledger.errors import InvalidInput, Unavailable
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from tests.support.ledgers import ledger_over

HARD: list[BaseMessage] = [
    SystemMessage("be brief"),
    HumanMessage(
        [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:"}}], id="h1", name="mara"
    ),
    AIMessage(
        "I look.",
        tool_calls=[
            {"name": "look", "args": {"a": 1.0, "big": 2**80}, "id": "c1"},
            {"name": "look", "args": {}, "id": None},
        ],
        invalid_tool_calls=[{"name": "look", "args": "{", "id": "c3", "error": "no JSON"}],
        usage_metadata={"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
        response_metadata={"logprob": -0.0},
    ),
    ToolMessage("found", tool_call_id="c1", artifact={"rows": [1, 2]}, status="error"),
    AIMessage("", tool_calls=[{"name": "look", "args": {"b": [1]}, "id": "c4"}]),
    ToolMessage([{"type": "text", "text": "x"}], tool_call_id="c4"),
    ChatMessage(content="x\0y\ud800", role="critic"),
    FunctionMessage(content="old", name="f"),
    HumanMessage(" "),
    AIMessage("hi", additional_kwargs={"deep": eval("[" * 40 + "]" * 40)}),
]


@pytest.fixture
def opened(store: Store, namespace: str) -> MemoryLedger:
    """A ledger over each store in turn; its config would compact."""
    return ledger_over(
        store, namespace=namespace, config={"compactions": [{"type": "token_threshold", "max_entries": 2}]}
    )


async def test_every_message_comes_back_as_it_was__LC_1(opened: MemoryLedger) -> None:
    """Source: adapters AD-4, AD-5."""
    history = LedgerChatMessageHistory("user/42", ledger=opened)
    assert await history.aget_messages() == []
    await history.aadd_messages(HARD[:4])
    await history.aadd_messages([])
    await history.aadd_messages(HARD[4:])
    await opened.settle()
    found = await history.aget_messages()
    assert found == HARD
    assert type(found[2].tool_calls[0]["args"]["a"]) is float  # type: ignore[attr-defined]
    entries = await opened.get_transcript("~user%2F42")
    assert [(entry.kind, entry.role) for entry in entries[:8]] == [
        ("message", "system"),
        ("message", "user"),
        ("message", "assistant"),
        ("tool_call", "assistant"),
        ("tool_call", "assistant"),
        ("tool_call", "assistant"),
        ("tool_result", "tool"),
        ("tool_call", "assistant"),
    ]
    await opened.edit_entry("~user%2F42", entries[-1].entry_id, "edited")
    await opened.add_user_message("~user%2F42", "from elsewhere")
    await opened.add_tool_call("~user%2F42", "look", {"a": 1}, tool_call_id="c9")
    await opened.add_tool_result("~user%2F42", "look", "seen", tool_call_id="c9")
    edited, other, call, result = (await history.aget_messages())[-4:]
    assert (other.text, result.text, result.type) == ("from elsewhere", "seen", "tool")
    assert isinstance(call, AIMessage)
    assert call.tool_calls[0]["args"] == {"a": 1}
    assert edited.type == "ai"
    assert (await opened.verify("~user%2F42")).ok


async def test_a_mapping_that_changes_a_message_is_noticed(
    opened: MemoryLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: without the message in the data, only text comes back."""
    monkeypatch.setattr("ledger.adapters.large_items.packed", lambda sdk, item, content: {"sdk": "other", "v": 1})
    history = LedgerChatMessageHistory("t", ledger=opened)
    await history.aadd_messages(HARD)
    assert await history.aget_messages() != HARD


async def test_what_is_equal_as_json_comes_back__AD_5(opened: MemoryLedger) -> None:
    """As in the histories of LangChain, which store JSON: tuples are lists, and keys are text."""
    history = LedgerChatMessageHistory("t", ledger=opened)
    odd = {"score": float("nan"), "pair": ("a", 1), "by_page": {1: "first"}}
    await history.aadd_messages([ToolMessage("found", tool_call_id="c1", artifact=odd)])
    [found] = await history.aget_messages()
    assert isinstance(found, ToolMessage)
    assert repr(found.artifact) == "{'score': nan, 'pair': ['a', 1], 'by_page': {'1': 'first'}}"


async def test_what_cannot_be_read_back_is_refused_and_nothing_is_stored(opened: MemoryLedger) -> None:
    class Odd(BaseMessage):
        type: str = "odd"

    history = LedgerChatMessageHistory("t", ledger=opened)
    for wrong in (
        Odd(content="x"),
        HumanMessage("x", additional_kwargs={"a": object()}),
    ):
        with pytest.raises(InvalidInput, match=r"messages\[1\]"):
            await history.aadd_messages([HumanMessage("first"), wrong])
    assert await history.aget_messages() == []


async def test_ten_writers_at_once_split_no_batch__AD_8(store: Store, namespace: str) -> None:
    ledgers = [ledger_over(store, namespace=namespace) for _ in range(2)]
    writers = [LedgerChatMessageHistory("t", ledger=ledgers[at % 2]) for at in range(10)]

    async def write(number: int) -> None:
        for turn in range(5):
            call: Any = {"name": "f", "args": {}, "id": f"{number}-{turn}"}
            await writers[number].aadd_messages(
                [AIMessage("", tool_calls=[call]), ToolMessage("x", tool_call_id=call["id"])]
            )

    await asyncio.gather(*map(write, range(10)))
    found = await writers[0].aget_messages()
    assert len(found) == 100
    for call, result in zip(found[::2], found[1::2], strict=True):
        assert call.tool_calls[0]["id"] == result.tool_call_id  # type: ignore[attr-defined]
    ids = [result.tool_call_id for result in found[1::2]]  # type: ignore[attr-defined]
    for number in range(10):
        assert [each for each in ids if each.startswith(f"{number}-")] == [f"{number}-{turn}" for turn in range(5)]


async def test_the_past_is_read_and_forked_and_a_clear_stays_in_the_history__AD_13(opened: MemoryLedger) -> None:
    """Source: adapters AD-9."""
    history = LedgerChatMessageHistory("t", ledger=opened)
    await history.aclear()
    await history.aadd_messages([HumanMessage("one")])
    before = history.version
    await history.aadd_messages([AIMessage("two")])
    past = history.at(version=before)
    assert [message.text for message in await past.aget_messages()] == ["one"]
    for change in (past.aadd_messages([HumanMessage("x")]), past.aclear()):
        with pytest.raises(InvalidInput):
            await change
    other = await past.fork("b")
    await other.aadd_messages([AIMessage("else")])
    assert [message.text for message in await other.aget_messages()] == ["one", "else"]
    await history.aclear()
    assert await history.aget_messages() == []
    assert [message.text for message in await history.at(version=before + 1).aget_messages()] == ["one", "two"]
    for name in ("t", "b"):
        assert (await history.ledger.verify(name)).ok


def test_a_history_of_its_own_ledger_is_used_from_any_loop__AD_2() -> None:
    shared = InMemoryStore()
    one, two = (LedgerChatMessageHistory("t", store=shared) for _ in range(2))
    one.add_user_message("hello")
    asyncio.run(two.aadd_messages([AIMessage("hi")]))
    with one.at(version=one.version) as past:
        assert [message.text for message in past.messages] == ["hello"]
    assert [message.text for message in one.messages] == ["hello", "hi"]
    one.clear()
    assert two.messages == []
    one.close()
    with pytest.raises(Unavailable):
        _ = one.messages
    asyncio.run(two.__aexit__())
