"""Agents on a model server: one that hands over to another, whose tool may ask a human."""

import json
from typing import Any

from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool
from openai import AsyncOpenAI

from tests.support.model_endpoint import Behaviour, Exchange, says

#: Nothing is reported anywhere.
QUIET = RunConfig(tracing_disabled=True)


def travel_agents(url: str, *, asks: bool = False, tool: Any = None) -> Agent[Any]:
    """Return the agent that a run begins with; with *asks*, a human approves each call of the tool."""
    client = AsyncOpenAI(base_url=url, api_key="k", default_headers={"Connection": "close"})  # it is never closed
    model = OpenAIChatCompletionsModel("m", client)

    @function_tool(needs_approval=asks)
    def weather(city: str) -> str:
        """Tell the weather."""
        return f"{city}: sunny"

    forecaster: Agent[Any] = Agent(name="Forecaster", instructions="Be brief.", model=model, tools=[tool or weather])
    return Agent(name="Desk", instructions="Send people on.", model=model, handoffs=[forecaster])


def calls(name: str, call_id: str, **arguments: str) -> Behaviour:
    """Answer with a call of a tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    made = [{"id": call_id, "type": "function", "function": function}]
    return says(None, tool_calls=made, finish_reason="tool_calls")


def forecasts(exchange: Exchange) -> None:
    """Hand the question over, call the tool for the city that it names, and say what came back."""
    messages = exchange.asked["messages"]
    at = max(place for place, message in enumerate(messages) if message["role"] == "user")
    city, done = messages[at]["content"], sum(message["role"] == "tool" for message in messages[at:])
    if done == 0:
        calls("transfer_to_forecaster", f"h-{city}")(exchange)
    elif done == 1:
        calls("weather", f"w-{city}", city=city)(exchange)
    else:
        says(f"So {messages[-1]['content']}.")(exchange)


async def run(agent: Agent[Any], question: Any, session: Any) -> Any:
    """Run *agent* with a session."""
    return await Runner.run(agent, question, session=session, run_config=QUIET)
