"""How entries left the window and summaries ended, read from the log no further than needed."""

from bisect import bisect_right
from collections.abc import Collection, Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from ledger.errors import NotFound
from ledger.events import (
    CompactionCompleted,
    CompactionRequested,
    ContextSet,
    RebuildCompleted,
    RecordedEvent,
    SessionCleared,
)
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.ports import Store
from projections.summaries import Summary, summary_context, summary_of
from projections.values import ranges

SummaryStatus: TypeAlias = Literal["live", "folded", "withdrawn", "retired", "cleared", "evicted"]

_CHUNK: Final = 50  # events read at once
_REQUESTS: Final = 20  # requests that are looked at for that of a compaction


class SummaryEnd(msgspec.Struct, frozen=True):
    """The event after which a summary was no longer live, and the summary that folds it, if one does."""

    version: int
    status: SummaryStatus
    into: str | None = None


async def read_coverings(
    store: Store, stream: Stream, wanted: Collection[int], *, until: int
) -> dict[int, list[RecordedEvent]]:
    """Return the compactions that cover each entry of *wanted*, oldest first, up to the one by which it left.

    A rebuild sets aside those before it.
    """
    coverings: dict[int, list[RecordedEvent]] = {version: [] for version in wanted}
    waiting = set(wanted)
    events, after = store.events, min(wanted, default=0)
    found = await events.find_types(stream, [CompactionCompleted.type], after=after, until=until) if wanted else []
    if found:  # else no rebuild sets anything aside
        rebuilt = await events.find_newest(stream, RebuildCompleted.type, until=until)
        found = [version for version in found if version > rebuilt]
    for at in range(0, len(found), _CHUNK):
        if not waiting:
            break
        stored = await store.events.read_versions(stream, ranges.ranges_of(found[at : at + _CHUNK]))
        for event in map(decode, stored):
            if not isinstance(payload := event.payload, CompactionCompleted):
                continue
            for version in [version for version in waiting if ranges.contains(payload.covered, version)]:
                coverings[version].append(event)
                if payload.effect != "overlay":
                    waiting.discard(version)
    return coverings


async def read_clears(store: Store, stream: Stream, *, after: int, until: int) -> list[int]:
    """Return the versions of the clears, ascending."""
    return await store.events.find_types(stream, [SessionCleared.type], after=after, until=until)


async def read_request(store: Store, stream: Stream, completed: RecordedEvent) -> RecordedEvent | None:
    """Return the request of a *completed* compaction; None if it has none, as an imported one."""
    payload, until = completed.payload, completed.version
    for _ in range(_REQUESTS):
        until = await store.events.find_newest(stream, CompactionRequested.type, until=until - 1) if until > 1 else 0
        if not until or not isinstance(payload, CompactionCompleted):
            return None
        for event in map(decode, await store.events.read_versions(stream, ((until, until),))):
            asked = event.payload
            if isinstance(asked, CompactionRequested) and asked.compaction_id == payload.compaction_id:
                return event
    return None


async def read_ends(store: Store, stream: Stream, summaries: Mapping[str, int], *, until: int) -> dict[str, SummaryEnd]:
    """Return how each of *summaries*, versions by id, ended; one that only its strategy dropped is left out."""
    if not summaries:
        return {}
    first, waiting = min(summaries.values()), dict(summaries)
    clears = await read_clears(store, stream, after=first, until=until)
    ends: dict[str, SummaryEnd] = {}
    for name, version in summaries.items():
        at = bisect_right(clears, version)
        if at < len(clears):
            ends[name] = SummaryEnd(clears[at], "cleared")
    types = [CompactionCompleted.type, ContextSet.type, RebuildCompleted.type]
    found = await store.events.find_types(stream, types, after=first, until=until)
    for at in range(0, len(found), _CHUNK):
        if all(name in ends and ends[name].version < found[at] for name in waiting):
            break
        for event in map(decode, await store.events.read_versions(stream, ranges.ranges_of(found[at : at + _CHUNK]))):
            ended, into = _ended_by(event)
            for name in ended.intersection(waiting):
                is_first = name not in ends or event.version < ends[name].version
                if waiting[name] < event.version and is_first:
                    ends[name] = SummaryEnd(event.version, *into)
                    del waiting[name]
        if not waiting:
            break
    return ends


def _ended_by(event: RecordedEvent) -> tuple[set[str], tuple[SummaryStatus, str | None]]:
    """Return the ids of the summaries that *event* ended, how, and the one that folds them."""
    match event.payload:
        case RebuildCompleted(retired=retired):
            return set(retired), ("retired", None)
        case CompactionCompleted(folds=folds, summary_id=name) | ContextSet(folds=folds, summary_id=name):
            return set(folds), ("folded" if name else "withdrawn", name)
        case _:
            return set(), ("folded", None)


def summary_in(event: RecordedEvent) -> Summary | None:
    """Return the summary that *event* created."""
    match event.payload:
        case CompactionCompleted(summary_id=str(name)) as payload:
            return summary_of(event, payload, name)
        case ContextSet() as payload:
            return summary_context(event, payload)
        case _:
            return None


async def find_summary(store: Store, stream: Stream, summary_id: str, *, until: int) -> tuple[Summary, RecordedEvent]:
    """Return the newest summary with *summary_id* and its event.

    Raises:
        NotFound: there was none up to version *until*.
    """
    found = await store.events.find_types(stream, [CompactionCompleted.type, ContextSet.type], until=until)
    while found:
        found, chunk = found[:-_CHUNK], found[-_CHUNK:]
        for event in map(decode, reversed(await store.events.read_versions(stream, ranges.ranges_of(chunk)))):
            summary = summary_in(event)
            if summary is not None and summary.summary_id == summary_id:
                return summary, event
    raise NotFound(f"summary {summary_id[:100]!r} was not in this session by version {until}")
