"""Read entries from the log by version, with the text they have now, and the interactions around them."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from ledger.codec import decode
from ledger.events import (
    CompactionCompleted,
    EntryAdded,
    EntryEdited,
    EntryRemoved,
    Event,
    MemoryAdded,
    Ranges,
    RecordedEvent,
    StoredEvent,
)
from ledger.ids import Stream
from ledger.ports import Store
from projections import ranges
from projections.entries import Entry, added, edited
from projections.strategies.base import Recalled
from projections.summaries import Summary, summary_of
from projections.tool_pairs import group_interactions, group_units, orphans

#: Returns which of some versions of a session are entries that may be shown.
TextSource: TypeAlias = Callable[[Stream, Sequence[int]], Awaitable[set[int]]]

_REACH: Final = 12  # versions before and after a hit that are read at first


class EntryVersion(NamedTuple):
    """An entry after an event about it, and the event that added it; *removed* if it has been removed."""

    event: RecordedEvent
    entry: Entry
    added: StoredEvent
    removed: bool


async def read_entry_versions(
    store: Store, stream: Stream, ids: Sequence[str], *, after: int = 0
) -> dict[str, list[EntryVersion]]:
    """Return by id what the entries with *ids* were after each event about them, oldest first.

    Unknown ids and events up to version *after* are left out. Entries that share an id have one history.
    """
    found = await store.events.find_items(stream, ids)
    wanted = ranges.ranges_of(sorted(each for versions in found.values() for each in versions if each > after))
    histories: dict[str, list[EntryVersion]] = {}
    for stored in await store.events.read_versions(stream, wanted) if wanted else ():
        event = decode(stored)
        match event.payload:
            case EntryAdded() as payload:
                change = EntryVersion(event, added(event, payload), stored, removed=False)
            case EntryEdited() as payload if payload.entry_id in histories:
                before = histories[payload.entry_id][-1]
                change = before._replace(event=event, entry=edited(before.entry, event, payload))
            case EntryRemoved() as payload if payload.entry_id in histories:
                change = histories[payload.entry_id][-1]._replace(event=event, removed=True)
            case _:
                continue
        histories.setdefault(change.entry.entry_id, []).append(change)
    return histories


async def read_types(
    store: Store, stream: Stream, *types: type[Event], after: int = 0, until: int | None = None
) -> list[RecordedEvent]:
    """Return the events of these *types*, oldest first."""
    found = await store.events.find_types(stream, [each.type for each in types], after=after, until=until)
    return list(map(decode, await store.events.read_versions(stream, ranges.ranges_of(found)))) if found else []


async def read_items(
    store: Store,
    stream: Stream,
    wanted: Ranges,
    kind: type[EntryAdded | MemoryAdded],
    *,
    until: int | None = None,
) -> list[RecordedEvent]:
    """Return the events at the versions *wanted*, then those up to *until* about the items of a *kind* they added."""
    events = [decode(stored) for stored in await store.events.read_versions(stream, wanted)]
    ids = {payload.item_id for event in events if isinstance(payload := event.payload, kind)}
    about = await store.events.find_items(stream, sorted(ids)) if ids else {}
    others = {each for versions in about.values() for each in versions if until is None or each <= until}
    others -= {event.version for event in events}
    return (
        [*events, *map(decode, await store.events.read_versions(stream, ranges.ranges_of(sorted(others))))]
        if others
        else events
    )


async def read_entries(store: Store, stream: Stream, wanted: Ranges, *, until: int | None = None) -> dict[int, Entry]:
    """Return the entries added at the versions in *wanted*, by version, with their edits up to version *until*."""
    entries: dict[int, Entry] = {}
    for event in await read_items(store, stream, wanted, EntryAdded, until=until):
        match event.payload:
            case EntryAdded() as payload if ranges.contains(wanted, event.version):
                entries[event.version] = added(event, payload)
            case EntryEdited() as payload if payload.entry_version in entries:
                entries[payload.entry_version] = edited(entries[payload.entry_version], event, payload)
            case _:
                pass
    return entries


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
            all(entry.kind == "tool_call" for entry in unit.entries)
            for unit in group_units(interaction.entries)
            if unit.entries[0].kind == "tool_call"
        )
        whole = ends or (index < len(found) - 1 and not waits)
        return interaction.entries if is_begun and whole else None
    return ()
