"""Read entries from the log by version, with the text they have now, and the interactions around them."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, TypeAlias

from ledger.events import CompactionCompleted, Event, Ranges, RecordedEvent
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.history.item_history import read_items
from ledger.ports import Store
from projections.entries import Entry
from projections.strategies.base import Recalled
from projections.summaries import Summary, summary_of
from projections.tool_pairs import group_interactions, group_units, orphans
from projections.values import ranges

#: Returns which of some versions of a session are entries that may be shown.
TextSource: TypeAlias = Callable[[Stream, Sequence[int]], Awaitable[set[int]]]

_REACH: Final = 12  # versions before and after a hit that are read at first


async def read_types(
    store: Store, stream: Stream, *types: type[Event], after: int = 0, until: int | None = None
) -> list[RecordedEvent]:
    """Return the events of these *types*, oldest first."""
    found = await store.events.find_types(stream, [each.type for each in types], after=after, until=until)
    return list(map(decode, await store.events.read_versions(stream, ranges.ranges_of(found)))) if found else []


async def read_entries(store: Store, stream: Stream, wanted: Ranges, *, until: int | None = None) -> dict[int, Entry]:
    """Return the entries added at the versions in *wanted*, by version, with their edits up to version *until*."""
    found = await read_items(store, stream, wanted, until=until)
    return {at: version.item for at, version in found.items() if isinstance(version.item, Entry)}


async def read_summaries(store: Store, stream: Stream, versions: Iterable[int]) -> dict[int, Summary]:
    """Return the summaries completed at *versions*."""
    found = {}
    for stored in await store.events.read_versions(stream, ranges.ranges_of(sorted(versions))):
        event = decode(stored)
        if isinstance(event.payload, CompactionCompleted) and event.payload.summary_id is not None:
            found[event.version] = summary_of(event, event.payload, event.payload.summary_id)
    return found


async def read_recalled(
    store: Store,
    stream: Stream,
    hits: Sequence[tuple[int, float]],
    findable: TextSource,
    *,
    after: int,
    until: int,
) -> tuple[Recalled, ...]:
    """Return *hits* (version, score), in their order, each with its interaction. Source: R-REC-1.

    Only versions above *after*, the last clear, up to *until* are read. What is read around a hit grows until its
    interaction is whole: a user starts it, the next one ends it, and each call has its result.
    """
    homes: dict[int, tuple[Entry, ...]] = {}
    reach, left = _REACH, {version for version, _ in hits}
    while left:
        wanted = _around(left, reach, after, until)
        entries = await read_entries(store, stream, wanted)
        shown = await findable(stream, sorted(entries))
        for first, last in wanted:
            here = [entries[version] for version in range(first, last + 1) if version in entries and version in shown]
            for version in [version for version in left if first <= version <= last]:
                home = _interaction(here, version, begins=first == after + 1, ends=last == until)
                if home is not None:
                    homes[version] = home
                    left.discard(version)
        reach *= 4
    return tuple(Recalled(version, score, homes[version]) for version, score in hits if homes[version])


def _around(versions: Iterable[int], reach: int, after: int, until: int) -> Ranges:
    merged: list[tuple[int, int]] = []
    for version in sorted(versions):
        first, last = max(after + 1, version - reach), min(until, version + reach)
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return tuple(merged)


def _interaction(here: Sequence[Entry], version: int, *, begins: bool, ends: bool) -> tuple[Entry, ...] | None:
    """Return the interaction of the entry at *version*: empty if it has none, None if it is not all *here*."""
    alone = set() if begins else orphans((), here)
    if version in alone:
        return None  # a result whose call came earlier
    found = group_interactions(entry for entry in here if entry.version not in alone)
    for index, interaction in enumerate(found):
        if all(entry.version != version for entry in interaction.entries):
            continue
        is_begun = begins or interaction.entries[0].starts_interaction
        waits = any(
            {"tool_call"} == {entry.kind for entry in unit.entries} & {"tool_call", "tool_result"}
            for unit in group_units(interaction.entries)
        )
        whole = ends or (index < len(found) - 1 and not waits)
        return interaction.entries if is_begun and whole else None
    return ()
