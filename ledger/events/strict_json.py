"""The strict JSON parser for all input: bytes in, plain values out, or an `InvalidInput`.

The order matters: size, encoding, then a scan of depth and counts before any object exists, then the parse, which
checks duplicate keys, constants and number ranges, then the strings. `check_value` applies the same limits to
values that a Python caller built.

Source: trust N-2, N-7, N-11, I-1 … I-17.
"""

import json
import math
import re
from functools import cache
from typing import Any, Final, NoReturn

import msgspec

from ledger.errors import InvalidInput

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
NUMBER_CHARACTERS: Final = 64
_INT64: Final = "must fit into 64 bits"

#: Everything up to the next bracket or comma outside a string, or up to the end. It matches at any place and never
#: backtracks, so that the time of a scan is linear.
_STEP = re.compile(rb'(?:[^"\[\]{},]++|"(?:[^"\\]++|\\.)*+(?:"|\\?\Z))*+([\[\]{},]|\Z)', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_NONZERO_DIGIT = re.compile(r"[1-9]")


class JsonLimits(msgspec.Struct, frozen=True):
    """Bounds of one document (trust N-1, N-2)."""

    size: int = 8 * 1024 * 1024
    depth: int = 32
    keys: int = 1_000
    values: int = 100_000
    key_bytes: int = 256


BODY: Final = JsonLimits()
#: A transcript is one large document of small objects, or a message with images; its bytes are bounded by trust N-8.
TRANSCRIPT: Final = JsonLimits(size=64 * 1024 * 1024, values=2_000_000)


def parse(data: bytes, limits: JsonLimits = BODY) -> Any:
    """Return the JSON value in *data*.

    Raises:
        InvalidInput: with the code of trust §9, e.g. ``too_deep`` or ``duplicate_key``.
    """
    if len(data) > limits.size:
        raise InvalidInput("too_large", f"JSON must have at most {limits.size} bytes", limit=limits.size)
    if data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        raise InvalidInput("invalid_encoding", "must be UTF-8 without a byte order mark")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise InvalidInput("invalid_encoding", f"byte {fault.start} is not UTF-8; send UTF-8") from fault
    check_counts(data, limits)
    try:
        value = _decoder(limits).decode(text)
    except json.JSONDecodeError as fault:
        raise InvalidInput("invalid_json", f"is not valid JSON at character {fault.pos}") from fault
    _check_strings(value)
    return value


def check_value(value: Any, *, field: str, limits: JsonLimits = BODY) -> None:
    """Refuse a Python *value* that `parse` could not have returned; without recursion.

    Raises:
        InvalidInput: it is not JSON, or over a limit; *field* names the argument.
    """
    if _is_plain(value, limits):
        return
    stack: list[tuple[Any, int]] = [(value, 1)]
    count = 0
    while stack:
        item, depth = stack.pop()
        count += 1
        if count > limits.values:
            raise _too_many_values(limits, field)
        if isinstance(item, dict | list | tuple):
            if depth > limits.depth:
                raise _too_deep(limits, field)
            if isinstance(item, dict):
                _check_keys(item, field=field, limits=limits)
            children = item.values() if isinstance(item, dict) else item
            stack.extend((child, depth + 1) for child in children)
        else:
            _check_scalar(item, field)


def _is_plain(value: Any, limits: JsonLimits) -> bool:
    """Tell whether *value* is surely within *limits*, in a fraction of the time that the search for a fault takes."""
    level: list[Any] = [[value]]
    count = 0
    for _ in range(limits.depth + 1):
        following: list[Any] = []
        for container in level:
            count += len(container)
            if count > limits.values:
                return False
            is_object = type(container) is dict
            if is_object and not _has_plain_keys(container, limits):
                return False
            for item in container.values() if is_object else container:
                kind = type(item)
                if kind is dict or kind is list:
                    following.append(item)
                elif not (is_plain_text(item) if kind is str else _is_plain_scalar(item, kind)):
                    return False
        if not following:
            return True
        level = following
    return False


def _has_plain_keys(container: dict[Any, Any], limits: JsonLimits) -> bool:
    if len(container) > limits.keys:
        return False
    for key in container:
        if type(key) is not str or not key.isascii() or "\x00" in key or len(key) > limits.key_bytes:
            return False
    return True


def is_plain_text(text: str) -> bool:
    """Tell whether *text* has neither NUL nor lone surrogates."""
    return "\x00" not in text and (text.isascii() or _SURROGATE.search(text) is None)


def _is_plain_scalar(item: Any, kind: type) -> bool:
    if kind is int:
        return bool(INT_MIN <= item <= INT_MAX)
    return item is None or kind is bool or (kind is float and math.isfinite(item))


def _check_scalar(item: Any, field: str) -> None:
    match item:
        case None | bool():
            pass
        case str():
            check_text(item, field=field)
        case int():
            if not INT_MIN <= item <= INT_MAX:
                raise InvalidInput("number_out_of_range", _INT64, field=field)
        case float():
            if not math.isfinite(item):
                raise InvalidInput("invalid_json", "must not contain NaN or Infinity, which are not JSON", field=field)
        case _:
            raise InvalidInput("wrong_type", f"must be JSON, not {type(item).__name__}", field=field)


def check_integer(
    value: Any, *, field: str, code: str = "number_out_of_range", least: int = INT_MIN, most: int = INT_MAX
) -> int:
    """Return *value* if it is an integer within its bounds; True and 1.0 are not (trust I-29).

    Raises:
        InvalidInput: ``wrong_type``, or *code* if it is out of bounds.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput("wrong_type", "must be an integer", field=field)
    if not least <= value <= most:
        if most != INT_MAX:
            bounds = f"must be between {least:,} and {most:,}"
        else:
            bounds = f"must be at least {least:,}" if value < least else _INT64
        raise InvalidInput(code, bounds, field=field, limit=most)
    return value


def check_flag(value: Any, *, field: str) -> bool:
    """Return *value* if it is true or false; nothing else is converted.

    Raises:
        InvalidInput: ``wrong_type``.
    """
    if not isinstance(value, bool):
        raise InvalidInput("wrong_type", "must be true or false", field=field)
    return value


def check_text(text: str, *, field: str) -> None:
    """Refuse NUL and lone surrogates, which Postgres and UTF-8 cannot hold (trust I-1 … I-4)."""
    if "\x00" in text:
        raise InvalidInput("nul_not_allowed", "must not contain NUL characters; remove them", field=field)
    if not text.isascii() and _SURROGATE.search(text):
        raise InvalidInput("invalid_unicode", "must not contain lone surrogates; send valid Unicode", field=field)


def _check_keys(item: dict[Any, Any], *, field: str, limits: JsonLimits) -> None:
    if len(item) > limits.keys:
        raise _too_many_keys(limits, field)
    for key in item:
        if not isinstance(key, str):
            raise InvalidInput("wrong_type", "the keys of an object must be text", field=field)
        check_text(key, field=field)
        if len(key.encode()) > limits.key_bytes:
            raise InvalidInput("key_too_long", f"a key must have at most {limits.key_bytes} bytes", field=field)


def _too_deep(limits: JsonLimits, field: str = "") -> InvalidInput:
    message = f"JSON must not be nested deeper than {limits.depth} levels"
    return InvalidInput("too_deep", message, field=field, limit=limits.depth)


def _too_many_keys(limits: JsonLimits, field: str = "") -> InvalidInput:
    message = f"an object must have at most {limits.keys} keys"
    return InvalidInput("too_many_keys", message, field=field, limit=limits.keys)


def _too_many_values(limits: JsonLimits, field: str = "") -> InvalidInput:
    message = f"JSON must have at most {limits.values} values"
    return InvalidInput("too_many_values", message, field=field, limit=limits.values)


def check_counts(data: bytes, limits: JsonLimits) -> None:
    """Refuse JSON in *data* by its depth, keys and values: brackets and commas are counted before any object exists."""
    commas: list[int] = []  # of each open bracket; an array's count as negative
    values = 1
    for match in _STEP.finditer(data):
        match match[1]:
            case b"{" | b"[" as bracket:
                commas.append(0 if bracket == b"{" else -limits.values)
                values += 1
                if len(commas) > limits.depth:
                    raise _too_deep(limits)
            case b"":
                return
            case _ if not commas:
                raise InvalidInput("invalid_json", f"is not valid JSON: no bracket is open at byte {match.start(1)}")
            case b"}" | b"]":
                commas.pop()
            case _:
                values += 1
                commas[-1] += 1
                if commas[-1] >= limits.keys:
                    raise _too_many_keys(limits)
        if values > limits.values:
            raise _too_many_values(limits)


class _Object:
    """Builds a dict from its pairs; refuses repeated keys, long keys and too many keys."""

    def __init__(self, limits: JsonLimits) -> None:
        self.limits = limits

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        item = dict(pairs)
        if len(item) != len(pairs):
            raise InvalidInput("duplicate_key", "an object must not repeat a key")
        _check_keys(item, field="", limits=self.limits)
        return item


@cache
def _decoder(limits: JsonLimits) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=_Object(limits),
        parse_constant=_refuse_constant,
        parse_int=_integer,
        parse_float=_double,
    )


def _check_strings(value: Any) -> None:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            check_text(item, field="")
        elif isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidInput("invalid_json", f"{name} is not valid JSON")


def _integer(literal: str) -> int:
    if len(literal) <= NUMBER_CHARACTERS:
        value = int(literal)
        if INT_MIN <= value <= INT_MAX:
            return value
    raise InvalidInput("number_out_of_range", f"an integer {_INT64}; send larger numbers as text")


def _double(literal: str) -> float:
    value = float(literal) if len(literal) <= NUMBER_CHARACTERS else math.inf
    underflow = value == 0.0 and _NONZERO_DIGIT.search(literal.lower().partition("e")[0]) is not None
    if math.isinf(value) or underflow:
        raise InvalidInput("number_out_of_range", "the number does not fit a double; send it as text")
    return value
