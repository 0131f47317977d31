"""A window as a request of the Anthropic Messages API."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final

from ledger.events import JsonObject
from ledger.messages.beside_text import BLOCK, CONTENT, THINKING_TYPES
from ledger.messages.parts import ContentPart, media_of, named, parts_of
from ledger.messages.turns import AnswerPart, Turn, instructions_of, turns_of
from projections.entries import THINKING
from projections.rendering import ShownMessage

_NOT_OF_AN_ID: Final = re.compile(r"[^a-zA-Z0-9_-]")
_BEGIN: Final = "[…]"
_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_OWN: Final = frozenset({"text", "image", "document", "search_result"})


def anthropic_request(shown: Sequence[ShownMessage], attachments: Mapping[str, bytes]) -> JsonObject:
    """Return ``{"system": …, "messages": […]}``; without a system prompt only the messages.

    An answer that begins with thinking is not joined with what the assistant said before without any. What a tool that
    the provider runs was asked and gave, such as a web search, goes back in the answer, as it came.
    The roles alternate and begin with the user's, results follow their calls, and ids of calls are unique and have
    only characters that the API takes.
    """
    turns = turns_of(shown, attachments)
    system = instructions_of(turns)
    ids = _CallIds()
    messages: list[JsonObject] = []
    served: dict[str, Turn] = {}
    for at, turn in enumerate(turns):
        if turn.role == "system" or (turn.role == "tool" and turn.call_id in served):
            continue
        if turn.role == "assistant":
            served = _served(turn, takewhile(lambda after: after.role == "tool", turns[at + 1 :]))
        role = "assistant" if turn.role == "assistant" else "user"
        blocks = list(_blocks(turn, ids, served))
        if not messages or messages[-1]["role"] != role:
            messages.append({"role": role, "content": blocks})
        elif _thinks(blocks) and not _thinks(messages[-1]["content"]):  # it must begin a message
            messages += [{"role": "user", "content": [_text(_BEGIN)]}, {"role": role, "content": blocks}]
        else:
            messages[-1]["content"] += blocks
    if not messages or messages[0]["role"] != "user":
        messages.insert(0, {"role": "user", "content": [_text(_BEGIN)]})
    return {**({"system": system} if system else {}), "messages": messages}


def _thinks(blocks: Sequence[JsonObject]) -> bool:
    return blocks[0]["type"] in THINKING_TYPES


class _CallIds:
    """Ids of calls as the API takes them: each of one call only; a result has that of the newest call."""

    def __init__(self) -> None:
        self._given: set[str] = set()
        self._newest: dict[str, str] = {}

    def of_call(self, call_id: str) -> str:
        own = base = _NOT_OF_AN_ID.sub("_", call_id) or "call"
        number = 1
        while own in self._given:
            number += 1
            own = f"{base}_{number}"
        self._given.add(own)
        self._newest[call_id] = own
        return own

    def of_result(self, call_id: str) -> str:
        return self._newest[call_id]


def _served(answer: Turn, results: Iterable[Turn]) -> dict[str, Turn]:
    """Return what tools of the provider gave, by the id of the call; not if either side is only text, as of an edit."""
    calls = {part.call_id for part in answer.parts if BLOCK in part.data}
    return {turn.call_id: turn for turn in results if turn.call_id in calls and BLOCK in turn.data}


def _blocks(turn: Turn, ids: _CallIds, served: Mapping[str, Turn]) -> Iterator[JsonObject]:
    if turn.role == "tool":
        yield _result(turn, ids)
        return
    if turn.role == "user":
        item = turn.data.get("item") or {}
        parts = parts_of(turn.data.get("content") or item.get("content"))
        yield from [_block(part) for part in parts] or [_text(turn.text)]
        return
    if not turn.parts:
        yield from _said(turn.text, turn.data)
    for part in turn.parts:
        if not part.call_id:
            yield from _said(part.text, part.data)
            continue
        yield from part.data.get(THINKING, ())
        yield from _call(part, ids, served.get(part.call_id))


def _call(part: AnswerPart, ids: _CallIds, given: Turn | None) -> Iterator[JsonObject]:
    """Yield the call; one that the provider ran with what it gave."""
    raw = {} if part.entry.arguments is None else part.entry.arguments
    arguments = raw if isinstance(raw, dict) else {"arguments": raw}
    own = {"id": ids.of_call(part.call_id), "name": _NOT_OF_AN_ID.sub("_", part.name), "input": arguments}
    if given is None:
        yield {"type": "tool_use", **own}
        return
    yield {**_sent(part.data[BLOCK]), **own}
    result = {**_sent(given.data[BLOCK]), "tool_use_id": own["id"], "content": given.data.get(CONTENT, given.text)}
    status = given.entry and given.entry.tool_status
    yield {**result, "is_error": status == "error"} if status else result


def _said(text: str, data: JsonObject) -> Iterator[JsonObject]:
    yield from data.get(THINKING, ())
    yield _text(text.rstrip() or _BEGIN)  # an answer must not end with white space


def _result(turn: Turn, ids: _CallIds) -> JsonObject:
    item = turn.data.get("item") or {}
    parts = parts_of(turn.data.get("content") or item.get("output"))
    content: Any = [_block(part) for part in parts] or turn.text
    failed = turn.entry is not None and turn.entry.tool_status == "error"
    result = {"type": "tool_result", "tool_use_id": ids.of_result(turn.call_id), "content": content}
    return {**result, "is_error": True} if failed else result


def _sent(block: JsonObject) -> JsonObject:
    return {key: value for key, value in block.items() if key != "cache_control"}  # at most four in a request


def _block(part: ContentPart) -> JsonObject:
    if part.type in _OWN and part.kind != "text":
        return _sent(part.raw)
    media = media_of(part.url)
    if part.kind == "image" and (media is None or media[0] in _IMAGES):
        return {"type": "image", "source": _source(part, media)}
    if part.kind == "file" and (media is None or media[0] == "application/pdf"):
        return {"type": "document", "source": _source(part, media)}
    return _text(named(part) if named(part).strip() else _BEGIN)


def _source(part: ContentPart, media: tuple[str, str] | None) -> JsonObject:
    if media is None:
        return {"type": "url", "url": part.url}
    return {"type": "base64", "media_type": media[0], "data": media[1]}


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}
