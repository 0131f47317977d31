"""An event in two parts: structure, which folds and proofs need and which stays, and content, which can be erased.

    {"content":"Hi","entry_id":"e","outputs":[{"request_hash":"h","text":"So."}]}
    structure  {"entry_id":"e","outputs":[{"request_hash":"h"}]}
    content    {"content":"Hi","outputs":[{"text":"So."}]}

Content of parts inside an event lies in the same places, an empty object where a part has none. Source: trust D-3.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
import msgspec.inspect

from ledger.events.canonical import canonical_json, to_json_object
from ledger.events.content import is_content
from ledger.events.payload_types import JsonObject, Payload
from ledger.events.payloads import EVENT_TYPES

#: By field, what of a class is content: all of it, or parts of what it holds.
_Plan = Mapping[str, "_Plan | None"]


def split(event: Payload) -> tuple[bytes, bytes | None]:
    """Return structure and content of *event* as canonical JSON; None if it has no content.

    Raises:
        TypeError, ValueError, OverflowError, RecursionError: *event* contains something that is not JSON.
    """
    return divided(event.type, to_json_object(event))


def divided(type_: str, payload: JsonObject) -> tuple[bytes, bytes | None]:
    """Return structure and content of the JSON of an event of *type_*, as `split` does; *payload* loses its content."""
    content = _taken(payload, _PLANS.get(type_, {}))
    return canonical_json(payload), canonical_json(content) if content else None


def joined(type_: str, schema_version: int, structure: bytes, content: bytes) -> bytes:
    """Return the JSON of an event that was split.

    Raises:
        ValueError: the two do not fit together.
    """
    if structure[-1:] != b"}" or content[:1] != b"{" or len(content) < _SHORTEST:
        raise ValueError("they are no JSON objects as they are written")
    if schema_version <= _FLAT.get(type_, 0):
        return b"".join((structure[:-1], b",", content[1:]))
    return canonical_json(_merged(_DECODER.decode(structure), _DECODER.decode(content)))


def fits(type_: str, schema_version: int, structure: bytes, content: bytes | None) -> bool:
    """Tell whether what must be erasable is in *content*, and nothing else; of a newer release, that both fit.

    Raises:
        msgspec.MsgspecError: one of them is not a JSON object.
    """
    if structure[-1:] != b"}" or (content is not None and (content[:1] != b"{" or len(content) < _SHORTEST)):
        return False
    left, right = _OBJECT.decode(structure), {} if content is None else _OBJECT.decode(content)
    if _repeats_a_key(structure, left) or (content is not None and _repeats_a_key(content, right)):
        return False  # what is read is the last one; the others would hide what must be erasable
    known = EVENT_TYPES.get(type_)
    plan = None if known is None or schema_version > known.schema_version else _PLANS[type_]
    try:
        whole = _merged(left, right)
        return plan is None or (_taken(whole, plan), whole) == (right, left)
    except ValueError:
        return False


#: The length of the shortest JSON object with a field.
_SHORTEST: Final = len(b'{"":0}')


def _repeats_a_key(part: bytes, read: JsonObject) -> bool:
    if canonical_json(read) == part:
        return False
    found = json.loads(part, object_pairs_hook=_Pairs)
    return any(len(dict(pairs)) != len(pairs) for pairs in _pairs_in(found))


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of a JSON object as they are written."""


def _pairs_in(value: Any) -> Iterator["_Pairs"]:
    if isinstance(value, _Pairs):
        yield value
        value = [held for _, held in value]
    if isinstance(value, list):
        for held in value:
            yield from _pairs_in(held)


_DECODER: Final = msgspec.json.Decoder()
_OBJECT: Final = msgspec.json.Decoder(JsonObject)


def _plan_of(cls: Any) -> _Plan:
    plan: dict[str, _Plan | None] = {}
    for field in msgspec.inspect.type_info(cls).fields:  # type: ignore[attr-defined]  # of a struct
        if is_content(field.type):
            plan[field.encode_name] = None
        elif inner := next((below for part in _structs_in(field.type) if (below := _plan_of(part))), None):
            plan[field.encode_name] = inner
    return plan


def _structs_in(type_: msgspec.inspect.Type) -> list[Any]:
    match type_:
        case msgspec.inspect.StructType(cls=cls):
            return [cls]
        case msgspec.inspect.UnionType(types=types):
            return [found for each in types for found in _structs_in(each)]
        case msgspec.inspect.VarTupleType(item_type=item) | msgspec.inspect.ListType(item_type=item):
            return _structs_in(item)
        case _:
            return []


_PLANS: Final[Mapping[str, _Plan]] = {name: _plan_of(cls) for name, cls in EVENT_TYPES.items()}
#: Types of events whose content lies in their own fields alone, as far as this release knows them.
_FLAT: Final = {name: EVENT_TYPES[name].schema_version for name, plan in _PLANS.items() if not any(plan.values())}


def _taken(value: JsonObject, plan: _Plan) -> JsonObject:
    """Return the content in *value*, without which it is left."""
    found = {}
    for name, below in plan.items():
        if name not in value:
            continue
        if below is None:
            found[name] = value.pop(name)
            continue
        held = value[name]
        if isinstance(held, dict):
            if inside := _taken(held, below):
                found[name] = inside
        elif isinstance(held, list | tuple):  # a tuple in what msgspec makes of an event
            each = [_taken(part, below) for part in held]
            if any(each):
                found[name] = each
    return found


def _merged(structure: Any, content: Any) -> Any:
    match structure, content:
        case dict(), dict():
            here = {name: _merged(structure[name], content[name]) for name in structure.keys() & content.keys()}
            return {**structure, **content, **here}
        case list(), list() if len(structure) == len(content):
            return [_merged(left, right) for left, right in zip(structure, content, strict=True)]
        case _:
            raise ValueError("structure and content do not fit together")
