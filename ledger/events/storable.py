"""Why an event cannot be stored: nobody could read it again. Source: trust N-14.

No class checks the types of its fields when an event is made; only reading does, when it is too late.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from ledger.errors import InvalidInput
from ledger.events.canonical import canonical_json
from ledger.events.compaction_events import ModelOutput
from ledger.events.limits import CONTENT_BYTES
from ledger.events.payload_types import Payload
from ledger.events.strict_json import check_text

#: What is raised while an event is made JSON, or while that is read again.
FAULTS: Final = (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError)
#: Where a message of msgspec says the value, and the place.
_ENDING: Final = re.compile(r"(?: '.*')?(?: - at `\$\.?(?P<field>.*)`)?\Z", re.DOTALL)


def refusal(event: Payload, fault: Exception) -> InvalidInput:
    """Return the error for an *event* that cannot be made JSON or read again because of *fault*, one of `FAULTS`."""
    if isinstance(fault, msgspec.ValidationError):
        ending = _ENDING.search(str(fault))
        assert ending is not None
        return _wrong_type(event, str(fault)[: ending.start()], ending["field"] or "")
    field = next((name for name in event.__struct_fields__ if not _is_json(getattr(event, name))), "")
    match fault:
        case UnicodeEncodeError():
            try:
                check_texts(event)
            except InvalidInput as refused:
                return refused
        case OverflowError():
            return InvalidInput("number_out_of_range", "must fit into 64 bits", field=field)
        case RecursionError():
            return InvalidInput("too_deep", "JSON must not be nested so deeply", field=field)
    return _wrong_type(event, str(fault), field)


def other_value(event: Payload, read: Payload) -> InvalidInput:
    """Return the error for an *event* whose bytes are *read* as another, such as NaN as null."""
    field = next(name for name in event.__struct_fields__ if getattr(read, name) != getattr(event, name))
    return _wrong_type(event, "it would be read as another value", field)


def check_texts(event: Payload) -> None:
    """Refuse an *event* with a text that PostgreSQL or UTF-8 cannot hold, or a text field of over 1 MiB.

    Raises:
        InvalidInput: ``nul_not_allowed``, ``invalid_unicode`` or ``content_too_large``, with the field.
    """
    for text, field, most in _texts(event):
        check_text(text, field=field)
        if most is not None and len(text) * 4 > most and len(text.encode()) > most:
            raise InvalidInput("content_too_large", f"must have at most {most} bytes", field=field, limit=most)


def _wrong_type(event: Payload, problem: str, field: str) -> InvalidInput:
    return InvalidInput("wrong_type", f"{event.type} cannot be stored: {problem}", field=field)


def _is_json(value: object) -> bool:
    try:
        canonical_json(value)
    except FAULTS:
        return False
    return True


def _texts(event: Payload) -> Iterator[tuple[str, str, int | None]]:
    """Yield each text in *event* with its field and its limit, which those of JSON and of a model's answer lack."""
    stack: list[tuple[Any, str, int | None]] = [(event, "", CONTENT_BYTES)]
    while stack:
        part, place, most = stack.pop()
        match part:
            case str():
                yield part, place, most
            case msgspec.Struct():
                own = None if isinstance(part, ModelOutput) else most
                dot = f"{place}." if place else ""
                stack += [(getattr(part, name), f"{dot}{name}", own) for name in part.__struct_fields__]
            case dict():
                stack += [(each, place, None) for pair in part.items() for each in pair]
            case list() | tuple():
                stack += [(each, place if most is None else f"{place}[{at}]", most) for at, each in enumerate(part)]
            case _:
                pass
