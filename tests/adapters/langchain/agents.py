"""An agent of LangChain with a tool, whose model is a server on loopback."""

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, convert_to_openai_messages
from langchain_core.messages.utils import convert_to_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from openai import AsyncOpenAI, OpenAI

from tests.support.model_endpoint import Behaviour, says


class EndpointModel(BaseChatModel):
    """Asks the server with OpenAI's own client."""

    url: str

    @property
    def _llm_type(self) -> str:
        return "endpoint"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        with OpenAI(base_url=self.url, api_key="k") as client:
            return result_of(client.chat.completions.create(model="m", messages=openai_form(messages)))

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        async with AsyncOpenAI(base_url=self.url, api_key="k") as client:
            return result_of(await client.chat.completions.create(model="m", messages=openai_form(messages)))


def openai_form(messages: list[BaseMessage]) -> Any:
    return convert_to_openai_messages(messages)


def result_of(answer: Any) -> ChatResult:
    said = answer.choices[0].message.model_dump(exclude_none=True)
    return ChatResult(generations=[ChatGeneration(message=convert_to_messages([{"content": "", **said}])[0])])


def weather(city: str) -> str:
    """Return the weather of a city."""
    return f"{city}: sunny"


def weather_agent(url: str, middleware: Any, **given: Any) -> Any:
    """Return an agent that can ask for the weather."""
    tools = given.pop("tools", [weather])
    return create_agent(EndpointModel(url=url), tools, system_prompt="Be brief.", middleware=[middleware], **given)


def calls(city: str, call_id: str = "c1") -> Behaviour:
    """Answer with a call of the tool."""
    function = {"name": "weather", "arguments": f'{{"city": "{city}"}}'}
    return says("", tool_calls=[{"id": call_id, "type": "function", "function": function}])
