"""Messages that did not change are neither serialized nor parsed again, and one that did is. Source: adapters LG-13."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ledger.adapters.langgraph import LedgerSaver, memory_cache, stored_checkpoints
from ledger.adapters.langgraph.known_blobs import KnownBlobs, mark_of
from ledger.adapters.langgraph.memory_cache import MemoryCache
from ledger.adapters.langgraph.stored_checkpoints import Stored
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
    messages: list[BaseMessage] = [(HumanMessage, AIMessage)[at % 2](f"text {at}", id=str(at)) for at in range(20)]
    config, wanted = THREAD, []
    for _ in range(20):  # in the first sixteen, and in those after them
        _changes(dice, dice.choice(messages[14:18]))
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
    [
        lambda messages: tuple((type(message), id(message)) for message in messages),
        lambda messages: tuple((type(message), message.id) for message in messages),
    ],
    ids=["identity", "id"],
)
async def test_a_message_known_by_anything_else_would_be_noticed(
    seed: int, monkeypatch: pytest.MonkeyPatch, known_by: Callable[[Any], Any]
) -> None:
    """Negative control."""
    monkeypatch.setattr(stored_checkpoints, "mark_of", known_by)
    assert not await _stored_as_they_are(seed)


def test_equal_values_of_other_types_are_told_apart() -> None:
    values: list[Any] = [1, 1.0, True, "1", b"1", (1,), [1], None, {1: 1}]
    marks = [mark_of([ToolMessage("x", tool_call_id="c", artifact=value)]) for value in values]
    assert None not in marks
    assert len(set(marks)) == len(values)
    assert mark_of([HumanMessage("x")]) != mark_of([AIMessage("x")])
    two = HumanMessage("x"), HumanMessage("y")
    assert mark_of(two) != mark_of(two[::-1])


@dataclass
class Measure:
    """An object of a program that does not tell what it holds when it is pickled."""

    size: int

    def __getstate__(self) -> None:
        return None


@pytest.mark.parametrize("hides", [True, False])
async def test_an_object_of_a_program_is_stored_as_it_is_now(hides: bool) -> None:
    artifact: Any = Measure(1) if hides else SimpleNamespace(size=1)
    message = ToolMessage("x", tool_call_id="c", id="1", artifact={"measure": artifact if hides else vars(artifact)})
    assert (mark_of([message]) is None) == hides
    serde = JsonPlusSerializer(allowed_msgpack_modules=[(Measure.__module__, Measure.__name__)])
    saver = LedgerSaver(ledger_over(InMemoryStore()), serde=serde)
    config = await put(saver, THREAD, [message])
    artifact.size = 2
    found = await saver.aget_tuple(await put(saver, config, [message, AIMessage("y", id="2")]))
    assert found is not None
    read = found.checkpoint["channel_values"]["messages"]
    assert [serde.dumps_typed(read[0]), read[1].content] == [serde.dumps_typed(message), "y"]


async def test_bytes_and_an_array_of_them_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def dumped() -> int:
        serde = CountingSerializer()
        cache = KnownBlobs(MemoryCache())
        for artifact in (b"12", bytearray(b"12")):
            message = ToolMessage("x", tool_call_id="c", id="1", artifact=artifact)
            Stored(serde, cache, splits_messages=True).reference([message])
        return len(serde.dumped)

    assert dumped() == 2
    monkeypatch.setattr(stored_checkpoints, "are_plain", lambda messages: True)
    assert dumped() == 1, "control"


def test_only_messages_of_langchain_are_known_again() -> None:
    class Own(HumanMessage):
        """Its class may write what its fields do not tell."""

    assert mark_of([HumanMessage("x"), Own("x")]) is None
    assert mark_of([HumanMessage("x")] * 2) is not None, "control"


MESSAGES: list[BaseMessage] = [
    HumanMessage("plain", id="1"),
    HumanMessage([{"type": "text", "text": "parts"}], additional_kwargs={"deep": {"items": [1, 2.5, None]}}, id="2"),
    AIMessage("", tool_calls=[{"name": "f", "args": {"a": [1]}, "id": "c"}], id="3", usage_metadata=None),
    ToolMessage("x", tool_call_id="c", id="4", artifact=(1, {2})),
    ToolMessage("x" * 20_000, tool_call_id="c", id="5", status="error"),
    AIMessage("extra", id="6", unknown_field={"kept": True}),
]


async def _reads(saver: LedgerSaver, config: Any, count: int) -> list[list[BaseMessage]]:
    found = [await saver.aget_tuple(config) for _ in range(count)]
    return [each.checkpoint["channel_values"]["messages"] for each in found if each is not None]


async def test_each_read_returns_new_messages_that_are_equal__LG_13() -> None:
    serde = JsonPlusSerializer()
    saver = LedgerSaver(ledger_over(InMemoryStore()))
    config = await put(saver, THREAD, MESSAGES)
    wanted = [serde.loads_typed(serde.dumps_typed(message)) for message in MESSAGES]
    first, second, third = await _reads(saver, config, 3)
    for found in (first, second, third):
        assert found == wanted
        assert [vars(message) for message in found] == [vars(message) for message in wanted]
        assert [serde.dumps_typed(each) for each in found] == [serde.dumps_typed(each) for each in wanted]
    first[1].additional_kwargs["deep"]["items"].append("changed")
    second[2].tool_calls[0]["args"]["a"].append("changed")  # type: ignore[attr-defined]  # an answer
    assert await _reads(saver, config, 2) == [wanted, wanted]


async def test_a_cache_of_the_messages_themselves_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    kept: dict[str, Any] = {}
    monkeypatch.setattr(
        KnownBlobs, "loaded", lambda _, serde, name, typed: kept.setdefault(name, serde.loads_typed(typed))
    )
    with pytest.raises(AssertionError):
        await test_each_read_returns_new_messages_that_are_equal__LG_13()


async def test_a_thread_that_does_not_fit_into_memory_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_cache, "MOST_BYTES", 4_000)
    ledger = ledger_over(InMemoryStore())
    writer = LedgerSaver(ledger)
    messages: list[BaseMessage] = [HumanMessage(f"message {at}", id=str(at)) for at in range(60)]
    first = await put(writer, THREAD, messages[:30])
    assert await _reads(writer, first, 2) == [messages[:30]] * 2
    second = await put(writer, first, messages)
    for saver in (writer, LedgerSaver(ledger)):
        for config, wanted in ((first, messages[:30]), (second, messages), (first, messages[:30])):
            assert (await _reads(saver, config, 2)) == [wanted] * 2


def test_the_cache_keeps_what_was_used_last_within_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_cache, "MOST_BYTES", 10_000)
    cache = KnownBlobs(MemoryCache())
    for at in range(100):
        cache.add_all({f"n{at}": ("msgpack", bytes(800))})
        assert cache.get("n0") is not None, "it is used all the time"
    assert [at for at in range(100) if cache.get(f"n{at}") is not None] == [0, *range(91, 100)]
    cache.add_all({"large": ("msgpack", bytes(10_000))})
    assert cache.get("large") is None
    assert cache.get("n99") is not None, "what cannot be kept displaces nothing"


async def test_the_history_of_a_channel_loads_no_other_channel__LG_8(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = ledger_over(InMemoryStore())
    config = await put(LedgerSaver(ledger), THREAD, MESSAGES)
    await LedgerSaver(ledger).aput_writes(config, [("log", "one"), ("messages", MESSAGES)], "task")
    config = await put(LedgerSaver(ledger), config, MESSAGES)
    parsed: list[str] = []
    whole = KnownBlobs.loaded
    monkeypatch.setattr(KnownBlobs, "loaded", lambda *given: parsed.append(given[2]) or whole(*given))  # type: ignore[func-returns-value]
    found = await LedgerSaver(ledger).aget_delta_channel_history(config=config, channels=["log"])
    assert found["log"]["writes"] == [("task", "log", "one")]
    assert not parsed
    both = await LedgerSaver(ledger).aget_delta_channel_history(config=config, channels=["log", "messages"])
    assert [each.id for each in both["messages"]["seed"]] == [each.id for each in MESSAGES]
    assert len(parsed) == 2 * len(MESSAGES), "control: the value, and what the task wrote"
