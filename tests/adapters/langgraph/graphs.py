"""Graphs for the tests: an agent with a tool that asks a model server, a subgraph, and a question to a human."""

from operator import add
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from openai import AsyncOpenAI


class Talk(TypedDict, total=False):
    """The state of the agent."""

    messages: Annotated[list[AnyMessage], add_messages]
    notes: Annotated[list[str], add]


def agent(url: str) -> StateGraph[Any]:
    """Return an agent that asks the model at *url*, uses its tool, and asks a human before it deletes."""

    async def call_model(state: Talk) -> Talk:
        roles = {"human": "user", "ai": "assistant", "tool": "user"}
        asked: Any = [{"role": roles[each.type], "content": each.text or "call"} for each in state["messages"]]
        async with AsyncOpenAI(base_url=url, api_key="k") as client:
            answer = (await client.chat.completions.create(model="m", messages=asked)).choices[0].message
        text = answer.content or ""
        if text.startswith("CALL "):
            call = {"name": "weather", "args": {"city": text[5:]}, "id": f"call-{len(state['messages'])}"}
            return {"messages": [AIMessage(content="", tool_calls=[call])]}
        return {"messages": [AIMessage(content=text)]}

    def use_tool(state: Talk) -> Talk:
        last = state["messages"][-1]
        assert isinstance(last, AIMessage)
        (call,) = last.tool_calls
        city = call["args"]["city"]
        allowed = interrupt(f"may I look up {city}?") if city == "Secret" else "yes"
        text = f"{city}: sunny" if allowed == "yes" else "refused"
        return {"messages": [ToolMessage(content=text, tool_call_id=call["id"], name="weather")]}

    def note(state: Talk) -> Talk:
        return {"notes": ["seen by the subgraph"]}

    inner = StateGraph(Talk)
    inner.add_node("note", note)
    inner.add_edge(START, "note")

    graph = StateGraph(Talk)
    graph.add_node("model", call_model)
    graph.add_node("tool", use_tool)
    graph.add_node("inner", inner.compile(checkpointer=True))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", lambda state: "tool" if state["messages"][-1].tool_calls else "inner")
    graph.add_edge("tool", "model")
    graph.add_edge("inner", END)
    return graph


def human(text: str) -> Talk:
    """Return the input of a user."""
    return {"messages": [HumanMessage(content=text)]}
