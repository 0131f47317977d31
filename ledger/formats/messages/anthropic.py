"""A window as a request of the Anthropic Messages API."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ledger.events import JsonObject
from ledger.formats.messages.alternating_turns import AnswerPart, Turn, instructions_of, turns_of
from ledger.formats.messages.beside_text import THINKING_TYPES
from ledger.formats.messages.media_parts import ContentPart, media_of, named, parts_of
from projections.entries import BLOCK, ONLY_THINKING, THINKING
from projections.rendering import ShownMessage, says

_NOT_OF_AN_ID: Final = re.compile(r"[^a-zA-Z0-9_-]")
_BEGIN: Final = "[…]"
_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_OWN: Final = frozenset({"text", "image", "document", "search_result"})


def anthropic_request(shown: Sequence[ShownMessage], attachments: Mapping[str, bytes]) -> JsonObject:
    """Return ``{"system": …, "messages": […]}``; without a system prompt only the messages.

    An answer that begins with thinking is not joined with what the assistant said before without any.
    The roles alternate and begin with the user's, results follow their calls, and ids of calls are unique and have
    only characters that the API takes.
    """
    turns = turns_of(shown, attachments)
    system = instructions_of(turns)
    ids = _CallIds()
    messages: list[JsonObject] = []
    inside = _results_inside(turns)
    placed = {turn.entry.version for turn in inside.values() if turn.entry}
    for turn in turns:
        if turn.role == "system" or (turn.entry is not None and turn.entry.version in placed):
            continue
        role = "assistant" if turn.role == "assistant" else "user"
        blocks = list(_answer(turn, ids, inside) if role == "assistant" else _blocks(turn, ids, attachments))
        if not blocks:
            continue  # thinking that only another provider takes back
        if not messages or messages[-1]["role"] != role:
            messages.append({"role": role, "content": blocks})
        elif _thinks(blocks) and not _thinks(messages[-1]["content"]):  # it must begin a message
            messages += [{"role": "user", "content": [_text(_BEGIN)]}, {"role": role, "content": blocks}]
        else:
            messages[-1]["content"] += blocks
    for message in messages:
        if message["content"][-1]["type"] in THINKING_TYPES:  # it must not end a message
            message["content"].append(_text(ONLY_THINKING))
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


def _results_inside(turns: Sequence[Turn]) -> dict[int, Turn]:
    """Return the results of the provider's tools by the version of their call, if both go back as they were."""
    found: dict[int, Turn] = {}
    calls: dict[str, AnswerPart] = {}
    for turn in turns:
        if turn.role != "tool":
            calls = {part.call_id: part for part in turn.parts if part.call_id and BLOCK in part.data}
        elif BLOCK in turn.data and turn.call_id in calls:
            found[calls[turn.call_id].entry.version] = turn
    return found


def _blocks(turn: Turn, ids: _CallIds, attachments: Mapping[str, bytes]) -> Iterator[JsonObject]:
    if turn.role == "tool":
        yield _result(turn, ids)
        return
    item = turn.data.get("item") or {}
    parts = parts_of(turn.data.get("content") or item.get("content"))
    yield from [_block(part) for part in parts] or [_text(turn.text)]


def _answer(turn: Turn, ids: _CallIds, inside: Mapping[int, Turn]) -> Iterator[JsonObject]:
    """Yield the blocks of an answer, results of the provider's tools at their place in it."""
    if not turn.parts:
        yield from _text_blocks(turn.text, turn.data, thinks_only=turn.entry is not None and not says(turn.entry))
    pieces: list[AnswerPart | Turn] = [*turn.parts]
    pieces += [inside[part.entry.version] for part in turn.parts if part.entry.version in inside]
    for piece in sorted(pieces, key=lambda piece: piece.entry.version if piece.entry else 0):
        if isinstance(piece, Turn):
            yield _result_inside(piece, ids)
        elif not piece.call_id:
            yield from _text_blocks(piece.text, piece.data, thinks_only=not says(piece.entry))
        else:
            yield from piece.data.get(THINKING, ())
            given = {} if piece.entry.arguments is None else piece.entry.arguments
            arguments = given if isinstance(given, dict) else {"arguments": given}
            name = _NOT_OF_AN_ID.sub("_", piece.name)
            block = _sent(piece.data[BLOCK]) if piece.entry.version in inside else {"type": "tool_use"}
            yield {**block, "id": ids.of_call(piece.call_id), "name": name, "input": arguments}


def _text_blocks(text: str, data: JsonObject, *, thinks_only: bool) -> Iterator[JsonObject]:
    yield from data.get(THINKING, ())
    if not thinks_only:
        yield _text(text.rstrip() or _BEGIN)  # an answer must not end with white space


def _result_inside(turn: Turn, ids: _CallIds) -> JsonObject:
    assert turn.entry is not None
    failed = {"error": True, "ok": False}.get(turn.entry.tool_status or "")
    content = turn.data.get("content", turn.text)
    result = {**_sent(turn.data[BLOCK]), "tool_use_id": ids.of_result(turn.call_id), "content": content}
    return result if failed is None else {**result, "is_error": failed}


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
