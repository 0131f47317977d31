"""Real agents of Pydantic AI whose conversations are in the ledger, on real PostgreSQL. Source: adapters PY-1."""

import asyncio
import json
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability, ProcessHistory
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, RunContext

from ledger.adapters.pydantic_ai import LedgerHistory
from ledger.adapters.pydantic_ai.ledger_history import RecordedRun
from ledger.errors import InvalidInput, Unavailable
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.postgres import PostgresStore
from tests.adapters.pydantic_ai.agents import calls, forecasts, model_of, rounds_of_calls, shown, texts, weather_agent
from tests.support.ledgers import ledger_over
from tests.support.model_endpoint import Endpoint, raw, says

pytestmark = pytest.mark.postgres


async def test_runs_go_on_where_the_last_one_ended__PY_1(
    history: LedgerHistory, own_ledger: MemoryLedger, model: Endpoint
) -> None:
    """Source: adapters AD-4, AD-12."""
    model.answers(calls("Paris"), says("Sunny."), says("Bye."))
    agent = weather_agent(model.url, history)
    await agent.run("Weather in Paris?", conversation_id="user/42")
    result = await agent.run("Thanks", conversation_id="user/42")
    await own_ledger.settle()
    found = await history.conversation("user/42").messages()
    assert shown(found) == shown(result.all_messages())
    assert texts(result.new_messages()) == ["Thanks", "Bye."]
    said = ["Be brief.", "Weather in Paris?", "weather", "Paris: sunny", "Sunny.", "Thanks", "Bye."]
    assert texts(found) == said
    assert [message["role"] for message in model.asked[-1]["messages"]] == [
        *("system", "system", "user", "assistant", "tool", "assistant", "user")
    ]
    entries = await own_ledger.get_transcript("~user%2F42")
    assert [(entry.kind, entry.role, entry.tool_call_id) for entry in entries[:5]] == [
        ("message", "system", None),
        ("message", "user", None),
        ("tool_call", "assistant", "c1"),
        ("tool_result", "tool", "c1"),
        ("message", "assistant", None),
    ]
    metadata = entries[0].metadata
    assert metadata == {"agent": "forecaster", "run_id": found[0].run_id}
    assert (await own_ledger.verify("~user%2F42")).ok


async def test_names_of_agents_and_runs_may_be_any_text__AD_12(
    history: LedgerHistory, own_ledger: MemoryLedger, model: Endpoint
) -> None:
    model.answers(says("Sunny."))
    agent = Agent(model_of(model.url), name="a\0b", capabilities=[history])
    await agent.run("Paris", conversation_id="t", run_id="r\ud800")
    entries = await own_ledger.get_transcript("t")
    assert [entry.metadata for entry in entries] == [{"agent": "a␀b", "run_id": "r�"}] * 2


