"""Which stream has the events of a fork: up to a fork point, they are the parent's. Pure."""

import sys
from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from ledger.events import Ranges
from ledger.ports import StreamHead


class StreamRange(msgspec.Struct, frozen=True):
    """The part of a history that is in one stream: after one version, up to another."""

    stream_id: UUID
    after: int
    until: int = sys.maxsize


def parts_of(lineage: Sequence[StreamHead]) -> tuple[StreamRange, ...]:
    """Return the parts of the first of *lineage*, oldest first; the parents follow it there, nearest first."""
    parts: list[StreamRange] = []
    until = sys.maxsize
    for head in lineage:
        after = head.parent_version or 0
        if after < until:  # otherwise it was forked at a version of a stream further up
            parts.append(StreamRange(head.stream_id, after, until))
            until = after
    return tuple(reversed(parts))


def placed(parts: Sequence[StreamRange], wanted: Ranges) -> list[tuple[UUID, int, int]]:
    """Return where the versions in *wanted* are, in that order: stream, first and last version."""
    return [
        (part.stream_id, max(first, part.after + 1), min(last, part.until))
        for first, last in wanted
        for part in parts
        if first <= part.until and part.after < last
    ]


def lineage_of(stream_id: UUID, heads: Mapping[UUID, StreamHead]) -> list[StreamHead]:
    """Return the head of a stream and, of a fork, those of its parents, nearest first, as far as *heads* has them."""
    lineage: dict[UUID, StreamHead] = {}
    found = heads.get(stream_id)
    while found is not None and found.stream_id not in lineage:  # only tampering makes a cycle
        lineage[found.stream_id] = found
        found = heads.get(found.parent_id) if found.parent_id else None
    return list(lineage.values())


def owner_of(stream_id: UUID, version: int, parents: Mapping[UUID, tuple[UUID, int]]) -> UUID:
    """Return the stream that has the event at *version* of a stream, given where each stream was forked."""
    seen: set[UUID] = set()
    while stream_id in parents and stream_id not in seen and version <= parents[stream_id][1]:
        seen.add(stream_id)
        stream_id = parents[stream_id][0]
    return stream_id
