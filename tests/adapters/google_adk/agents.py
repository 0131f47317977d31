"""An agent with a tool for the tests, and a model that asks an OpenAI-compatible server."""

import json
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService
from google.adk.tools import ToolContext
from google.genai import types
from openai import AsyncOpenAI

APP = "shop"
USER = "mara@example.org"


class ServedModel(BaseLlm):
    """Asks the model at *url*; an answer ``CALL Paris`` is a call of the tool."""

    model: str = "served"
    url: str

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield the one answer, with a partial one before it if it is streamed."""
        asked: Any = [
            {"role": "assistant" if content.role == "model" else "user", "content": _text(content)}
            for content in llm_request.contents
        ]
        async with AsyncOpenAI(base_url=self.url, api_key="k", max_retries=0) as client:
            answer = await client.chat.completions.create(model=self.model, messages=asked)
        text = answer.choices[0].message.content or ""
        part = types.Part(text=text)
        if text.startswith("CALL "):
            part = types.Part(function_call=types.FunctionCall(name="weather", args={"city": text[5:]}))
        elif stream:
            yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text[:3])]), partial=True)
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def _text(content: types.Content) -> str:
    for part in content.parts or []:
        if part.function_response:
            return json.dumps(part.function_response.response)
        if part.text:
            return part.text
    return "call"


def weather(city: str, tool_context: ToolContext) -> str:
    """Return the weather of a city, and note it in every kind of state."""
    tool_context.state["city"] = {"name": city}
    tool_context.state["user:last_city"] = city
    tool_context.state["app:lookups"] = tool_context.state.get("app:lookups", 0) + 1
    tool_context.state["temp:raw"] = "not stored"
    return f"{city}: sunny"


def agent(url: str) -> LlmAgent:
    """Return an agent with that tool."""
    return LlmAgent(name="guide", model=ServedModel(url=url), instruction="Be brief.", tools=[weather])


def runner(service: BaseSessionService, url: str) -> Runner:
    """Return a runner of the agent, which begins sessions that are not there."""
    return Runner(app_name=APP, agent=agent(url), session_service=service, auto_create_session=True)


async def say(runs: Runner, text: str, session_id: str = "s", user_id: str = USER) -> list[Any]:
    """Run the agent on a message of the user; return the events of the run."""
    message = types.Content(role="user", parts=[types.Part(text=text)])
    return [event async for event in runs.run_async(user_id=user_id, session_id=session_id, new_message=message)]
