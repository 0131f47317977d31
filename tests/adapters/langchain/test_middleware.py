"""Agents of LangChain that see the context of the ledger, on real PostgreSQL. Source: adapters LC-2."""

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver

from ledger.adapters.langchain import LedgerMiddleware
from ledger.adapters.langgraph import LedgerSaver
from ledger.errors import InvalidInput, Unavailable
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.adapters.langchain.agents import calls, weather_agent
from tests.support.model_endpoint import Endpoint, echo, says

pytestmark = pytest.mark.postgres


class Seeing(BaseChatModel):
    """Keeps the messages that it was shown last."""

    seen: list[BaseMessage]

    @property
    def _llm_type(self) -> str:
        return "seeing"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.seen[:] = messages
        return ChatResult(generations=[ChatGeneration(message=AIMessage("ok"))])


def of(thread_id: str) -> Any:
    return {"configurable": {"thread_id": thread_id}}


def said(*texts: Any) -> Any:
    return {"messages": [HumanMessage(content=text) for text in texts]}


def asked(model: Endpoint) -> list[Any]:
    """Return what the model was shown last, without the system prompt."""
    first, *others = model.asked[-1]["messages"]
    assert first == {"role": "system", "content": "Be brief."}
    return [message["content"] for message in others]


async def test_the_model_sees_a_summary_and_the_state_keeps_everything__LC_2(
    own_ledger: MemoryLedger, model: Endpoint
) -> None:
    agent = weather_agent(model.url, LedgerMiddleware(ledger=own_ledger), checkpointer=InMemorySaver())
    model.answers(echo)
    for number in range(10):
        await agent.ainvoke(said(f"turn {number}"), of("user/42"))
        await own_ledger.settle()
    state = (await agent.aget_state(of("user/42"))).values["messages"]
    assert [message.text for message in state] == [f"turn {at // 2}" for at in range(20)]
    shown = asked(model)
    assert shown[0].startswith("[Previous conversation summary]")
    assert shown[-1] == "turn 9"
    assert len(shown) < 15
    assert "turn 0" not in shown
    session = LedgerMiddleware.session_of("user/42")
    assert session == "~user%2F42#context"
    entries = await own_ledger.get_transcript(session)
    assert [entry.content for entry in entries] == [message.text for message in state]
    audit = await own_ledger.seen(session)
    assert audit.recorded is not None
    assert [
        line["content"] for line in (await own_ledger.get_context(session, version=audit.version)).messages
    ] == shown
    assert (await own_ledger.verify(session)).ok
    outcome = await own_ledger.what_if(session, {"window": {"type": "recall", "max_tokens": 50}})
    assert outcome.session_id == session
    await own_ledger.fork(session, "other")
    assert len(await own_ledger.get_transcript("other")) == 20


async def test_without_the_middleware_the_model_sees_everything(model: Endpoint) -> None:
    """The control of the test above."""

    class Nothing(LedgerMiddleware):
        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            return await handler(request)

    async with Nothing(store=InMemoryStore()) as middleware:
        agent = weather_agent(model.url, middleware, checkpointer=InMemorySaver())
        model.answers(echo)
        for number in range(10):
            await agent.ainvoke(said(f"turn {number}"), of("t"))
        assert len(asked(model)) == 19


async def test_calls_and_results_are_shown_as_the_sdk_made_them__LC_2(
    own_ledger: MemoryLedger, model: Endpoint
) -> None:
    agent = weather_agent(model.url, LedgerMiddleware(ledger=own_ledger), checkpointer=InMemorySaver())
    model.answers(calls("Paris"), says("Sunny."))
    image = [{"type": "text", "text": "Weather here?"}, {"type": "image_url", "image_url": {"url": "data:image/png,x"}}]
    result = await agent.ainvoke(said(image), of("t"))
    assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "ai"]
    sent = model.asked[-1]["messages"][1:]
    assert sent[0]["content"] == image
    assert sent[1]["tool_calls"][0]["function"] == {"name": "weather", "arguments": '{"city": "Paris"}'}
    assert (sent[2]["tool_call_id"], sent[2]["content"]) == ("c1", "Paris: sunny")
    entries = await own_ledger.get_transcript("t#context")
    assert [entry.kind for entry in entries] == ["message", "tool_call", "tool_result", "message"]
    await own_ledger.edit_entry("t#context", entries[2].entry_id, "Paris: rain")
    model.answers(says("Rain."))
    await agent.ainvoke(said("Sure?"), of("t"))
    assert [message["content"] for message in model.asked[-1]["messages"]][3:] == ["Paris: rain", "Sunny.", "Sure?"]
    await own_ledger.add_user_message("t#context", "from elsewhere")
    await agent.aupdate_state(of("t"), {"messages": [RemoveMessage(id=result["messages"][0].id)]})
    await agent.ainvoke(said("And now?"), of("t"))
    assert (await own_ledger.get_transcript("t#context"))[0].kind == "tool_call"
    assert "from elsewhere" in asked(model), "what others added stays"


