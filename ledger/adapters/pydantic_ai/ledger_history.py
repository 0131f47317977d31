"""The history of Pydantic AI's agents in the ledger: a capability that loads and records conversations.

agent = Agent("openai:gpt-5", capabilities=[LedgerHistory()])
await agent.run("What state is the Golden Gate Bridge in?", conversation_id="tour-42")
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, Self

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.capabilities.abstract import AgentNode, CapabilityOrdering, WrapRunHandler
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import DeferredToolRequests, RunContext

from ledger.adapters.any_loop_ledger import AnyLoopLedger
from ledger.adapters.large_items import LargeValues
from ledger.adapters.opened_ledger import OpenedLedger
from ledger.adapters.pydantic_ai.model_messages import drafts_of, dumped, messages_of
from ledger.adapters.stored_conversation import StoredConversation
from ledger.errors import LedgerError
from ledger.events import JsonObject
from ledger.formats.importers.elements.damaged import clean
from ledger.memory import MemoryLedger

#: Whose conversation it is: a name, or what finds it for a run.
ConversationUser = str | Callable[[RunContext[Any]], str | None] | None

_SPACE: Final = "pydantic-ai"
_WAITING: Final = "waiting"


class LedgerConversation(StoredConversation):
    """A conversation that runs of agents added to, now or in the past, as messages of Pydantic AI."""

    _id_field = "conversation_id"

    async def messages(self) -> list[ModelMessage]:
        """Return its messages; those of one run follow each other. An unknown conversation has none."""
        return messages_of(await self._opened.run(self.reading()))

    async def note_waiting(self, run_id: str) -> None:
        """Store that the run ended with calls that wait for results from elsewhere."""
        note = {"space": _SPACE, "key": _WAITING, "value": run_id}
        await self.ledger.keep(self._name, [note], user_id=self._user_id)

    async def is_waiting(self, run_id: str | None) -> bool:
        """Tell whether `note_waiting` was called for that run after all others."""
        noted = await self.ledger.get_kept(self._name, _SPACE, _WAITING, user_id=self._user_id)
        return noted is not None and noted.value == run_id


class LedgerHistory(AbstractCapability[Any]):
    """Gives each run of an agent the messages of its conversation, and records what it adds, as soon as it does.

    Given nothing, it opens the embedded server or the database that the environment names; given a URL, that
    database. Then it may be used from any event loop and thread. Given an open *ledger*, it uses that, on the event
    loop of the ledger.
    """

    def __init__(
        self,
        database_url: str | None = None,
        *,
        namespace: str | None = None,
        user_id: ConversationUser = None,
        ledger: MemoryLedger | None = None,
        id: str | None = None,
        **opening: Any,
    ) -> None:
        """Remember what to open at the first use; other arguments are those of `MemoryLedger.open`.

        Raises:
            InvalidInput: a ledger was given with what would open another.
        """
        self.id = id
        self._user_id = user_id
        self._opened = OpenedLedger(database_url, namespace, ledger=ledger, what="the history", **opening)

    @property
    def ledger(self) -> AnyLoopLedger:
        """The ledger that the conversations are in, from any event loop."""
        return AnyLoopLedger(self._opened)

    def conversation(self, conversation_id: str, *, user_id: str | None = None) -> LedgerConversation:
        """Return the conversation *conversation_id*, to read it, now or in the past, and to fork it."""
        own = self._user_id if isinstance(self._user_id, str) else None
        return LedgerConversation(self._opened, conversation_id, own if user_id is None else user_id)

    async def close(self) -> None:
        """End the use of the ledger; later runs raise `Unavailable`."""
        await self._opened.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    def get_ordering(self) -> CapabilityOrdering:
        """Record before all other capabilities change messages."""
        return CapabilityOrdering(position="outermost")

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:
        """Return what records this run."""
        assert ctx.conversation_id is not None  # every run has one
        user_id = self._user_id(ctx) if callable(self._user_id) else self._user_id
        return RecordedRun(LedgerConversation(self._opened, ctx.conversation_id, user_id), self._opened, self.id)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return None: a spec of an agent names no database."""
        return None


