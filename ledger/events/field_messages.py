"""Messages about a field of JSON: pydantic describes faults in terms of Python, callers think in terms of JSON."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any, Final

_MESSAGES: Final[dict[str, str]] = {
    "missing": "is required",
    "extra_forbidden": "is not a field here",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "none_required": "must be null",
    "is_instance_of": "must be a number",  # `Decimal` is the only class that a model asks for
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must match the pattern {pattern}",
    "too_short": "must have at least {min_length} items",
    "too_long": "must have at most {max_length} items",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "finite_number": "must be a finite number",
    "decimal_max_places": "must have at most {decimal_places} decimal places",
}
#: By the beginning of pydantic's name, such as ``int_parsing``, ``int_from_float`` or ``model_attributes_type``.
_KINDS: Final = {
    "int": "must be an integer",
    "float": "must be a number",
    "decimal": "must be a number",
    "bool": "must be true or false",
    "string": "must be text",
    "tuple": "must be a list",
    "list": "must be a list",
    "set": "must be a list",
    "dict": "must be an object",
    "mapping": "must be an object",
    "model": "must be an object",
    "dataclass": "must be an object",
    "datetime": "must be a time in ISO 8601, such as 2026-01-31T09:30:00Z",
    "date": "must be a date in ISO 8601, such as 2026-01-31",
    "path": "must be a path",
    "uuid": "must be a UUID",
    "url": "must be a URL",
}


def refused_value(fault: Mapping[str, Any]) -> str:
    """Return what is wrong with a value, by an item of ``ValidationError.errors()``; it does not repeat the value."""
    kind = str(fault["type"])
    if kind in _MESSAGES:
        return _MESSAGES[kind].format(**fault.get("ctx", {}))
    return _KINDS.get(kind.partition("_")[0]) or str(fault["msg"])


def unknown_field(name: str, known: Collection[str], *, where: str = "here") -> str:
    """Return that there is no field *name*, with the known field that is spelled most like it, or else all."""
    nearest = get_close_matches(name, known, n=1, cutoff=0.7)
    if nearest:
        return f"is not a field {where}; did you mean `{nearest[0]}`?"
    return f"is not a field {where}; its fields are: {', '.join(sorted(known))}" if known else f"is not a field {where}"
