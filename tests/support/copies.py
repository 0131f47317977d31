"""Comparing a session's events in our own files with those of its copy. Source: trust E-12."""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ledger.events.codec import SALT_BYTES

#: The fields of an event that the store sets again in a copy, and those that depend on them.
RENEWED = {"event_id", "position", "recorded_us", "hash", "stream_id"}

Line = dict[str, Any]


def said(line: Line) -> tuple[bytes, Line]:
    """Return salt and JSON of an event without content of parts."""
    content = base64.b64decode(line.get("content", ""))
    return content[:SALT_BYTES], json.loads(base64.b64decode(line["structure"])) | json.loads(
        content[SALT_BYTES:] or "{}"
    )


def check_copy(original: Sequence[Line], copy: Sequence[Line], names: Mapping[str, str]) -> None:
    """Assert that *copy* is *original* with other *names*, byte for byte except for the fields above."""
    assert len(copy) == len(original)
    for first, other in zip(original, copy, strict=True):
        assert first.keys() == other.keys()
        same = first.keys() - RENEWED
        if first["type"] == "session.opened":
            same -= {"actor", "structure"}
            (salt, before), (copied_salt, after) = said(first), said(other)
            origin = after.pop("imported_from")
            assert origin != before.pop("imported_from", None)
            assert origin["format"] == "memory-ledger"
            assert (copied_salt, after) == (salt, {**before, **names})
        assert {name: first[name] for name in same} == {name: other[name] for name in same}
        assert all(first[name] != other[name] for name in ("event_id", "hash"))
