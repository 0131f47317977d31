"""Canonical JSON: equal values give equal bytes. Source: R-TOK-7."""

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
