"""The context of the ledger for the model of an agent of LangChain.

agent = create_agent(model, tools, middleware=[LedgerMiddleware()])  # was: SummarizationMiddleware(model)
"""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, Final, NamedTuple, Self, cast

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain_core.messages import AnyMessage, convert_to_messages
from langgraph.config import get_config
from langgraph.runtime import Runtime

from ledger.adapters.any_loop_ledger import AnyLoopLedger
from ledger.adapters.foreign_names import SEPARATOR, name_of
from ledger.adapters.langchain.langchain_window import show_only
from ledger.adapters.langchain.stored_messages import SDK
from ledger.adapters.langgraph.state_window import entries_of
from ledger.adapters.opened_ledger import OpenedLedger, repeated
from ledger.errors import InvalidInput
from ledger.events.clock import SystemClock
from ledger.memory import MemoryLedger
from projections.entries import Entry
from projections.rendering import ShownMessage

_clock: Final = SystemClock()


class LedgerMiddleware(AgentMiddleware[Any, Any, Any]):
    """Shows the model the context that the ledger makes of an agent's messages, and records what it showed.

    The state of the agent keeps all messages. They are also entries of the session ``THREAD#context``, whose config
    says which of them the model sees, and what is summarized. Each call is shown the state of its own run, also while
    other runs of the thread go on. Given nothing, it opens the embedded server or the database that the environment
    names; given a URL, that database. Given an open *ledger*, use only asynchronous runs, on the event loop of the
    ledger.
    """

    def __init__(
        self,
        database_url: str | None = None,
        *,
        namespace: str | None = None,
        user_id: str | None = None,
        ledger: MemoryLedger | None = None,
        **opening: Any,
    ) -> None:
        """Remember what to open at the first use; other arguments are those of `MemoryLedger.open`, such as *config*.

        Raises:
            InvalidInput: a ledger was given with what would open another.
        """
        super().__init__()
        self._user_id = None if user_id is None else name_of(user_id)
        self._opened = OpenedLedger(database_url, namespace, ledger=ledger, what="the middleware", **opening)

    @property
    def ledger(self) -> AnyLoopLedger:
        """The ledger that the contexts are in, from any event loop."""
        return AnyLoopLedger(self._opened)

    @staticmethod
    def session_of(thread_id: str, agent: str = "") -> str:
        """Return the name of the session with the contexts of a thread.

        *agent* is the checkpoint namespace of an agent that a tool or a node of another one calls: each has its own.
        """
        names = [thread_id, "context", *([agent] if agent else [])]
        return SEPARATOR.join(name_of(name, separators=SEPARATOR) for name in names)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Ask the model with the context of the ledger in the place of all messages.

        Raises:
            InvalidInput: the run has no ``thread_id``.
            Unavailable: the middleware is closed, the database is away, or other runs came first again and again.
        """
        shown = self._opened.call(self._showing(request.messages))
        return handler(request.override(messages=shown))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """See `wrap_model_call`."""
        shown = await self._opened.run(self._showing(request.messages))
        return await handler(request.override(messages=shown))

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Add the messages after the last call of the model."""
        self._opened.call(repeated(partial(self._sync, session=_session(), messages=state["messages"])))

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """See `after_agent`."""
        await self._opened.run_once(partial(self._sync, session=_session(), messages=state["messages"]))

    def close(self) -> None:
        """End the use of the ledger; later runs raise `Unavailable`."""
        self._opened.leave()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._opened.close()

    def _showing(self, messages: Sequence[AnyMessage]) -> Callable[[MemoryLedger], Awaitable[list[AnyMessage]]]:
        """Return what records the context of *messages* and returns it, once however often the connection breaks."""
        show = partial(self._show, session=_session(), messages=messages, key=_clock.ulid(), versions=[])
        return repeated(show)

    async def _show(
        self, ledger: MemoryLedger, session: str, messages: Sequence[AnyMessage], key: str, versions: list[int]
    ) -> list[AnyMessage]:
        if not messages:
            return []
        version, known = await self._sync(ledger, session, messages)
        versions.append(version)
        # at the version of the first such write: a run with another state may have written since
        context = await ledger.get_context(
            session, version=versions[0], record=True, user_id=self._user_id, idempotency_key=key
        )
        return [_message(shown, known) for shown in context.shown_messages]

    async def _sync(
        self, ledger: MemoryLedger, session: str, messages: Sequence[AnyMessage]
    ) -> tuple[int, "dict[str, _Known]"]:
        """Make the entries of the session those of *messages*; return its version, and these by ids of entries."""
        found = [_Known(each, _with_kinds(each, digest)) for each, digest in _with_digests(messages)]
        wanted = {entry["entry_id"]: entry for each in found for entry in each.entries}
        handle = ledger._handle  # noqa: SLF001 - adapters are part of the ledger
        version = await show_only(handle, handle.stream(session, self._user_id), wanted)
        return version, {entry["entry_id"]: each for each in found for entry in each.entries}


class _Known(NamedTuple):
    """A message of the state and its entries."""

    message: AnyMessage
    entries: list[dict[str, Any]]

    def is_shown_by(self, shown: ShownMessage) -> bool:
        """Tell whether *shown* is this message as it is: all of it, and not edited."""
        first = self.entries[0]
        text = "" if first["kind"] == "tool_call" else str(first.get("content") or "")  # of a call it is not shown
        texts = {entry["entry_id"]: entry.get("content") for entry in self.entries if entry["kind"] != "tool_call"}
        sources = [source for source in shown.sources if isinstance(source, Entry)]
        found = {source.entry_id: source.content for source in sources if source.kind != "tool_call"}
        ids = [entry["entry_id"] for entry in self.entries]
        return (
            texts == found
            and sorted(ids) == sorted(source.entry_id for source in sources)
            and (shown.message.get("content") or "") == text
        )


def _with_kinds(message: AnyMessage, digest: str) -> list[dict[str, Any]]:
    return [
        {"kind": "message", **entry, "metadata": {**entry["metadata"], "sdk": SDK}}
        for entry in entries_of(message, digest)
    ]


def _message(shown: ShownMessage, known: "dict[str, _Known]") -> AnyMessage:
    """Return the message of the state that is shown, with all that only the SDK knows of, or one made of the text."""
    source = shown.sources[0] if shown.sources else None
    found = known.get(source.entry_id) if isinstance(source, Entry) else None
    if found is not None and found.is_shown_by(shown):
        return found.message
    return cast("AnyMessage", convert_to_messages([shown.message])[0])


def _with_digests(messages: Sequence[AnyMessage]) -> Iterator[tuple[AnyMessage, str]]:
    """Yield each message and a digest of what is shown of it; the same for equal messages without ids, but counted."""
    seen: Counter[str] = Counter()
    for message in messages:
        calls = getattr(message, "tool_calls", None)
        text = json.dumps([message.id, message.type, message.content, calls], default=str)
        seen[text] += 1
        yield message, sha256(f"{seen[text]} {text}".encode()).hexdigest()[:40]


def _session() -> str:
    chosen = get_config().get("configurable", {})
    if chosen.get("thread_id") is None:
        message = "is missing: run the agent with config={'configurable': {'thread_id': …}}"
        raise InvalidInput("missing_field", message, field="thread_id")
    agent, _, _ = str(chosen.get("checkpoint_ns", "")).rpartition("|")  # the last part is the node of this call
    return LedgerMiddleware.session_of(str(chosen["thread_id"]), agent)
