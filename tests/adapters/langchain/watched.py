"""A middleware that notes each call of the model: the messages of the state, and those that the model was shown."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda

from ledger.adapters.langchain import LedgerMiddleware
from ledger.adapters.langchain import middleware as module
from ledger.application.writing.entry_writes import add_drafts
from ledger.memory import MemoryLedger
from ledger.session.entry_drafts import draft_entry

THREAD: Final[Any] = {"configurable": {"thread_id": "t"}}


class Watched(LedgerMiddleware):
    """Notes the texts of each call, as a pair: of the state, and shown."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.calls: list[tuple[list[str], list[str]]] = []

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        async def noted(shown: Any) -> Any:
            self.calls.append((texts(request.messages), texts(shown.messages)))
            return await handler(shown)

        return await super().awrap_model_call(request, noted)

    @property
    def wrong(self) -> list[tuple[list[str], list[str]]]:
        """The calls in which the model was not shown the state."""
        return [call for call in self.calls if call[0] != call[1]]


class Appending(Watched):
    """The control: it adds what the session lacks at the end, removes the rest, and shows what is there then."""

    async def _show(self, ledger: MemoryLedger, session: str, messages: Sequence[Any], **once: Any) -> Any:
        _, known = await self._sync(ledger, session, messages)
        context = await ledger.get_context(session, record=True)
        return [module._message(shown, known) for shown in context.shown_messages]

    async def _sync(self, ledger: MemoryLedger, session: str, messages: Sequence[Any]) -> Any:
        found = [module._Known(each, module._with_kinds(each, key)) for each, key in module._with_digests(messages)]
        known = {entry["entry_id"]: each for each in found for entry in each.entries}
        stored = {entry.entry_id for entry in await ledger.get_transcript(session)}
        new = [draft_entry(entry) for each in found for entry in each.entries if entry["entry_id"] not in stored]
        if new:
            await add_drafts(ledger._handle, ledger._handle.stream(session, None), new)
        gone = [each.entry_id for each in await ledger.get_active_entries(session) if each.entry_id not in known]
        if gone:
            await ledger.remove_entries(session, gone)
        return 0, known


class Answering(BaseChatModel):
    """Calls the tool ``look`` with a question, and answers with its first word; without *asks* it answers at once."""

    asks: bool = True

    @property
    def _llm_type(self) -> str:
        return "answering"

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
        last = messages[-1] if messages else AIMessage("nothing")  # which a control may show
        said = AIMessage(f"answer to {last.text.split()[0]}")
        if self.asks and last.type == "human":
            question = str(last.text)
            call = {"id": f"call {question}", "name": "look", "args": {"of": question}}
            said = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=said)])


async def look(of: str) -> str:
    """Return what it is asked for."""
    return of


def looking_agent(middleware: Any, saver: Any, *, asks: bool = True) -> Any:
    """Return an agent that looks up each question and answers it; without *asks* it answers at once."""
    return create_agent(Answering(asks=asks), [look], middleware=[middleware], checkpointer=saver)


async def answered(middleware: Watched, state: Sequence[AnyMessage], answer: AnyMessage) -> list[AnyMessage]:
    """Ask the model with *state*, as the node of an agent does, and return the state with its *answer*."""

    async def model(request: Any) -> ModelResponse[Any]:
        return ModelResponse(result=[answer])

    async def node(messages: list[AnyMessage]) -> Any:
        return await middleware.awrap_model_call(ModelRequest(model=Answering(), messages=messages), model)

    await RunnableLambda(node).ainvoke([*state], THREAD)
    return [*state, answer]


def texts(messages: Sequence[Any]) -> list[str]:
    """Return what each message says: its text, and the arguments of its calls."""
    return [" ".join(_parts(message)).strip() for message in messages]


def _parts(message: Any) -> Iterator[str]:
    yield str(message.text)
    for call in getattr(message, "tool_calls", None) or ():
        yield str(call["args"].get("of"))