@pytest.mark.parametrize("city", ["x\0y", "long " * 300_000, "[" * 40], ids=["NUL", "long", "brackets"])
async def test_a_call_is_shown_with_its_arguments_however_odd__LC_2(city: str) -> None:
    async with LedgerMiddleware(store=InMemoryStore()) as middleware:
        state = [
            HumanMessage("Weather?", id="1"),
            AIMessage("", id="2", tool_calls=[{"name": "look", "args": {"city": city}, "id": "c1"}]),
            ToolMessage("sunny", id="3", tool_call_id="c1"),
        ]
        model = Seeing(seen=[])
        await create_agent(model, middleware=[middleware]).ainvoke({"messages": state}, of("t"))
        assert model.seen == state


async def test_a_call_that_is_no_json_is_shown_with_its_result__LC_2() -> None:
    """An agent answers it, and a provider wants an answer to each call that it is shown."""
    async with LedgerMiddleware(store=InMemoryStore()) as middleware:
        bad: Any = {"name": "look", "args": "{bad", "id": "c1", "error": "no JSON"}
        unnamed: Any = {"name": None, "args": None, "id": "c2", "error": None}
        state = [
            HumanMessage("Weather?", id="1"),
            AIMessage("", id="2", invalid_tool_calls=[bad, unnamed]),
            ToolMessage("try again", id="3", tool_call_id="c1", status="error"),
            ToolMessage("try again", id="4", tool_call_id="c2", status="error"),
        ]
        model = Seeing(seen=[])
        await create_agent(model, middleware=[middleware]).ainvoke({"messages": state}, of("t"))
        assert model.seen == state
        entries = await middleware.ledger.get_transcript("t#context")
        assert [entry.kind for entry in entries[1:]] == [
            "tool_call",
            "tool_call",
            "tool_result",
            "tool_result",
            "message",
        ]
        assert entries[1].arguments == "{bad"


async def test_an_agent_that_a_tool_calls_has_a_context_of_its_own__LC_2(
    own_ledger: MemoryLedger, model: Endpoint
) -> None:
    middleware = LedgerMiddleware(ledger=own_ledger)
    inner = weather_agent(model.url, middleware, tools=[])

    async def weather(city: str) -> str:
        """Return the weather of a city."""
        answer: Any = await inner.ainvoke(said(f"Weather in {city}?"))
        return str(answer["messages"][-1].text)

    agent = weather_agent(model.url, middleware, tools=[weather], checkpointer=InMemorySaver())
    model.answers(calls("Paris"), says("inner"), says("Sunny."))
    await agent.ainvoke(said("Weather?"), of("t"))
    sessions = sorted([each.session_id for each in await own_ledger.list_sessions()], key=len)
    assert sessions[0] == "t#context"
    assert [entry.content for entry in await own_ledger.get_transcript(sessions[1])] == ["Weather in Paris?", "inner"]
    whole = await own_ledger.get_transcript(sessions[0])
    assert [entry.content for entry in whole][::2] == ["Weather?", "inner"]
    assert whole[-1].content == "Sunny."


async def test_ten_runs_at_once_do_not_mix__AD_8(own_ledger: MemoryLedger, model: Endpoint) -> None:
    agent = weather_agent(model.url, LedgerMiddleware(ledger=own_ledger), checkpointer=InMemorySaver())
    model.answers(echo)

    async def run(number: int) -> list[str]:
        for turn in range(3):
            await agent.ainvoke(said(f"{number}-{turn}"), of(f"t{number}"))
        return [entry.content for entry in await own_ledger.get_transcript(f"t{number}#context")]

    found = await asyncio.gather(*map(run, range(10)))
    assert found == [[f"{number}-{at // 2}" for at in range(6)] for number in range(10)]
    assert (await own_ledger.verify()).ok


async def test_a_killed_process_is_resumed_with_its_context__LC_2(url: str, namespace: str, model: Endpoint) -> None:
    model.answers(calls("Paris"), says("Sunny."))
    command = [sys.executable, "-m", "tests.adapters.langchain.crashing_process", url, namespace, model.url]
    assert (await asyncio.to_thread(subprocess.run, command, check=False)).returncode == -9
    async with LedgerSaver.open(url, namespace) as saver, LedgerMiddleware(url, namespace=namespace) as middleware:
        agent = weather_agent(model.url, middleware, checkpointer=saver)
        result = await agent.ainvoke(None, of("t"))
        assert [message.text for message in result["messages"]] == ["Weather?", "", "Paris: sunny", "Sunny."]
        entries = await middleware.ledger.get_transcript("t#context")
        assert [entry.kind for entry in entries] == ["message", "tool_call", "tool_result", "message"]
        for session in ("t", "t#context"):
            assert (await middleware.ledger.verify(session)).ok


def test_runs_that_are_not_asynchronous_and_those_without_a_thread__AD_2(model: Endpoint) -> None:
    middleware = LedgerMiddleware(store=InMemoryStore())
    agent = weather_agent(model.url, middleware)
    model.answers(calls("Paris"), says("Sunny."))
    result = agent.invoke(said("Weather?"), of("t"))
    assert [message.text for message in result["messages"]] == ["Weather?", "", "Paris: sunny", "Sunny."]
    assert len(asyncio.run(middleware.ledger.get_transcript("t#context"))) == 4
    with pytest.raises(InvalidInput, match="thread_id"):
        agent.invoke(said("Weather?"))
    middleware.close()
    with pytest.raises(Unavailable):
        agent.invoke(said("Weather?"), of("t"))
