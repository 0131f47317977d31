"""An agent with a tool, on a model server."""

from typing import Any

from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from ledger.adapters.pydantic_ai.model_messages import dumped
from tests.support.model_endpoint import Behaviour, Exchange, says


def model_of(url: str) -> OpenAIChatModel:
    client = AsyncOpenAI(base_url=url, api_key="k", default_headers={"Connection": "close"})  # it is never closed
    return OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client))


def weather_agent(url: str, *capabilities: Any) -> Agent[None, str]:
    """Return an agent that can ask for the weather."""
    agent = Agent(
        model_of(url), name="forecaster", system_prompt="Be brief.", instructions="Say less.", capabilities=capabilities
    )

    @agent.tool_plain
    def weather(city: str) -> str:
        return f"{city}: sunny"

    return agent


def calls(city: str, call_id: str = "c1", tool: str = "weather") -> Behaviour:
    """Answer with a call of the tool."""
    function = {"name": tool, "arguments": f'{{"city": "{city}"}}'}
    return says(
        None, tool_calls=[{"id": call_id, "type": "function", "function": function}], finish_reason="tool_calls"
    )


def forecasts(exchange: Exchange) -> None:
    """Answer a prompt with a call of the tool, and its result with a text."""
    last = exchange.asked["messages"][-1]
    if last["role"] == "tool":
        says(f"So {last['content']}.")(exchange)
    else:
        calls(last["content"], f"call-{last['content']}")(exchange)


def rounds_of_calls(exchange: Exchange) -> None:
    """Answer a prompt that begins with a digit with so many calls at once, and so many times, then with a text."""
    messages = exchange.asked["messages"]
    at = max(place for place, message in enumerate(messages) if message["role"] == "user")
    wanted, done = int(messages[at]["content"][0]), sum(each["role"] == "assistant" for each in messages[at:])
    if done == wanted:
        says(f"{done} rounds")(exchange)
    else:
        made = [
            {"id": f"{id(messages)}-{done}-{number}", "type": "function", "function": function}
            for number, function in enumerate([{"name": "weather", "arguments": '{"city": "Paris"}'}] * wanted)
        ]
        says("I look.", tool_calls=made, finish_reason="tool_calls")(exchange)


def shown(messages: list[ModelMessage]) -> list[Any]:
    return [dumped(message) for message in messages]


def texts(messages: list[ModelMessage]) -> list[str]:
    """Return what was said, and the names of tools that were called."""
    parts = [part for message in messages for part in message.parts]
    return [str(getattr(part, "content", None) or getattr(part, "tool_name", "")) for part in parts]
