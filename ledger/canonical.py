"""Canonical JSON: equal values give equal bytes. Source: R-TOK-7."""

import msgspec

_encoder = msgspec.json.Encoder(order="sorted")


def canonical_json(value: object) -> bytes:
    """Return UTF-8 JSON with sorted keys, no insignificant spaces and non-ASCII kept.

    Raises:
        TypeError: *value* contains something that is not JSON.
    """
    return _encoder.encode(value)
