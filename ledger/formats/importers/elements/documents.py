"""The JSON documents of a file, with their lines."""

import json
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from ledger.errors import ImportRefused, InvalidInput
from ledger.events.strict_json import TRANSCRIPT, parse
from ledger.formats.importers.elements.damaged import READABLE_LINE, readable

#: What to do with a document that is too large.
BY_LINE: Final = "write one message, conversation, run, observation or resourceSpans object a line"
_TOO_LARGE: Final = f"a JSON document must have at most {TRANSCRIPT.size:,} bytes; {BY_LINE}"


class Document(msgspec.Struct, frozen=True):
    """A JSON value and the line where it begins, from 1; with a *fault*, one that only some importers read."""

    line: int
    value: Any
    fault: ImportRefused | None = None


def documents(source: bytes | Iterable[bytes]) -> list[Document]:
    """Return the documents in *source*: one for each line if the first line is complete JSON, otherwise one in all.

    *source* is the bytes of a file, or its lines, of which no more are read than a document may have.

    Raises:
        ImportRefused: with the number of the first bad line.
    """
    found = list(each_document(source))
    for document in found:
        if document.fault is not None:
            raise document.fault
    return found


def each_document(source: bytes | Iterable[bytes]) -> Iterator[Document]:
    """Yield what `documents` returns, one after the other.

    Raises:
        ImportRefused: with the number of the first bad line.
    """
    lines = (line + b"\n" for line in source.split(b"\n")) if isinstance(source, bytes) else source
    numbered = enumerate(lines, start=1)
    number, first = next(((number, line) for number, line in numbered if line.strip()), (1, b""))
    first = first.removeprefix(BOM_UTF8)  # as editors on Windows write it
    if not first.strip():
        raise ImportRefused("empty_file", "the file is empty", line=1)
    if is_whole(first):
        yield _document(first, number)
        yield from (_document(line, at) for at, line in numbered if line.strip())
        return
    whole, second = bytearray(first), b""
    for _, line in numbered:
        second = second or line.strip()
        whole += line
        if len(whole) > TRANSCRIPT.size:
            break  # `parse` refuses it
    try:
        yield _document(bytes(whole), number)
    except ImportRefused:
        if _are_lines(first.strip(), second):
            _parse(first.strip(), number)
        raise


def is_whole(line: bytes) -> bool:
    """Tell whether *line* is complete JSON, also with huge numbers, halves of characters or other bytes."""
    try:
        msgspec.json.decode(line.decode(errors="replace"))
    except RecursionError:
        return False
    except msgspec.DecodeError as fault:
        if b"\\ud" not in line.lower() and "out of range" not in str(fault):
            return False
        try:
            json.loads(line, parse_int=str)  # of which `int` refuses the longest
        except (ValueError, RecursionError):
            return False
    return True


def _are_lines(first: bytes, second: bytes) -> bool:
    """Tell whether *first*, which is not complete JSON, was to be a line of its own, as *second* is."""
    begins_document = first.startswith(b"[") and first.endswith((b"[", b","))
    return first[:1] == second[:1] and first[:1] in {b"{", b"["} and not begins_document and is_whole(second)


def _document(data: bytes, line: int) -> Document:
    try:
        return Document(line, _parse(data, line))
    except ImportRefused as fault:
        if fault.code not in READABLE_LINE:
            raise
        try:
            return Document(line, readable(data), fault)
        except InvalidInput as other:
            raise ImportRefused(other.code, str(other), line=line) from None
        except (ValueError, RecursionError):
            raise fault from None


def _parse(data: bytes, line: int) -> Any:
    try:
        return parse(data, TRANSCRIPT)
    except InvalidInput as fault:
        message = _TOO_LARGE if fault.code == "too_large" else str(fault)
        raise ImportRefused(fault.code, message, line=line + _lines_before(data, fault)) from None


def _lines_before(data: bytes, fault: InvalidInput) -> int:
    """Return how many lines of *data* are before *fault*, as far as its cause says."""
    match fault.__cause__:
        case json.JSONDecodeError(lineno=number):
            return number - 1
        case UnicodeDecodeError(start=place):
            return data.count(b"\n", 0, place)
        case _:
            return 0
