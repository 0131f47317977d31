"""Canonical JSON: equal values give equal bytes. Source: R-TOK-7."""

from typing import Any

import msgspec


def _plain(value: object) -> str:
    if isinstance(value, str):  # of a class of its own, as LangChain's `message.text` is
        return str.__str__(value)
    raise TypeError(f"objects of type {type(value).__name__} are no JSON")


_encoder = msgspec.json.Encoder(order="sorted", enc_hook=_plain)


def canonical_json(value: object) -> bytes:
    """Return UTF-8 JSON with sorted keys, no insignificant spaces and non-ASCII kept.

    Raises:
        TypeError: *value* contains something that is not JSON.
    """
    return _encoder.encode(value)


def to_json_object(value: msgspec.Struct) -> dict[str, Any]:
    """Return *value* as the objects, lists, texts and numbers of its JSON.

    Raises:
        TypeError: *value* contains something that is not JSON.
    """
    found: dict[str, Any] = msgspec.to_builtins(value, enc_hook=_plain, str_keys=True)
    return found
