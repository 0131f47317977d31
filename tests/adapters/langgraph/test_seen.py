"""A step serializes new messages, and those that it changed in place, but no others. Source: adapters LG-13."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import BaseModel

from ledger.adapters.langgraph import LedgerSaver, stored
from ledger.adapters.langgraph.seen import mark_of
from ledger.stores.in_memory import InMemoryStore
from tests.support.ledgers import ledger_over

THREAD: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


class CountingSerializer(JsonPlusSerializer):
    """*dumped* are the messages that were serialized."""

    def __init__(self) -> None:
        super().__init__()
        self.dumped: list[BaseMessage] = []

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        if isinstance(obj, BaseMessage):
            self.dumped.append(obj)
        return super().dumps_typed(obj)


async def put(saver: LedgerSaver, parent: Any, messages: list[BaseMessage]) -> Any:
    checkpoint = empty_checkpoint()
    version = saver.get_next_version(None, None)
    checkpoint["id"] = str(uuid6(clock_seq=-2))
    checkpoint["channel_versions"] = {"messages": version}
    checkpoint["channel_values"] = {"messages": messages}
    return await saver.aput(parent, checkpoint, {"source": "loop", "step": 0}, {"messages": version})


async def test_only_new_messages_are_serialized__LG_13() -> None:
    serde = CountingSerializer()
    saver = LedgerSaver(ledger_over(InMemoryStore()), serde=serde)
    messages: list[BaseMessage] = [HumanMessage(f"message {at}", id=str(at)) for at in range(200)]
    config = await put(saver, THREAD, messages)
    assert len(serde.dumped) == 200
    for _ in range(3):
        found = await saver.aget_tuple(config)
        assert found is not None
        messages = [*found.checkpoint["channel_values"]["messages"], AIMessage("new")]
        config = await put(saver, config, messages)
    assert len(serde.dumped) <= 203


def _changes(dice: random.Random, message: Any) -> None:
    """Change *message* in place, also where an equal value stands for another one."""
    held = message.additional_kwargs
    changes: list[Callable[[], object]] = [
        lambda: setattr(message, "content", f"changed {dice.random()}"),
        lambda: held.update(flag=dice.choice([1, 1.0, True, "1", None])),
        lambda: held.setdefault("deep", {}).update(items=dice.choice([[1, 2], [1, True], [2, 1], [1, 2.0]])),
        lambda: message.response_metadata.update({dice.choice("abc"): dice.randint(0, 3)}),
        lambda: setattr(message, "name", dice.choice(["ann", "bob", None])),
    ]
    dice.choice(changes)()


async def _stored_as_they_are(seed: int) -> bool:
    """Tell whether each checkpoint has the messages as they were when it was stored."""
    dice, serde = random.Random(seed), JsonPlusSerializer()
    saver = LedgerSaver(ledger_over(InMemoryStore()))
    messages: list[BaseMessage] = [HumanMessage("one", id="1"), AIMessage("two", id="2"), AIMessage("three", id="3")]
    config, wanted = THREAD, []
    for _ in range(20):
        _changes(dice, dice.choice(messages))
        config = await put(saver, config, messages)
        wanted.append((config, [serde.dumps_typed(message) for message in messages]))
    for config, dumped in wanted:
        found = await saver.aget_tuple(config)
        assert found is not None
        if [serde.dumps_typed(message) for message in found.checkpoint["channel_values"]["messages"]] != dumped:
            return False
    return True


async def test_a_message_that_was_changed_in_place_is_stored_as_it_is__LG_13(seed: int) -> None:
    assert await _stored_as_they_are(seed)


@pytest.mark.parametrize(
    "known_by",
    [lambda message: (type(message), str(id(message)).encode()), lambda message: (type(message), message.id.encode())],
    ids=["identity", "id"],
)
async def test_a_message_known_by_anything_else_would_be_noticed(
    seed: int, monkeypatch: pytest.MonkeyPatch, known_by: Callable[[Any], Any]
) -> None:
    """Negative control."""
    monkeypatch.setattr(stored, "mark_of", known_by)
    assert not await _stored_as_they_are(seed)


def test_equal_values_of_other_types_are_told_apart() -> None:
    values: list[Any] = [1, 1.0, True, "1", b"1", (1,), [1], None, {1: 1}]
    marks = [mark_of(ToolMessage("x", tool_call_id="c", artifact=value)) for value in values]
    assert None not in marks
    assert len(set(marks)) == len(values)
    assert mark_of(HumanMessage("x")) != mark_of(AIMessage("x"))


async def test_a_message_that_cannot_be_pickled_is_stored_too() -> None:
    class Local(BaseModel):
        size: int

    message = ToolMessage("x", tool_call_id="c", id="1", artifact=Local(size=2))
    assert mark_of(message) is None
    saver = LedgerSaver(ledger_over(InMemoryStore()))
    config = await put(saver, THREAD, [message])
    found = await saver.aget_tuple(await put(saver, config, [message, AIMessage("y", id="2")]))
    assert found is not None
    assert [each.content for each in found.checkpoint["channel_values"]["messages"]] == ["x", "y"]
