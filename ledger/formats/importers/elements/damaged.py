"""Lines with text that no entry may have: shown with replacement characters, and stored as they were.

Programs write NUL, halves of characters, huge numbers, deep JSON and objects with a question or thousands of paths as
keys into their logs. A whole history is not refused for them: the line is read with ``␀``, ``�``, and numbers and
such objects as text, and its JSON is stored beside it, as ASCII text.
"""

import json
from collections.abc import Collection
from typing import Any, Final

from msgspec.structs import replace

from ledger.errors import InvalidInput
from ledger.events.strict_json import (
    INT_MAX,
    INT_MIN,
    NUMBER_CHARACTERS,
    TRANSCRIPT,
    JsonLimits,
    check_counts,
    is_plain_text,
    parse,
)

#: The faults that leave a value readable.
READABLE: Final = frozenset({"nul_not_allowed", "invalid_unicode", "number_out_of_range"})
#: The faults of JSON whose parts can be shown as text.
TOO_COMPLEX: Final = frozenset({"too_deep", "too_many_keys", "key_too_long"})
#: The faults that leave a line readable.
READABLE_LINE: Final = READABLE | TOO_COMPLEX
#: The field that has the JSON of the line.
ORIGINAL: Final = "json"


def readable(data: bytes) -> Any:
    """Return the JSON value in *data* without what made it unreadable; an object also has its text as ``json``.

    Raises:
        InvalidInput: it has too many values.
        ValueError, RecursionError: it is no JSON, or deeper than Python reads.
    """
    check_counts(data, _whatever_its_shape(TRANSCRIPT))
    text = data.decode().strip()
    return with_original(json.loads(text, parse_int=_integer), text)


def with_original(value: Any, original: str) -> Any:
    """Return what `within` does; an object with *original* as ``json``, and its fields that have room beside it.

    Fields with too long keys, and the last of too many, are in *original* alone.
    """
    if not isinstance(value, dict):
        return within(value, TRANSCRIPT)
    shown = {clean(key): within(item, TRANSCRIPT, 2) for key, item in value.items()}
    fitting = [key for key in shown if len(key.encode()) <= TRANSCRIPT.key_bytes and key != ORIGINAL]
    return {**{key: shown[key] for key in fitting[: TRANSCRIPT.keys - 1]}, ORIGINAL: original}


def parsed(data: bytes, limits: JsonLimits, faults: Collection[str] = READABLE) -> tuple[Any, bool]:
    """Return the JSON value in *data*, and whether it has *faults*, so that `clean` or `within` is needed.

    Raises:
        InvalidInput: it is no JSON, or over a limit.
    """
    try:
        return parse(data, limits), False
    except InvalidInput as fault:
        if fault.code not in faults:
            raise
        check_counts(data, _whatever_its_shape(limits))
        try:
            return json.loads(data, parse_int=_integer), True
        except (ValueError, RecursionError):
            raise fault from None


def clean(value: Any) -> Any:
    """Return *value* with replacement characters for what no entry may have, and such numbers as text."""
    if isinstance(value, str):
        if is_plain_text(value):
            return value
        return value.replace("\0", "␀").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [clean(item) for item in value]
    if isinstance(value, float) and not float("-inf") < value < float("inf"):
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool) and not INT_MIN <= value <= INT_MAX:
        return str(value)
    return value


def _whatever_its_shape(limits: JsonLimits) -> JsonLimits:
    """Return the limit of values alone."""
    return replace(limits, depth=limits.size, keys=limits.size)


def within(value: Any, limits: JsonLimits, depth: int = 1) -> Any:
    """Return what `clean` does, with JSON as text for what is too deep, and for objects with too many or long keys."""
    if not isinstance(value, dict | list):
        return clean(value)
    if depth > limits.depth:
        return json.dumps(value)
    if isinstance(value, list):
        return [within(item, limits, depth + 1) for item in value]
    if len(value) > limits.keys or any(len(clean(key).encode()) > limits.key_bytes for key in value):
        return json.dumps(value)
    return {clean(key): within(item, limits, depth + 1) for key, item in value.items()}


def _integer(digits: str) -> int | str:
    """Return an integer, or its text if it has more digits than Python may convert."""
    return int(digits) if len(digits) <= NUMBER_CHARACTERS else digits
