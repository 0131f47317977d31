"""Messages of threads of the OpenAI Assistants API: a page of the API, a list, or one on each line.

The API lists the newest first, so messages are taken by their times. Source: adapters IN-18.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from ledger.errors import ImportRefused
from ledger.events import JsonObject
from ledger.importers.base import ConversationReader, Importer, conversation, moment, shaped
from ledger.importers.parts.documents import Document
from ledger.importers.parts.message_parts import part_message_entries
from ledger.importers.parts.spool import Spool

FORMAT: Final = "openai-assistants"
_MESSAGE: Final = "thread.message"
#: Where a page ends, which says nothing of the thread and changes when it grows.
_CURSORS: Final = {"data", "first_id", "last_id", "has_more"}


def detects(found: Sequence[Document]) -> bool:
    """Tell whether the first document is a message of a thread, a list of them, or a page."""
    return _is_message(next(iter(_listed(found[0].value)), None))


def read(found: Iterator[Document], name: str) -> Iterator[ConversationReader]:
    """Yield a session for each thread, oldest message first; of messages of one second the order of the file decides.

    Raises:
        ImportRefused: ``bad_shape``.
    """
    with Spool() as spool:
        threads: dict[str, list[tuple[float, int]]] = {}
        about: JsonObject = {}
        for document in found:
            if isinstance(document.value, dict) and not _is_message(document.value):
                about.update({key: value for key, value in document.value.items() if key not in _CURSORS})
            for message in _listed(document.value):
                if not _is_message(message):
                    raise ImportRefused("bad_shape", "must be a message of a thread", line=document.line)
                said_at = moment(message.get("created_at"))
                place = said_at.timestamp() if said_at else 0.0, spool.put((document.line, message))
                threads.setdefault(str(message.get("thread_id") or name), []).append(place)
        for thread, places in threads.items():
            newest_first = places[0][0] > places[-1][0]
            ordered = sorted(reversed(places) if newest_first else places, key=lambda place: place[0])
            yield conversation(FORMAT, thread, _entries(map(spool.get, (place for _, place in ordered))), about=about)


def _entries(messages: Iterator[tuple[int, JsonObject]]) -> Iterator[tuple[int, list[JsonObject]]]:
    names: dict[str, str] = {}
    for line, message in messages:
        with shaped("a message of a thread", line=line):
            yield line, part_message_entries(message, names)


def _listed(value: Any) -> list[Any]:
    if isinstance(value, dict) and value.get("object") == "list" and isinstance(value.get("data"), list):
        return list(value["data"])
    return value if isinstance(value, list) else [value]


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and value.get("object") == _MESSAGE and isinstance(value.get("role"), str)


IMPORTER: Final = Importer(FORMAT, detects, read)