class RecordedRun(AbstractCapability[Any]):
    """Loads the messages of a conversation into one run and appends those that the run makes, each once."""

    def __init__(self, conversation: LedgerConversation, opened: OpenedLedger, id: str | None) -> None:
        self.id = id
        self._conversation = conversation
        self._opened = opened
        self._recording = ""
        self._live: list[ModelMessage] = []  # the history of the run, as the run changes it
        self._last: ModelMessage | None = None  # in the history, only what follows it can be new
        self._request: ModelMessage | None = None  # the newest message before others changed the history
        self._taken: list[ModelMessage] = []
        self._recorded: list[ModelMessage] = []

    def get_ordering(self) -> CapabilityOrdering:
        """Record before all other capabilities change messages."""
        return CapabilityOrdering(position="outermost")

    async def wrap_run(self, ctx: RunContext[Any], *, handler: "WrapRunHandler") -> AgentRunResult[Any]:
        """Load the history, and record at the end, also after an error or a cancellation, what is not recorded yet."""
        await self._load(ctx)
        try:
            result = await handler()
        except BaseException as fault:
            try:
                await self._record(ctx)
            except LedgerError as second:  # what ended the run matters more
                fault.add_note(f"Its last messages are not in the ledger: {second}")
            raise
        await self._record(ctx)
        if isinstance(result.output, DeferredToolRequests) and ctx.run_id is not None:
            await self._conversation.note_waiting(ctx.run_id)
        return result

    async def before_node_run(self, ctx: RunContext[Any], *, node: "AgentNode[Any]") -> "AgentNode[Any]":
        """Record the model's answer before its tools are called."""
        self._live = ctx.messages
        await self._record(ctx)
        return node

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Take what is new, before others change the history."""
        self._live = ctx.messages
        self._take(ctx)
        self._request = ctx.messages[-1] if ctx.messages else None
        return request_context

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Record what was taken, which has its instructions now; the model is asked afterwards."""
        self._take_added(ctx.messages)
        await self._write(ctx)
        self._last = ctx.messages[-1] if ctx.messages else None  # what others did to it is no new message
        return request_context

    async def _load(self, ctx: RunContext[Any]) -> None:
        """Put the stored messages into the history of the run, or begin the record with those that it was given."""
        entries = await self._opened.run(self._conversation.reading())
        self._recording = await self._opened.run(_new_id)
        if ctx.messages:
            if not entries:
                self._taken = list(ctx.messages)
                await self._write(ctx)
            return
        loaded = messages_of(entries)
        if any(message.run_id == ctx.run_id for message in loaded):
            raise UserError(f"`run_id` {ctx.run_id!r} is in the conversation already: give another one, or none")
        ctx.messages[:] = loaded if ctx.prompt is None else await self._ready_for_a_prompt(loaded)

    async def _ready_for_a_prompt(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        """Return *messages* with calls at their end closed, unless their results were to come from elsewhere.

        A process died in a tool, or another run is in one; the SDK would refuse the prompt until there is a result.
        """
        last = messages[-1] if messages else None
        if not isinstance(last, ModelResponse) or not last.tool_calls:
            return messages
        if await self._conversation.is_waiting(last.run_id):
            return messages
        return [*messages[:-1], replace(last, state="interrupted")]

    async def _record(self, ctx: RunContext[Any]) -> None:
        self._take(ctx)
        await self._write(ctx)

    def _take(self, ctx: RunContext[Any]) -> None:
        new = self._new(ctx.run_id)
        if new:
            self._taken += new
            self._last = self._live[-1]

    def _take_added(self, messages: list[ModelMessage]) -> None:
        """Take also what others added to the request and after it, such as messages that a tool put in a queue."""
        request, self._request = self._request, None
        if request is None:
            return
        same = [at for at, message in enumerate(messages) if message is request]
        same = same or [at for at, message in enumerate(messages) if _begins_with(message, request)]
        if same:  # else another capability wrote it anew, and it stays as it was
            self._taken = [messages[same[-1]] if each is request else each for each in self._taken]
            self._taken += messages[same[-1] + 1 :]

    def _new(self, run_id: str | None) -> list[ModelMessage]:
        """Return the messages that the run made since the last ones, also if others replaced its history."""
        for at in reversed(range(len(self._live))):
            if self._live[at] is self._last:
                return self._live[at + 1 :]
        own = [message for message in self._live if message.run_id == run_id]
        known = [dumped(message) for message in (*self._recorded, *self._taken)] if own else []
        return [message for message in own if dumped(message) not in known]

    async def _write(self, ctx: RunContext[Any]) -> None:
        """Append what was taken; tried again after a failure, it has the same ids, so it is stored once."""
        if not self._taken:
            return
        metadata: JsonObject = {"run_id": ctx.run_id}
        if ctx.agent is not None and ctx.agent.name:
            metadata["agent"] = ctx.agent.name
        large, first = LargeValues(), len(self._recorded)
        drafts = drafts_of(self._taken, large, recording=self._recording, first=first, metadata=clean(metadata))
        await self._opened.run(self._conversation.adding(drafts, large))
        self._recorded += self._taken
        self._taken = []


def _begins_with(message: ModelMessage, other: ModelMessage) -> bool:
    return message.kind == other.kind and list(message.parts[: len(other.parts)]) == list(other.parts)


async def _new_id(ledger: MemoryLedger) -> str:
    return ledger._handle.services.clock.ulid()  # noqa: SLF001 - adapters are part of the ledger


__all__ = ["LedgerConversation", "LedgerHistory"]
