"""Items and responses of the OpenAI Responses API. Source: adapters IN-10."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final

from ledger.errors import ImportRefused
from ledger.events import JsonObject
from ledger.formats.importers.elements.documents import Document
from ledger.formats.importers.elements.importer import ConversationReader, Importer, conversation, moment, shaped
from ledger.formats.importers.elements.response_items import is_item, item_entry

FORMAT: Final = "openai-responses"
_OF_RESPONSE: Final = {"data", "input", "output", "instructions"}


def detects(found: Sequence[Document]) -> bool:
    """Tell whether the first document is an item, a list of items, a page of them, or a response."""
    value = found[0].value
    return _is_list(value) or _is_response(value) or any(map(is_item, value if isinstance(value, list) else [value]))


def read(found: Iterator[Document], name: str) -> Iterator[ConversationReader]:
    """Yield one session: all items of the file, in their order; of a response its input, then its output."""
    first = next(found)
    about: JsonObject = {}
    if _is_list(first.value) or _is_response(first.value):
        about = {key: item for key, item in first.value.items() if key not in _OF_RESPONSE and item is not None}
    yield conversation(FORMAT, name, _items(chain([first], found), name), about=about)


def _items(found: Iterable[Document], name: str) -> Iterator[tuple[int, list[JsonObject]]]:
    tools: dict[str, str] = {}
    for document in found:
        for number, item in enumerate(_items_of(document)):
            where = f"{name}, line {document.line}, item {number}"
            with shaped(where, line=document.line):
                typed = {**item, "type": item.get("type", "message")}
                entry = item_entry(typed, tools)
            yield document.line, [{**entry, "created_at": moment(item.get("created_at"))}]


def _items_of(document: Document) -> Iterator[JsonObject]:
    value = document.value
    if _is_response(value):
        if value.get("instructions"):
            yield {"role": "system", "content": value["instructions"]}
        given = value.get("input") or []
        if not isinstance(given, list):
            given = [{"role": "user", "content": given}]
        items = [*given, *value["output"]]
    elif _is_list(value):
        items = value["data"]
    else:
        items = value if isinstance(value, list) else [value]
    for item in items:
        if not isinstance(item, dict) or not (isinstance(item.get("type"), str) or isinstance(item.get("role"), str)):
            raise ImportRefused("bad_shape", "an item must be an object with a type", line=document.line)
        yield item


def _is_list(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("object") != "list" or not isinstance(value.get("data"), list):
        return False
    first = next(iter(value["data"]), None)
    return not isinstance(first, dict) or first.get("object") != "thread.message"


def _is_response(value: Any) -> bool:
    return isinstance(value, dict) and value.get("object") == "response" and isinstance(value.get("output"), list)


IMPORTER: Final = Importer(FORMAT, detects, read)
