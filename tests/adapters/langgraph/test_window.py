"""The window of a thread is the list of messages of its newest checkpoint. Source: adapters LG-5."""

import asyncio
from itertools import chain
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.graph import END, START, MessagesState, StateGraph

from ledger.adapters.langgraph import LedgerSaver, checkpoint_writes
from ledger.adapters.langgraph.state_window import to_show
from ledger.application.writing import key_values
from ledger.errors import InvalidInput
from ledger.events import EntryRemoved
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore, event_store
from projections import entry_page
from tests.adapters.langgraph.test_put_cost import CONFIG, ask, graph_with, window
from tests.support.ledgers import ledger_over


@pytest.fixture(params=["", "none"])
def ledger(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> MemoryLedger:
    """A ledger, and one that has as little of its entries in memory as one of many long sessions."""
    found = ledger_over(InMemoryStore())
    if request.param == "none":
        monkeypatch.setattr(entry_page, "SMALL", 2)
        monkeypatch.setattr(found._handle.services.states._contents, "_limit_b", 0)
    return found


@pytest.fixture
def saver(ledger: MemoryLedger) -> LedgerSaver:
    return LedgerSaver(ledger)


async def messages(saver: LedgerSaver) -> list[str]:
    return [message.content for message in (await graph_with(saver).aget_state(CONFIG)).values["messages"]]


async def test_a_branch_from_before_the_first_message_has_only_its_own__LG_5(
    ledger: MemoryLedger, saver: LedgerSaver
) -> None:
    await ask(saver, "one")
    *_, first = [state async for state in graph_with(saver).aget_state_history(CONFIG)]
    assert first.metadata["step"] == -1
    await graph_with(saver).ainvoke({"messages": [HumanMessage("other")]}, first.config)
    assert await window(ledger) == await messages(saver) == ["other", "answer 1"]


@pytest.mark.parametrize("cold", [False, True])
async def test_a_question_is_answered_again_from_the_checkpoint_that_it_began__LG_10(
    ledger: MemoryLedger, saver: LedgerSaver, cold: bool
) -> None:
    await ask(saver, "one", "two")
    saver = LedgerSaver(ledger) if cold else saver
    graph = graph_with(saver)
    asked = await anext(each async for each in graph.aget_state_history(CONFIG) if each.metadata["source"] == "input")
    await graph.ainvoke(None, asked.config)
    assert await window(ledger) == await messages(saver) == ["one", "answer 1", "two", "answer 3"]


async def test_an_entry_says_which_agent_wrote_it__AD_12(ledger: MemoryLedger, saver: LedgerSaver) -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("chat", lambda state: {"messages": [AIMessage("answer", name="gardener")]})
    graph.add_edge(START, "chat")
    await graph.compile(checkpointer=saver).ainvoke({"messages": [HumanMessage("question", name="ann")]}, CONFIG)
    entries = await ledger.get_active_entries("t")
    assert [(entry.metadata or {}).get("agent") for entry in entries] == [None, "gardener"]


async def test_an_older_checkpoint_that_is_stored_again_changes_no_window__LG_5(
    ledger: MemoryLedger, saver: LedgerSaver
) -> None:
    await ask(saver, "one", "two")
    tuples = [found async for found in saver.alist(CONFIG)]
    for old in tuples[1:]:
        parent: Any = old.parent_config or {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        await saver.aput(parent, old.checkpoint, old.metadata, {})
    assert await window(ledger) == ["one", "answer 1", "two", "answer 3"]


async def test_the_newest_checkpoint_stored_again_is_what_counts__LG_2(
    ledger: MemoryLedger, saver: LedgerSaver
) -> None:
    await ask(saver, "one")
    newest: Any = await saver.aget_tuple(CONFIG)
    said = newest.checkpoint["channel_values"]["messages"]
    for text in ("again", "and again"):
        version = saver.get_next_version(newest.checkpoint["channel_versions"]["messages"], None)
        checkpoint: Any = {
            **newest.checkpoint,
            "channel_values": {"messages": [*said, HumanMessage(text)]},
            "channel_versions": {"messages": version},
        }
        await saver.aput(newest.parent_config, checkpoint, newest.metadata, {"messages": version})
        assert await window(ledger) == await messages(saver) == ["one", "answer 1", text]
    await ask(saver, "two")
    assert await window(ledger) == await messages(saver)
    assert len([found async for found in saver.alist(CONFIG)]) == 6


async def test_a_message_that_was_taken_out_comes_back_with_its_checkpoint__LG_5(
    ledger: MemoryLedger, saver: LedgerSaver
) -> None:
    await ask(saver, "one", "two")
    graph = graph_with(saver)
    before = await graph.aget_state(CONFIG)
    first = before.values["messages"][0]
    await graph.aupdate_state(CONFIG, {"messages": [RemoveMessage(id=first.id)]})
    assert await window(ledger) == ["answer 1", "two", "answer 3"]
    await graph.aupdate_state(before.config, {"messages": [HumanMessage("back")]})
    assert await window(ledger) == await messages(saver) == ["one", "answer 1", "two", "answer 3", "back"]


async def test_the_window_follows_any_steps__LG_5(
    ledger: MemoryLedger, saver: LedgerSaver, random_steps: list[int]
) -> None:
    assert await after_steps(ledger, saver, random_steps) == []


async def test_a_window_that_only_grows_is_found_out(
    ledger: MemoryLedger, saver: LedgerSaver, random_steps: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control of the test above."""
    own = checkpoint_writes.window_after
    monkeypatch.setattr(checkpoint_writes, "window_after", lambda *given: own(*given)._replace(only=False))
    assert await after_steps(ledger, saver, random_steps) != []


class Fault(Exception):
    """What the node of a test raises."""


def graph_of_two(saver: LedgerSaver, *, works: bool) -> Any:
    """Return a graph with two nodes of one step, of which the second may fail after the first has answered."""

    async def second(state: MessagesState) -> dict[str, Any]:
        await asyncio.sleep(0.05)
        if not works:
            raise Fault
        return {"messages": [AIMessage("second", id="2")]}

    graph = StateGraph(MessagesState)
    graph.add_node("first", lambda state: {"messages": [AIMessage("first", id="1")]})
    graph.add_node("second", second)
    for node in ("first", "second"):
        graph.add_edge(START, node)
        graph.add_edge(node, END)
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize("cold", [False, True])
async def test_what_was_said_is_shown_before_the_step_ends__LG_5(ledger: MemoryLedger, cold: bool) -> None:
    saver = LedgerSaver(ledger)
    with pytest.raises(Fault):
        await graph_of_two(saver, works=False).ainvoke({"messages": [HumanMessage("question")]}, CONFIG)
    assert await window(ledger) == ["question", "first"]
    saver = LedgerSaver(ledger) if cold else saver
    await graph_of_two(saver, works=True).ainvoke(None, CONFIG)
    assert await window(ledger) == await messages(saver) == ["question", "first", "second"]


async def test_nodes_may_add_to_the_list_of_messages_in_place__LG_5(
    ledger: MemoryLedger, saver: LedgerSaver, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = MemoryLedger.keep

    async def kept_slowly(self: MemoryLedger, *args: Any, **options: Any) -> Any:
        await asyncio.sleep(0.01)
        return await keep(self, *args, **options)

    class Plain(TypedDict):
        messages: list[BaseMessage]

    def answer(state: Plain) -> Plain:
        state["messages"].append(AIMessage(f"answer {len(state['messages'])}"))
        return {"messages": state["messages"]}

    monkeypatch.setattr(MemoryLedger, "keep", kept_slowly)
    graph = StateGraph(Plain)
    for name, before in [("one", START), ("two", "one"), ("three", "two")]:
        graph.add_node(name, answer)
        graph.add_edge(before, name)
    compiled = graph.compile(checkpointer=saver)
    for _ in range(2):  # the second time, what tasks write is shown
        await compiled.ainvoke({"messages": [HumanMessage("question")]}, CONFIG)
    assert await window(ledger) == ["question", "answer 1", "answer 2", "answer 3"]


def test_what_a_node_adds_or_takes_away_while_the_messages_are_stored_is_not_shown__LG_5() -> None:
    """A node that is no coroutine runs in a thread of its own: it may do so between two lines of the saver."""
    question, answer = HumanMessage("question"), AIMessage("answer")
    assert to_show([question, answer], ["q"]) == [(question, "q")]
    assert to_show([], ["q"]) == []


@pytest.mark.parametrize("change", [lambda said: said.append(AIMessage("answer")), lambda said: said.clear()])
async def test_a_node_may_change_the_list_of_messages_and_return_nothing__LG_5(
    ledger: MemoryLedger, saver: LedgerSaver, change: Any
) -> None:
    class Plain(TypedDict, total=False):
        messages: list[BaseMessage]
        note: str

    def changing(state: Plain) -> Plain:
        change(state["messages"])
        return {"note": "changed"}

    graph = StateGraph(Plain)
    graph.add_node("changing", changing)
    graph.add_edge(START, "changing")
    compiled = graph.compile(checkpointer=saver)
    for _ in range(2):
        await compiled.ainvoke({"messages": [HumanMessage("question")]}, CONFIG, durability="sync")
    assert [each.text for each in (await compiled.aget_state(CONFIG)).values["messages"]] == ["question"]
    assert await window(ledger) in (["question"], [])


@pytest.mark.parametrize("asked", [("user", "question"), {"role": "user", "content": "question"}, "question"])
async def test_what_is_said_comes_after_a_question_that_is_no_message_yet__LG_5(
    ledger: MemoryLedger, saver: LedgerSaver, asked: Any
) -> None:
    question, answer = HumanMessage("question", id="1"), AIMessage("answer", id="2")
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    states = [{"__start__": {"messages": [asked]}}, {"messages": [question]}, {"messages": [question, answer]}]
    for at, values in enumerate(states):
        versions = {channel: saver.get_next_version(None, None) for channel in values}
        checkpoint: Any = {**empty_checkpoint(), "id": f"{at:036}", "channel_values": values}
        if at == 1:  # a task may end before the checkpoint is stored that it began with
            told = {"configurable": {**config["configurable"], "checkpoint_id": checkpoint["id"]}}
            await saver.aput_writes(told, [("messages", [answer])], "task")
        config = await saver.aput(config, {**checkpoint, "channel_versions": versions}, {}, versions)
    assert await window(ledger) == ["question", "answer"]
    assert not [event for event in await ledger.get_events("t", limit=1_000) if isinstance(event.payload, EntryRemoved)]


@pytest.mark.parametrize("cold", [False, True])
async def test_what_was_said_leaves_with_the_step_that_is_given_up__LG_5(ledger: MemoryLedger, cold: bool) -> None:
    saver = LedgerSaver(ledger)
    with pytest.raises(Fault):
        await graph_of_two(saver, works=False).ainvoke({"messages": [HumanMessage("question")]}, CONFIG)
    saver = LedgerSaver(ledger) if cold else saver
    before = [state async for state in graph_of_two(saver, works=True).aget_state_history(CONFIG)][-1]
    await graph_of_two(saver, works=True).aupdate_state(before.config, {"messages": [HumanMessage("other")]}, "first")
    assert await window(ledger) == await messages(saver) == ["other"]


@pytest.mark.parametrize("stored_again", [False, True])
async def test_what_was_said_before_its_checkpoint_was_stored_leaves_with_the_step__LG_5(
    ledger: MemoryLedger, saver: LedgerSaver, stored_again: bool
) -> None:
    question, answer, other = HumanMessage("question", id="1"), AIMessage("answer", id="2"), HumanMessage("other")
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    for at, said in enumerate([[question], [question], [question, other]]):
        version = saver.get_next_version(None, None)
        checkpoint: Any = {**empty_checkpoint(), "id": f"{at:036}", "channel_values": {"messages": said}}
        told = {"configurable": {**config["configurable"], "checkpoint_id": checkpoint["id"]}}
        if at == 1 and not stored_again:
            await saver.aput_writes(told, [("messages", [answer])], "task")
        parent = config
        config = await saver.aput(parent, {**checkpoint, "channel_versions": {"messages": version}}, {}, {})
        if at == 1 and stored_again:
            await saver.aput_writes(told, [("messages", [answer])], "task")
            await saver.aprune(["t"])
        if at == 1:
            assert await window(ledger) == ["question", "answer"]
            saver = LedgerSaver(ledger)
    assert await window(ledger) == ["question", "other"]


@pytest.mark.parametrize("cold", [False, True])
async def test_the_window_goes_back_with_the_run_that_is_deleted__LG_5(ledger: MemoryLedger, cold: bool) -> None:
    saver = LedgerSaver(ledger)
    graph = StateGraph(MessagesState)
    graph.add_node("trim", lambda state: {"messages": [RemoveMessage(id=each.id) for each in state["messages"][1:]]})
    graph.add_edge(START, "trim")
    await ask(saver, "one", "two")
    before = await window(ledger)
    of_run: Any = {**CONFIG, "metadata": {"run_id": "r"}}
    await graph.compile(checkpointer=saver).ainvoke({"messages": [HumanMessage("three")]}, of_run)
    assert await window(ledger) == ["one"]
    await saver.adelete_for_runs(["r"])
    assert await window(ledger) == await messages(saver) == before == ["one", "answer 1", "two", "answer 3"]
    saver = LedgerSaver(ledger) if cold else saver
    for question in ("four", "five"):
        await ask(saver, question)
        assert await window(ledger) == await messages(saver)
    assert (await ledger.verify("t")).ok


async def test_the_window_is_empty_after_the_last_run_was_deleted__LG_5(
    ledger: MemoryLedger, saver: LedgerSaver
) -> None:
    await graph_with(saver).ainvoke({"messages": [HumanMessage("one")]}, {**CONFIG, "metadata": {"run_id": "r"}})
    await saver.adelete_for_runs(["r"])
    assert await window(ledger) == []
    await ask(saver, "two")
    assert await window(ledger) == await messages(saver) == ["two", "answer 1"]


async def test_a_message_comes_back_as_it_was_though_its_entry_was_edited__LG_4(
    ledger: MemoryLedger, saver: LedgerSaver
) -> None:
    """An entry that somebody changed stays changed, and stops no later checkpoint."""
    await ask(saver, "one", "two")
    entry = (await ledger.get_active_entries("t"))[0]
    await ledger.edit_entry("t", entry.entry_id, content="[hidden]")
    saver = LedgerSaver(ledger)
    assert await messages(saver) == ["one", "answer 1", "two", "answer 3"]
    last = (await graph_with(saver).aget_state(CONFIG)).values["messages"][-1]
    await graph_with(saver).aupdate_state(CONFIG, {"messages": [RemoveMessage(id=last.id), HumanMessage("three")]})
    assert await messages(saver) == ["one", "answer 1", "two", "three"]
    assert await window(ledger) == ["[hidden]", "answer 1", "two", "three"]


async def test_a_delta_channel_makes_no_entries__LG_5(ledger: MemoryLedger, saver: LedgerSaver) -> None:
    """What its differences make depends on a function of the graph."""

    class State(TypedDict):
        messages: Annotated[list[BaseMessage], DeltaChannel(lambda before, new: [*before, *chain(*new)])]

    graph = StateGraph(State)
    graph.add_node("chat", lambda state: {"messages": [AIMessage(f"answer {len(state['messages'])}")]})
    graph.add_edge(START, "chat")
    compiled = graph.compile(checkpointer=saver)
    for question in ("one", "two", "three"):
        await compiled.ainvoke({"messages": [HumanMessage(question)]}, CONFIG)
        assert await window(ledger) == []
    assert len((await compiled.aget_state(CONFIG)).values["messages"]) == 6


@pytest.mark.parametrize("cold", [False, True])
async def test_every_message_of_a_long_thread_may_leave_and_come_back__LG_5(
    ledger: MemoryLedger, cold: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_store, "EVENTS_PER_APPEND", 60)
    monkeypatch.setattr(key_values, "_MOST_REMOVED", 10)
    saver, config = LedgerSaver(ledger), CONFIG
    said = [HumanMessage(str(number), id=str(number)) for number in range(50)]
    changed = [HumanMessage("first", id="0"), *said[1:]]
    for step, now in enumerate([said, changed, said[:5], said]):
        saver = LedgerSaver(ledger) if cold else saver
        versions: Any = {"messages": saver.get_next_version(None, None)}
        checkpoint: Any = {**empty_checkpoint(), "id": f"{step:036}", "channel_values": {"messages": now}}
        metadata: Any = {"source": "loop", "step": step, "run_id": f"r{step}"}
        config = await saver.aput(config, {**checkpoint, "channel_versions": versions}, metadata, versions)
        assert await window(ledger) == [message.content for message in now]
    await saver.adelete_for_runs(["r2", "r3"])
    assert await window(ledger) == ["first", *map(str, range(1, 50))]
    monkeypatch.setattr(key_values, "_MOST_REMOVED", 1_000)  # the control
    with pytest.raises(InvalidInput, match="60 events"):
        await saver.adelete_for_runs(["r1"])


@pytest.fixture
def random_steps(seed: int) -> list[int]:
    """Numbers that choose a checkpoint to go on from, the newest one mostly."""
    from random import Random  # noqa: PLC0415 - of this fixture only

    random = Random(seed)
    return [0 if random.random() < 0.6 else random.randrange(1, 40) for _ in range(25)] + [39, 0]


async def after_steps(ledger: MemoryLedger, saver: LedgerSaver, steps: list[int]) -> list[int]:
    """Store a checkpoint after each of chosen ones, and return the steps after which the window is another list."""
    wrong = []
    await ask(saver, "begin")
    for number, chosen in enumerate(steps):
        if chosen % 5 == 4:
            saver = LedgerSaver(ledger)  # as after the end of a process
        tuples = [found async for found in saver.alist(CONFIG)]
        parent: Any = tuples[min(chosen, len(tuples) - 1)]
        said = parent.checkpoint["channel_values"].get("messages", [])
        version = saver.get_next_version(parent.checkpoint["channel_versions"].get("messages"), None)
        answers = [AIMessage(f"step {number}, {at}", id=f"{number}.{at}") for at in range(number % 3 + 1)]
        for answer in answers[number % 2 :]:
            await saver.aput_writes(parent.config, [("messages", [answer])], f"task {answer.id}")
        checkpoint: Any = {
            **parent.checkpoint,
            "id": str(uuid6(clock_seq=-1)),
            "channel_values": {"messages": [*said, *(answers[::-1] if number % 4 == 3 else answers)]},
            "channel_versions": {"messages": version},
        }
        await saver.aput(parent.config, checkpoint, {"source": "loop", "step": number}, {"messages": version})
        if await window(ledger) != await messages(saver):
            wrong.append(number)
    return wrong
