"""Real graphs on the ledger: tools, interrupts, subgraphs, branches. Source: adapters LG-1 … LG-11."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from ledger.adapters.langgraph import LedgerSaver
from ledger.memory import MemoryLedger
from tests.adapters.langgraph.graphs import agent, human
from tests.support.model_endpoint import Endpoint, says

pytestmark = pytest.mark.postgres


def of(thread_id: str) -> Any:
    return {"configurable": {"thread_id": thread_id}}


def texts(state: Any) -> list[str]:
    return [message.text for message in state.values["messages"]]


async def test_an_agent_with_a_tool_and_a_subgraph_resumes_where_it_was__LG_1(
    saver: LedgerSaver, own_ledger: MemoryLedger, model: Endpoint
) -> None:
    graph = agent(model.url).compile(checkpointer=saver)
    model.answers(says("CALL Paris"), says("Sunny in Paris."), says("You are welcome."))
    await graph.ainvoke(human("Weather in Paris?"), of("t"))
    await graph.ainvoke(human("Thanks"), of("t"))
    again = agent(model.url).compile(checkpointer=LedgerSaver(own_ledger))
    state = await again.aget_state(of("t"))
    assert texts(state) == ["Weather in Paris?", "", "Paris: sunny", "Sunny in Paris.", "Thanks", "You are welcome."]
    known = agent(model.url).compile(checkpointer=InMemorySaver())
    model.answers(says("CALL Paris"), says("Sunny in Paris."), says("You are welcome."))
    await known.ainvoke(human("Weather in Paris?"), of("t"))
    await known.ainvoke(human("Thanks"), of("t"))
    expected = await known.aget_state(of("t"))
    assert texts(expected) == texts(state)
    assert state.values["notes"] == expected.values["notes"] != []
    assert state.values["messages"][1].tool_calls[0]["args"] == {"city": "Paris"}
    assert [each.session_id for each in await own_ledger.list_sessions()] == ["t"]
    assert (await own_ledger.verify("t")).ok


async def test_the_messages_are_entries_with_calls_and_results__LG_5(
    saver: LedgerSaver, own_ledger: MemoryLedger, model: Endpoint
) -> None:
    graph = agent(model.url).compile(checkpointer=saver)
    model.answers(says("CALL Paris"), says("Sunny in Paris."))
    await graph.ainvoke(human("Weather in Paris?"), of("t"))
    entries = await own_ledger.get_active_entries("t")
    assert [(entry.kind, entry.role, entry.tool_call_id) for entry in entries] == [
        ("message", "user", None),
        ("tool_call", "assistant", "call-1"),
        ("tool_result", "tool", "call-1"),
        ("message", "assistant", None),
    ]
    found = await own_ledger.search("sunny")
    assert found
    state = await graph.aget_state(of("t"))
    await graph.aupdate_state(of("t"), {"messages": [RemoveMessage(id=state.values["messages"][0].id)]})
    assert (await own_ledger.get_active_entries("t"))[0].kind == "tool_call"


async def test_an_interrupt_waits_for_the_human_in_another_saver__LG_6(
    saver: LedgerSaver, own_ledger: MemoryLedger, model: Endpoint
) -> None:
    graph = agent(model.url).compile(checkpointer=saver)
    model.answers(says("CALL Secret"), says("Done."))
    first = await graph.ainvoke(human("Weather?"), of("t"))
    assert first["__interrupt__"][0].value == "may I look up Secret?"
    again = agent(model.url).compile(checkpointer=LedgerSaver(own_ledger))
    await again.ainvoke(Command(resume="no"), of("t"))
    assert texts(await again.aget_state(of("t"))) == ["Weather?", "", "refused", "Done."]


async def test_ten_runs_at_once_do_not_mix__LG_13(
    saver: LedgerSaver, own_ledger: MemoryLedger, model: Endpoint
) -> None:
    model.answers(says("Hello."))
    graph = agent(model.url).compile(checkpointer=saver)

    async def run(number: int) -> list[str]:
        for turn in range(3):
            await graph.ainvoke(human(f"{number}-{turn}"), of(f"t{number}"))
        return texts(await graph.aget_state(of(f"t{number}")))

    results = await asyncio.gather(*map(run, range(10)))
    assert results == [[f"{n}-0", "Hello.", f"{n}-1", "Hello.", f"{n}-2", "Hello."] for n in range(10)]
    assert (await own_ledger.verify()).ok


async def test_an_update_of_an_old_checkpoint_branches_and_both_read_right__LG_10(
    saver: LedgerSaver, own_ledger: MemoryLedger, model: Endpoint
) -> None:
    model.answers(says("one"), says("two"), says("other"))
    graph = agent(model.url).compile(checkpointer=saver)
    await graph.ainvoke(human("a"), of("t"))
    before = await graph.aget_state(of("t"))
    await graph.ainvoke(human("b"), of("t"))
    main = await graph.aget_state(of("t"))
    version = await saver.aversion_of(before.config)
    assert await saver.aconfig_at("t", version=version) == before.config
    branch = await graph.aupdate_state(before.config, {"messages": [HumanMessage(content="c")]}, as_node="__start__")
    await graph.ainvoke(None, branch)
    assert texts(await graph.aget_state(of("t"))) == ["a", "one", "c", "other"]
    assert texts(await graph.aget_state(main.config)) == ["a", "one", "b", "two"]
    active = [entry.content for entry in await own_ledger.get_active_entries("t")]
    assert active == ["a", "one", "c", "other"]


async def test_a_copy_goes_its_own_way_and_both_are_proved__LG_10(
    saver: LedgerSaver, own_ledger: MemoryLedger, model: Endpoint
) -> None:
    model.answers(says("one"), says("two"), says("what if"))
    graph = agent(model.url).compile(checkpointer=saver)
    await graph.ainvoke(human("a"), of("t"))
    await saver.acopy_thread("t", "t-what-if")
    await graph.ainvoke(human("b"), of("t"))
    await graph.ainvoke(human("x"), of("t-what-if"))
    assert texts(await graph.aget_state(of("t"))) == ["a", "one", "b", "two"]
    assert texts(await graph.aget_state(of("t-what-if"))) == ["a", "one", "x", "what if"]
    assert (await own_ledger.get_state("t")).version > 0
    outcome = await own_ledger.what_if("t", {"window": {"type": "recall", "max_tokens": 50}})
    assert outcome.session_id == "t"
    assert (await own_ledger.verify("t")).ok
    assert (await own_ledger.verify("t-what-if")).ok


async def test_a_deleted_thread_reads_as_empty_and_starts_anew__LG_9(
    saver: LedgerSaver, own_ledger: MemoryLedger, model: Endpoint
) -> None:
    model.answers(says("one"))
    graph = agent(model.url).compile(checkpointer=saver)
    await graph.ainvoke(human("a"), of("t"))
    await saver.adelete_thread("t")
    await saver.adelete_thread("never was")
    assert await saver.aget_tuple(of("t")) is None
    await graph.ainvoke(human("a"), of("t"))
    assert texts(await graph.aget_state(of("t"))) == ["a", "one"]
    assert (await own_ledger.verify("t")).ok
