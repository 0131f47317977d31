"""A window as a request of OpenAI chat completions."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from ledger.events import JsonObject
from ledger.formats.messages.alternating_turns import Turn, turns_of
from ledger.formats.messages.media_parts import ContentPart, media_of, named, parts_of
from projections.entries import REASONING_CONTENT
from projections.rendering import ShownMessage

_OWN: Final = frozenset({"text", "image_url", "input_audio", "file"})
_NAME: Final = re.compile(r"[^\s<|\\/>]{1,64}\Z")


def chat_request(shown: Sequence[ShownMessage], attachments: Mapping[str, bytes]) -> JsonObject:
    """Return ``{"messages": […]}``."""
    turns = turns_of(shown, attachments)
    return {"messages": [_completed(message.message, turn) for message, turn in zip(shown, turns, strict=True)]}


def _completed(message: JsonObject, turn: Turn) -> JsonObject:
    """Return the chat message with the parts and the name that its entry has."""
    if turn.role == "user" and (parts := parts_of(turn.data.get("content") or _content_of_item(turn))):
        message = {**message, "content": [_chat_part(part) for part in parts]}
    thoughts = [data[REASONING_CONTENT] for data in _data_of_answer(turn) if REASONING_CONTENT in data]
    if thoughts:
        message = {**message, REASONING_CONTENT: "\n\n".join(thoughts)}
    name = ((turn.entry.metadata if turn.entry else None) or {}).get("name")
    shown_whole = turn.entry is not None and turn.entry.content == turn.text and turn.role != "tool"
    return {**message, "name": name} if shown_whole and isinstance(name, str) and _NAME.match(name) else message


def _data_of_answer(turn: Turn) -> list[JsonObject]:
    return [part.data for part in turn.parts] or ([turn.data] if turn.role == "assistant" else [])


def _content_of_item(turn: Turn) -> object:
    item = turn.data.get("item")
    return item.get("content") if isinstance(item, dict) else None


def _chat_part(part: ContentPart) -> JsonObject:
    if part.type in _OWN:
        return {key: value for key, value in part.raw.items() if key != "cache_control"}
    if part.kind == "image":
        return {"type": "image_url", "image_url": {"url": part.url}}
    if part.kind == "file" and media_of(part.url):
        return {"type": "file", "file": {"file_data": part.url, "filename": part.name or "file"}}
    return {"type": "text", "text": named(part)}
