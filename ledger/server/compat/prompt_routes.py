"""Prompts for a model, from a session and from long-term memory. Source: http §2.2."""

from typing import Annotated, Any

from fastapi import Body as JsonBody
from fastapi import Query
from pydantic import BaseModel, Field

from ledger.errors import InvalidInput
from ledger.events import JsonObject
from ledger.server.access.callers import Caller, ReadCaller
from ledger.server.compat import compat_answers
from ledger.server.compat.compat_limits import ContextLimit, ContextWindow, limit_of
from ledger.server.compat.locating import Locator
from ledger.server.compat.long_term_memory_routes import memory_for, search_for
from ledger.server.http.dependencies import ServiceOf
from ledger.server.http.route_kinds import compat_router
from ledger.server.http.strict_body import LenientBody
from ledger.session.merge.merge_fields import context_text
from projections.entries import Entry
from projections.prompts import label, marked
from projections.rendering import speaks

router = compat_router(tags=["prompt"])


class SessionBody(LenientBody):
    """The names of the session, and the model of the prompt."""

    session_id: str = Field(min_length=1)
    namespace: str | None = None
    user_id: str | None = None
    model_name: str | None = None
    context_window_max: ContextWindow | None = None


class PromptBody(LenientBody):
    """The query, and the sources of context for it."""

    query: str
    session: SessionBody | None = None
    long_term_search: JsonObject | bool | None = None


class PromptText(BaseModel):
    """The text of a message, in the form of model APIs."""

    type: str = "text"
    text: str
    annotations: None = None
    meta: None = Field(default=None, serialization_alias="_meta")


class PromptMessage(BaseModel):
    """A message for a model."""

    role: str
    content: PromptText


class PromptOut(BaseModel):
    """Messages for a model, and the records that they contain."""

    messages: list[PromptMessage]
    long_term_memories: list[dict[str, Any]] | None


@router.post("/v1/memory/prompt")
async def prompt(
    sent: Annotated[PromptBody, JsonBody()],
    caller: ReadCaller,
    service: ServiceOf,
    optimize_query: Annotated[bool, Query()] = False,
) -> PromptOut:
    """Return the messages for a model: the summary, the messages, the records found, and the query."""
    # http W-24
    if sent.session is None and (sent.long_term_search is None or sent.long_term_search is False):
        raise InvalidInput("nothing_asked", "Either session or long_term_search must be provided")
    messages: list[PromptMessage] = []
    if sent.session is not None:
        messages += await _session_messages(sent.session, caller, service)
    found: list[JsonObject] | None = None
    if sent.long_term_search is not None and sent.long_term_search is not False:
        memory = await memory_for(service, caller)
        found = (await memory.search(search_for(caller, _search(sent)))).as_json()["memories"]
        messages.append(_known(caller, _memories_text(found)))
    return PromptOut(messages=[*messages, _prompt_message("user", sent.query)], long_term_memories=found or None)


def _search(sent: PromptBody) -> JsonObject:
    """Return the search in long-term memory: the query, filtered by the names of the session. Source: http W-25."""
    if not isinstance(sent.long_term_search, dict):
        search: JsonObject = {"limit": 20}
        if sent.session is not None:
            search["session_id"] = {"ne": sent.session.session_id}
    else:
        search = dict(sent.long_term_search)
    for name in ("user_id", "namespace"):
        value = getattr(sent.session, name, None)
        if value is not None and search.get(name) is None:
            search[name] = {"eq": value}
    return {**search, "text": sent.query}


def _memories_text(found: list[JsonObject]) -> str:
    lines = [f"- {record['text']} (ID: {record['id']})" for record in found]
    known = "\n".join(lines) if lines else "No relevant long-term memories found."
    return f"## Long term memories related to the user's query\n {known}"


async def _session_messages(sent: SessionBody, caller: ReadCaller, service: ServiceOf) -> list[PromptMessage]:
    """Return the summary and messages of a session; none if it does not exist (http W-23)."""
    limit: ContextLimit = limit_of(sent.model_name, sent.context_window_max)
    place = await Locator(service, caller).find(sent.session_id, namespace=sent.namespace, user_id=sent.user_id)
    if place is None:
        return []
    context = context_text(place.state)
    messages = [_known(caller, f"## A summary of the conversation so far:\n{context}")] if context else []
    stream = service.handle(place.namespace, caller).stream(place.session_id, place.user_id)
    view = await service.services.states.view(stream, place.state, lambda: compat_answers.view_of(place.state, limit))
    return messages + [_entry_message(caller, entry) for entry in view.entries]


def _known(caller: Caller, text: str) -> PromptMessage:
    """Return what strangers may have written, a summary or memories, as data.

    A caller who may write as the system gets it in the form of the published API.
    """
    # trust M-4, http W-24
    return _prompt_message("system", text) if caller.permits("system") else _prompt_message("user", marked(text))


def _entry_message(caller: Caller, entry: Entry) -> PromptMessage:
    """Return a message of the session; to a caller without the system scope, what a tool or a file said is data."""
    if speaks(entry) or caller.permits("system"):
        return _prompt_message("user" if entry.role == "user" else "assistant", entry.content)
    return _prompt_message("user", marked(f"{label(entry)}: {entry.content}"))


def _prompt_message(role: str, text: str) -> PromptMessage:
    return PromptMessage(role=role, content=PromptText(text=text))
