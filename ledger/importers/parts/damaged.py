"""Lines with text that no entry may have: shown with replacement characters, and stored as they were.

Programs write NUL, halves of characters and huge numbers into their logs. A whole history is not refused for them:
the line is read with ``␀``, ``�`` and numbers as text, and its JSON is stored beside it, as ASCII text.
"""

import json
from typing import Any, Final

from ledger.errors import InvalidInput
from ledger.strict_json import INT_MAX, INT_MIN, JsonLimits, is_plain_text, parse

#: The faults that leave a line readable.
READABLE: Final = frozenset({"nul_not_allowed", "invalid_unicode", "number_out_of_range"})
#: The field that has the JSON of the line.
ORIGINAL: Final = "json"


def readable(data: bytes) -> Any:
    """Return the JSON value in *data* without what made it unreadable; an object also has its text as ``json``."""
    text = data.decode().strip()
    value = clean(json.loads(text))
    return {**value, ORIGINAL: text} if isinstance(value, dict) else value


def parsed(data: bytes, limits: JsonLimits) -> tuple[Any, bool]:
    """Return the JSON value in *data*, and whether it has what no entry may have, so that `clean` is needed.

    Raises:
        InvalidInput: it is no JSON, or over a limit.
    """
    try:
        return parse(data, limits), False
    except InvalidInput as fault:
        if fault.code not in READABLE:
            raise
        try:
            return json.loads(data), True
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