async def test_a_history_that_leaves_out_a_message_is_noticed(
    history: LedgerHistory, model: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: nothing is recorded between the calls of the model, and the last message is lost."""

    async def forget(self: RecordedRun, ctx: Any, *, node: Any) -> Any:
        self._live = ctx.messages[:-1]
        return node

    monkeypatch.setattr(RecordedRun, "before_node_run", forget)
    model.answers(calls("Paris"), says("Sunny."))
    result = await weather_agent(model.url, history).run("Weather?", conversation_id="t")
    assert shown(await history.conversation("t").messages()) != shown(result.all_messages())


async def test_streamed_and_iterated_runs_are_recorded_too__PY_1(history: LedgerHistory, model: Endpoint) -> None:
    chunks = [{"role": "assistant", "content": "Sun"}, {"content": "ny."}, {}]
    lines = [
        {
            "id": "1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": None if delta else "stop"}],
        }
        for delta in chunks
    ]
    body = "".join(f"data: {json.dumps(line)}\n\n" for line in lines) + "data: [DONE]\n\n"
    model.answers(raw(body.encode()))
    agent = weather_agent(model.url, history)
    async with agent.run_stream("Weather?", conversation_id="t") as streamed:
        assert await streamed.get_output() == "Sunny."
    assert shown(await history.conversation("t").messages()) == shown(streamed.all_messages())
    model.answers(says("Bye."))
    async with agent.iter("Thanks", conversation_id="t") as run:
        async for _ in run:
            pass
    assert texts(await history.conversation("t").messages()) == ["Be brief.", "Weather?", "Sunny.", "Thanks", "Bye."]


async def test_ten_runs_at_once_lose_nothing_and_stay_whole__AD_8(
    history: LedgerHistory, own_ledger: MemoryLedger, model: Endpoint, postgres_store: PostgresStore, namespace: str
) -> None:
    """Two ledgers write. Source: adapters AD-6, AD-7."""
    model.answers(forecasts)
    agent = weather_agent(model.url, history)
    other = weather_agent(model.url, LedgerHistory(ledger=ledger_over(postgres_store, namespace=namespace)))
    results = await asyncio.gather(
        *((agent, other)[number % 2].run(f"City{number}", conversation_id="t") for number in range(10))
    )
    found = await history.conversation("t").messages()
    assert len(found) == 40
    for at, result in enumerate(sorted(results, key=lambda result: found_at(found, result.run_id))):
        assert shown(found[4 * at : 4 * at + 4]) == shown(result.new_messages())
    assert len({result.run_id for result in results}) == 10
    in_log = [str((entry.metadata or {})["run_id"]) for entry in await own_ledger.get_transcript("t")]
    assert sum(one != other for one, other in pairwise(in_log)) > 9, "they were beside each other"
    for run_id in set(in_log):
        own = [
            entry.entry_id
            for entry in await own_ledger.get_transcript("t")
            if (entry.metadata or {})["run_id"] == run_id
        ]
        assert own == sorted(own)
    after = await agent.run("City10", conversation_id="t")
    assert len(after.all_messages()) == 44, "the SDK finds nothing to repair"
    assert (await own_ledger.verify("t")).ok


def found_at(messages: list[ModelMessage], run_id: str) -> int:
    return [message.run_id for message in messages].index(run_id)


async def test_random_runs_are_recorded_as_they_were__PY_1(
    history: LedgerHistory, own_ledger: MemoryLedger, model: Endpoint, seed: int
) -> None:
    random = Random(seed)
    agent = weather_agent(model.url, history)
    expected: dict[str, list[Any]] = {}
    for _ in range(5):
        rounds = [str(random.randint(0, 3)) + "".join(random.choices("ab \u2028\u00e9", k=5)) for _ in range(3)]
        model.answers(rounds_of_calls)
        results = await asyncio.gather(*(agent.run(prompt, conversation_id="t") for prompt in rounds))
        expected |= {result.run_id: shown(result.new_messages()) for result in results}
    found = await history.conversation("t").messages()
    runs = {run_id: shown([each for each in found if each.run_id == run_id]) for run_id in expected}
    assert runs == expected
    assert [each.run_id for each in found] == sorted(
        (each.run_id or "" for each in found), key=list(runs_in(found)).index
    )
    assert (await own_ledger.verify("t")).ok


def runs_in(messages: list[ModelMessage]) -> dict[str, None]:
    """Return the runs in the order of their first messages."""
    return dict.fromkeys(message.run_id or "" for message in messages)


async def test_two_histories_record_the_same_run(history: LedgerHistory, model: Endpoint) -> None:
    """A program that moves to another database has both for a while."""
    model.answers(says("one"), says("two"), says("three"))
    await weather_agent(model.url, history).run("a", conversation_id="t")
    async with LedgerHistory(store=InMemoryStore()) as other:
        agent = weather_agent(model.url, history, other)
        await agent.run("b", conversation_id="t")
        await agent.run("c", conversation_id="t")
        both = [texts(await each.conversation("t").messages()) for each in (history, other)]
    assert both[0] == both[1] == ["Be brief.", "a", "one", "b", "two", "c", "three"]


async def test_a_call_that_waits_for_approval_is_answered_later(history: LedgerHistory, model: Endpoint) -> None:
    agent = Agent(model_of(model.url), capabilities=[history], output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def weather(city: str) -> str:
        return f"{city}: sunny"

    model.answers(calls("Paris"), says("Sunny."))
    waiting = await agent.run("Weather?", conversation_id="t")
    assert isinstance(waiting.output, DeferredToolRequests)
    with pytest.raises(UserError, match="unprocessed tool calls"):
        await agent.run("Now?", conversation_id="t")
    results = DeferredToolResults(approvals={"c1": True})
    assert (await agent.run(deferred_tool_results=results, conversation_id="t")).output == "Sunny."
    assert texts(await history.conversation("t").messages()) == ["Weather?", "weather", "Paris: sunny", "Sunny."]


async def test_what_others_do_to_the_history_is_not_recorded__PY_1(history: LedgerHistory, model: Endpoint) -> None:
    def shorten(messages: list[ModelMessage]) -> list[ModelMessage]:
        copies = [replace(message) for message in messages[-2:]]
        return copies if isinstance(copies[0], ModelRequest) else copies[-1:]

    agent = weather_agent(model.url, ProcessHistory(shorten), history)
    model.answers(says("one"), says("two"), says("three"))
    for prompt in "abc":
        await agent.run(prompt, conversation_id="t")
    assert len(model.asked[-1]["messages"]) < 5
    found = await history.conversation("t").messages()
    assert texts(found) == ["Be brief.", "a", "one", "b", "two", "c", "three"]


class Adding(AbstractCapability[Any]):
    """Adds to each request: by the queue of the run, or to the history itself."""

    def __init__(self, way: str) -> None:
        self.way = way

    async def before_model_request(self, ctx: RunContext[Any], request_context: Any) -> Any:
        if self.way == "enqueue":
            ctx.enqueue("from a hook")
        elif self.way == "append":
            added = ModelRequest(parts=[UserPromptPart("appended")])
            request_context.messages = [*request_context.messages, added]
            ctx.messages.append(added)
        return request_context


@pytest.mark.parametrize("way", ["nothing", "enqueue", "append"])
async def test_what_others_add_to_a_request_is_recorded__PY_1(
    history: LedgerHistory, model: Endpoint, way: str
) -> None:
    agent = weather_agent(model.url, Adding(way), history)

    @agent.tool
    def look(ctx: RunContext[None], city: str) -> str:
        ctx.enqueue("from the tool")
        return "seen"

    model.answers(calls("Paris", tool="look"), says("Sunny."))
    result = await agent.run("Weather?", conversation_id="t")
    found = await history.conversation("t").messages()
    assert shown(found) == shown(result.all_messages())
    assert "from the tool" in texts(found)


async def test_a_history_of_the_caller_begins_the_conversation(history: LedgerHistory, model: Endpoint) -> None:
    given: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart("hello")]),
        ModelResponse(parts=[TextPart("hi")]),
    ]
    model.answers(says("one"), says("two"))
    agent = weather_agent(model.url, history)
    await agent.run("a", conversation_id="t", message_history=given)
    assert texts(await history.conversation("t").messages()) == ["hello", "hi", "a", "one"]
    await agent.run("b", conversation_id="t", message_history=given[:1])
    assert texts(await history.conversation("t").messages()) == ["hello", "hi", "a", "one", "b", "two"]
    run_id = (await history.conversation("t").messages())[-1].run_id
    with pytest.raises(UserError, match="run_id"):
        await agent.run("c", conversation_id="t", run_id=run_id)


async def test_the_past_is_read_forked_and_replayed__AD_13(
    history: LedgerHistory, own_ledger: MemoryLedger, model: Endpoint
) -> None:
    model.answers(says("one"), says("two"), says("else"))
    agent = weather_agent(model.url, history)
    conversation = history.conversation("t")
    first = await agent.run("a", conversation_id="t")
    await conversation.messages()
    before = conversation.version
    await agent.run("b", conversation_id="t")
    past = conversation.at(version=before)
    assert shown(await past.messages()) == shown(first.all_messages())
    other = await conversation.fork("t-2", version=before)
    await agent.run("c", conversation_id="t-2")
    assert texts(await other.messages()) == ["Be brief.", "a", "one", "c", "else"]
    assert texts(await conversation.messages()) == ["Be brief.", "a", "one", "b", "two"]
    outcome = await own_ledger.what_if("t", {"window": {"type": "recall", "max_tokens": 50}})
    assert outcome.session_id == "t"
    for name in ("t", "t-2"):
        assert (await own_ledger.verify(name)).ok
    with pytest.raises(InvalidInput):
        conversation.at()
    assert await history.conversation("unknown").messages() == []


async def test_an_edit_is_what_the_model_reads_next__AD_5(
    history: LedgerHistory, own_ledger: MemoryLedger, model: Endpoint
) -> None:
    model.answers(says("one"), says("two"))
    agent = weather_agent(model.url, history)
    await agent.run("a", conversation_id="t")
    entries = await own_ledger.get_transcript("t")
    await own_ledger.edit_entry("t", entries[-1].entry_id, "edited")
    await own_ledger.remove_entry("t", entries[0].entry_id)
    await own_ledger.add_user_message("t", "from elsewhere")
    await agent.run("b", conversation_id="t")
    assert [message["content"] for message in model.asked[-1]["messages"] if message["role"] != "system"] == [
        *("a", "edited", "from elsewhere", "b")
    ]


def test_a_history_of_its_own_ledger_is_used_from_any_loop__AD_2(model: Endpoint) -> None:
    model.answers(says("one"))
    history = LedgerHistory(store=InMemoryStore(), user_id=lambda ctx: f"user {ctx.deps}")
    agent = Agent(model_of(model.url), deps_type=int, capabilities=[history])
    for number in (1, 2, 1):
        asyncio.run(agent.run("a", conversation_id="t", deps=number))
    conversation = history.conversation("t", user_id="user 1")
    assert len(asyncio.run(conversation.messages())) == 4
    asyncio.run(history.close())
    with pytest.raises(Unavailable):
        asyncio.run(agent.run("a", conversation_id="t", deps=1))
