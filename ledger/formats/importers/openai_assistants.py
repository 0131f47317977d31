"""Threads of the OpenAI Assistants API: messages with the steps of their runs, in lists, pages, or one on each line.

The API lists the newest first, so all is taken by its time. Source: adapters IN-18.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from ledger.errors import ImportRefused
from ledger.events import JsonObject
from ledger.formats.importers.elements.documents import Document
from ledger.formats.importers.elements.importer import ConversationReader, Importer, conversation, moment, shaped
from ledger.formats.importers.elements.message_parts import part_message_entries
from ledger.formats.importers.elements.run_steps import SpooledPlace, creates, in_order, run_entries, step_entries
from ledger.formats.importers.elements.spool import Spool
from ledger.formats.importers.elements.steps import LEFT_OUT, Noticed

FORMAT: Final = "openai-assistants"
_MESSAGE: Final = "thread.message"
_RUN: Final = "thread.run"
_STEP: Final = "thread.run.step"
_THREAD: Final = "thread"
_KINDS: Final = (_MESSAGE, _RUN, _STEP)
_OBJECTS: Final = (*_KINDS, _THREAD)
#: Where a page ends, which says nothing of the thread and changes when it grows.
_CURSORS: Final = {"data", "first_id", "last_id", "has_more"}


class _Thread(msgspec.Struct):
    """The places of its objects in the spool, in the order of the file, by kind."""

    line: int
    places: dict[str, list[SpooledPlace]]
    about: list[JsonObject] = []


def detects(found: Sequence[Document]) -> bool:
    """Tell whether the first document is an object of a thread, or a list, page or object that holds some."""
    return _holds_any(found[0].value)


def read(found: Iterator[Document], name: str) -> Iterator[ConversationReader]:
    """Yield a session for each thread, oldest first; of messages of one second the order of the file decides.

    Raises:
        ImportRefused: ``bad_shape``; ``no_messages`` for runs without the messages of their thread.
    """
    with Spool() as spool:
        threads: dict[str, _Thread] = {}
        about: dict[str, JsonObject] = {}
        lists, within_before = 0, None
        for document in found:
            for value, beside, within in _objects(document):
                lists += within is not None and within is not within_before
                within_before = within
                line, kind, own = document.line, value["object"], str(value.get("thread_id") or name)
                if kind == _THREAD:
                    about[str(value.get("id") or name)] = {"thread": value}
                    continue
                with shaped(f"an object {kind}", line=line):
                    place = _place(value, spool.put((line, value)), lists if within is not None else 0)
                thread = threads.setdefault(own, _Thread(line, {each: [] for each in _KINDS}))
                thread.places[kind].append(place)
                if not thread.about or thread.about[-1] is not beside:
                    thread.about.append(beside)
        for own, thread in (threads or {name: _Thread(1, {_MESSAGE: []})}).items():
            if not thread.places[_MESSAGE]:
                message = (
                    f"the file has no messages of the thread {own}; put them into one file with its runs and steps"
                )
                raise ImportRefused("no_messages", message, line=thread.line)
        for own, thread in threads.items():
            ordered = in_order(thread.places[_MESSAGE], thread.places[_RUN], thread.places[_STEP])
            known = {place.id for place in thread.places[_MESSAGE]}
            whole = {name: held for each in (*thread.about, about.get(own, {})) for name, held in each.items()}
            yield conversation(FORMAT, own, _entries(map(spool.get, ordered), known), about=whole)


def _place(value: JsonObject, place: int, within: int) -> SpooledPlace:
    created_at = moment(value.get("created_at"))
    created = creates(value) if value["object"] == _STEP else ""
    time = created_at.timestamp() if created_at else 0.0
    own, run = str(value.get("id") or ""), str(value.get("run_id") or "")
    return SpooledPlace(time=time, place=place, within=within, id=own, run=run, message=created)


def _entries(
    found: Iterator[tuple[int, JsonObject]], known: set[str]
) -> Iterator[tuple[int, list[JsonObject] | Noticed]]:
    names: dict[str, str] = {}
    for line, value in found:
        kind = value["object"]
        with shaped(f"an object {kind}", line=line):
            if kind == _STEP and (message := creates(value)) and message not in known:
                yield (
                    line,
                    Noticed(LEFT_OUT, f"the message {message} of the step {value.get('id')} is not in the file", line),
                )
            if kind == _MESSAGE:
                entries = part_message_entries(value, names)
            else:
                entries = run_entries(value) if kind == _RUN else step_entries(value)
        yield line, entries


def _objects(document: Document) -> Iterator[tuple[JsonObject, JsonObject, list[Any] | None]]:
    """Yield the messages, runs, steps and threads in a document, what is said beside each, and the list that it is in.

    Raises:
        ImportRefused: ``bad_shape``: it holds something else.
    """
    for value, about, within in _listed(document.value, {}):
        kind = value.get("object") if isinstance(value, Mapping) else None
        if not _is_object(value):
            found = f"not an object {str(kind)[:100]!r}" if kind else "not something without an object"
            raise ImportRefused("bad_shape", f"must be one of {', '.join(_OBJECTS)}, {found}", line=document.line)
        yield value, about, within


def _listed(value: Any, about: JsonObject) -> Iterator[tuple[Any, JsonObject, list[Any] | None]]:
    """Yield what is in *value*: a page, a list of objects and pages, or an object with names such as ``messages``.

    What is said beside it goes into *about*.
    """
    if isinstance(value, list):
        for each in value:
            if _is_object(each) or not _holds_any(each):
                yield each, about, value
            else:
                yield from _listed(each, {**about})
    elif _is_page(value):
        about.update({name: held for name, held in value.items() if name not in _CURSORS})
        yield from ((each, about, value["data"]) for each in value["data"])
    elif isinstance(value, Mapping) and "object" not in value and _holds_any(value):
        for name, held in value.items():
            if _holds_any(held):
                yield from _listed(held, about)
            elif not _is_page(held):
                about[name] = held
    else:
        yield value, about, None


def _holds_any(value: Any) -> bool:
    """Tell whether *value* is an object of a thread, or holds some."""
    if isinstance(value, list):
        return bool(value) and _holds_any(value[0])
    if not isinstance(value, Mapping):
        return False
    if _is_page(value):
        return _holds_any(value["data"])
    if "object" in value:
        return _is_object(value)
    return any(_holds_any(held) for held in value.values() if isinstance(held, list) or _is_page(held))


def _is_object(value: Any) -> bool:
    if not isinstance(value, Mapping) or value.get("object") not in _OBJECTS:
        return False
    return value["object"] != _MESSAGE or isinstance(value.get("role"), str)


def _is_page(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get("object") == "list" and isinstance(value.get("data"), list)


IMPORTER: Final = Importer(FORMAT, detects, read)
