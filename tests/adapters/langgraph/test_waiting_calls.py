"""An answer that waits for one of its calls is whole in a request, with its thinking. Source: adapters LG-5."""

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from ledger.adapters.langgraph import LedgerSaver
from ledger.formats.messages import REQUESTS
from ledger.stores.in_memory import InMemoryStore
from projections.rendering import NO_RESULT
from tests.support.ledgers import ledger_over
from tests.support.request_rules import faults

CONFIG: Any = {"configurable": {"thread_id": "t"}}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VjcmV0"}


def answer(content: Any, **fields: Any) -> AIMessage:
    calls = [{"name": "pump", "args": {"bed": 1}, "id": "p1"}, {"name": "valve", "args": {}, "id": "v1"}]
    return AIMessage(content=content, tool_calls=calls, **fields)


def graph(saver: LedgerSaver, said: AIMessage) -> Any:
    """Return an agent that calls two tools at once, of which one asks a person first."""

    def agent(state: MessagesState) -> Any:
        is_asked = state["messages"][-1].type == "human"
        return {"messages": [said if is_asked else AIMessage("Done.")]}

    def pump(state: MessagesState) -> Any:
        return {"messages": [ToolMessage("ran", tool_call_id="p1", name="pump")]}

    def valve(state: MessagesState) -> Any:
        return {"messages": [ToolMessage(f"valve {interrupt('open?')}", tool_call_id="v1", name="valve")]}

    built = StateGraph(MessagesState)
    for node in (agent, pump, valve):
        built.add_node(node.__name__, node)
    built.add_edge(START, "agent")
    built.add_conditional_edges(
        "agent", lambda state: ["pump", "valve"] if state["messages"][-1].tool_calls else END, ["pump", "valve", END]
    )
    built.add_edge(["pump", "valve"], "agent")
    return built.compile(checkpointer=saver)


@pytest.mark.parametrize(
    ("said", "shape", "thinking"),
    [
        (answer([THOUGHT, {"type": "text", "text": "Both."}]), "anthropic", THOUGHT),
        (answer([THOUGHT]), "anthropic", THOUGHT),
        (answer([REASONING]), "responses", REASONING),
        (answer("Both.", additional_kwargs={"reasoning_content": "hm"}), "openai", "hm"),
    ],
    ids=["anthropic", "no-text", "responses", "openai"],
)
async def test_a_request_with_a_waiting_call_is_valid_and_has_the_thinking(
    said: AIMessage, shape: str, thinking: Any
) -> None:
    ledger = ledger_over(InMemoryStore())
    saver = LedgerSaver(ledger)
    agent = graph(saver, said)
    await agent.ainvoke({"messages": [HumanMessage("use two tools")]}, CONFIG, durability="sync")
    shown = (await ledger.get_context("t")).shown_messages
    requests = {name: make(shown, {}) for name, make in REQUESTS.items()}
    assert faults(requests) == []
    assert NO_RESULT in json.dumps(requests[shape])
    assert json.dumps(thinking, sort_keys=True) in json.dumps(requests[shape], sort_keys=True)
    await agent.ainvoke(Command(resume="yes"), CONFIG, durability="sync")
    shown = (await ledger.get_context("t")).shown_messages
    requests = {name: make(shown, {}) for name, make in REQUESTS.items()}
    assert faults(requests) == []
    assert NO_RESULT not in json.dumps(requests)
    state = (await agent.aget_state(CONFIG)).values["messages"]
    assert state[1].content == said.content, "the state is as it was said"
