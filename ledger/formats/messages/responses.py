"""A window as a request of the OpenAI Responses API."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from ledger.events import JsonObject
from ledger.events.canonical import canonical_json
from ledger.formats.messages.alternating_turns import AnswerPart, Turn, instructions_of, turns_of
from ledger.formats.messages.beside_text import ITEM
from ledger.formats.messages.media_parts import ContentPart, media_of, named, parts_of
from projections.entries import REASONING, Entry
from projections.rendering import ShownMessage

_OWN: Final = frozenset({"input_text", "input_image", "input_file"})


def responses_request(shown: Sequence[ShownMessage], attachments: Mapping[str, bytes]) -> JsonObject:
    """Return ``{"instructions": …, "input": […]}``; without a system prompt only the input.

    An item that was given, such as reasoning with its call, goes back as it was.
    """
    turns = turns_of(shown, attachments)
    instructions = instructions_of(turns)
    answers = _Answers()
    pieces = [piece for turn in turns if turn.role != "system" for piece in _pieces(turn)]
    items = [item for piece in _with_reasoning(pieces) for item in _items(piece, answers)]
    return {**({"instructions": instructions} if instructions else {}), "input": items}


class _Answers:
    """The kinds of the calls so far, by id, and whether the newest answer is sent whole.

    A provider takes an item with its id only after the reasoning that led to it, so what follows a gap in the log, or
    an edit, is sent without its id.
    """

    def __init__(self) -> None:
        self.kinds: dict[str, str] = {}
        self._newest = 0
        self._is_whole = True

    def passed(self, entry: Entry | None) -> None:
        """Note that *entry*, which is not the assistant's, or else a summary or a gap, is sent."""
        self._newest, self._is_whole = entry.version if entry else self._newest, True

    def item(self, entry: Entry, data: JsonObject) -> Iterator[JsonObject]:
        """Yield the item of *entry* as it was given, after its reasoning; nothing if it has none, or was edited."""
        follows, self._newest = entry.version == self._newest + 1, entry.version
        self._is_whole = ITEM in data and (REASONING in data or (self._is_whole and follows))
        if ITEM in data:
            yield from data.get(REASONING, ())
            yield {key: value for key, value in data[ITEM].items() if key != "id" or self._is_whole}


def _pieces(turn: Turn) -> Sequence[Turn | AnswerPart]:
    if turn.role != "assistant":
        return (turn,)
    of_entry = (AnswerPart(turn.entry, turn.text, turn.data),) if turn.entry else ()
    return turn.parts or of_entry


def _with_reasoning(pieces: Sequence[Turn | AnswerPart]) -> Iterator[Turn | AnswerPart]:
    """Yield *pieces*, those that are only reasoning as part of the item that comes next, if there is one."""
    before: list[JsonObject] = []
    for each, after in pairwise((*pieces, None)):
        assert each is not None, "only the last has none after it"
        if not isinstance(each, AnswerPart):
            yield each
            continue
        piece = each._replace(data={**each.data, REASONING: before + each.data.get(REASONING, [])}) if before else each
        leads = isinstance(after, AnswerPart) and (ITEM in after.data or REASONING in after.data)
        if leads and REASONING in piece.data and ITEM not in piece.data:
            before = piece.data[REASONING]
        else:
            before = []
            yield piece


def _items(piece: Turn | AnswerPart, answers: _Answers) -> Iterator[JsonObject]:
    if isinstance(piece, AnswerPart):
        yield from _part(piece, answers)
        return
    answers.passed(piece.entry)
    yield _result(piece, answers.kinds) if piece.role == "tool" else _message(piece)


def _message(turn: Turn) -> JsonObject:
    item = turn.data.get(ITEM)
    if item is not None and item.get("role") == "user":
        return dict(item)
    parts = parts_of(turn.data.get("content"))
    return {"role": turn.role, "content": [_responses_part(part) for part in parts] or turn.text}


def _part(part: AnswerPart, answers: _Answers) -> Iterator[JsonObject]:
    item = part.data.get(ITEM)
    is_its_own = not part.call_id or (item is not None and item.get("call_id") == part.call_id)
    given = list(answers.item(part.entry, part.data if is_its_own else {}))
    yield from given
    if not part.call_id:
        if not given:
            yield {"role": "assistant", "content": part.text}
        return
    if not given:
        arguments = canonical_json({} if part.entry.arguments is None else part.entry.arguments).decode()
        yield {"type": "function_call", "call_id": part.call_id, "name": part.name, "arguments": arguments}
    answers.kinds[part.call_id] = f"{given[-1]['type'] if given else 'function_call'}_output"


def _result(turn: Turn, kinds: Mapping[str, str]) -> JsonObject:
    item, kind = turn.data.get("item"), kinds[turn.call_id]
    if item is not None and item["type"] == kind and item.get("call_id") == turn.call_id:
        return dict(item)
    output = [_responses_part(part) for part in parts_of(turn.data.get("content"))]
    return {"type": kind, "call_id": turn.call_id, "output": output or turn.text}


def _responses_part(part: ContentPart) -> JsonObject:
    if part.type in _OWN:
        return part.raw
    if part.kind == "image":
        return {"type": "input_image", "image_url": part.url, "detail": "auto"}
    if part.kind == "file":
        at = {"file_data": part.url, "filename": part.name or "file"} if media_of(part.url) else {"file_url": part.url}
        return {"type": "input_file", **at}
    return {"type": "input_text", "text": named(part)}
