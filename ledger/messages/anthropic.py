"""A window as a request of the Anthropic Messages API."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ledger.events import JsonObject
from ledger.messages.parts import ContentPart, media_of, named, parts_of
from ledger.messages.turns import Turn, instructions_of, turns_of
from projections.entries import THINKING
from projections.rendering import ShownMessage

_NOT_OF_AN_ID: Final = re.compile(r"[^a-zA-Z0-9_-]")
_BEGIN: Final = "[…]"
_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_OWN: Final = frozenset({"text", "image", "document", "search_result"})


def anthropic_request(shown: Sequence[ShownMessage], attachments: Mapping[str, bytes]) -> JsonObject:
    """Return ``{"system": …, "messages": […]}``; without a system prompt only the messages.

    The roles alternate and begin with the user's, results follow their calls, and ids of calls are unique and have
    only characters that the API takes.
    """
    turns = turns_of(shown, attachments)
    system = instructions_of(turns)
    ids = _CallIds()
    messages: list[JsonObject] = []
    for turn in turns:
        if turn.role == "system":
            continue
        role = "assistant" if turn.role == "assistant" else "user"
        blocks = list(_blocks(turn, ids, attachments))
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        else:
            messages.append({"role": role, "content": blocks})
    if not messages or messages[0]["role"] != "user":
        messages.insert(0, {"role": "user", "content": [_text(_BEGIN)]})
    return {**({"system": system} if system else {}), "messages": messages}


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


def _blocks(turn: Turn, ids: _CallIds, attachments: Mapping[str, bytes]) -> Iterator[JsonObject]:
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
        given = {} if part.entry.arguments is None else part.entry.arguments
        arguments = given if isinstance(given, dict) else {"arguments": given}
        name = _NOT_OF_AN_ID.sub("_", part.name)
        yield {"type": "tool_use", "id": ids.of_call(part.call_id), "name": name, "input": arguments}


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


def _block(part: ContentPart) -> JsonObject:
    if part.type in _OWN and part.kind != "text":
        return {key: value for key, value in part.raw.items() if key != "cache_control"}  # at most four in a request
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
