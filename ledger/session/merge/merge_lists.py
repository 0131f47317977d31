"""The merge of one list: which items are removed, which stay and where, which are added. Source: http W-54 … W-58."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Generic

import msgspec

from ledger.events import KnownToWriter, Ranges
from ledger.session.merge.matching import Match, Ours, match_items
from ledger.session.merge.put_command import Blind, Evidence, IfMatch, StoredItem, ThreeWay
from projections.values import ranges
from projections.working_memory import ServedView


class MergedList(msgspec.Struct, Generic[Ours], frozen=True):
    """A list after the merge: items removed, items that stay in place, and items added at the end, in order.

    An active item in *added* is also in *removed*. *listed* is what the writer knew (http W-54), *matched* whether
    the session had any item of the body.
    """

    removed: tuple[StoredItem, ...]
    in_place: tuple[Match[Ours], ...]
    added: tuple[Match[Ours], ...]
    listed: KnownToWriter
    matched: bool


def merge_list(
    base: Sequence[StoredItem],
    theirs: Sequence[StoredItem],
    ours: Sequence[Ours],
    evidence: Evidence,
    *,
    prior: Mapping[str, StoredItem],
    views: Sequence[ServedView] = (),
    version: int = 0,
) -> MergedList[Ours]:
    """Return the merge of *ours* into *theirs*, which is the list at *version*."""
    seen = {item.item_id: item for item in base}
    matches = match_items(seen, theirs, ours, evidence, prior)
    sent = {match.active.version for match in matches if match.active is not None}
    omitted = [item for item in theirs if item.version not in sent]
    removed = leaving(base, theirs, matches, omitted, evidence, views)
    in_place, moved = _placed([match for match in matches if not _stays_removed(match, seen, evidence)], seen, evidence)
    return MergedList(
        removed=(*removed, *(match.active for match in moved if match.active is not None)),
        in_place=tuple(in_place),
        added=tuple(moved),
        listed=KnownToWriter(until=version, without=ranges.ranges_of(item.version for item in omitted)),
        matched=any(match.stored is not None for match in matches),
    )


# what is removed: only with proof (http W-54, W-55)


def leaving(
    base: Sequence[StoredItem],
    theirs: Sequence[StoredItem],
    matches: Sequence[Match[Ours]],
    omitted: Sequence[StoredItem],
    evidence: Evidence,
    views: Sequence[ServedView],
) -> list[StoredItem]:
    """Return the items of *theirs* that the body lacks because the writer removed them, if that is proved."""
    if isinstance(evidence, IfMatch):
        return [item for item in omitted if not ranges.contains(evidence.omitted, item.version)]
    hidden = _hidden(matches, evidence, views)
    replaces = isinstance(evidence, Blind) and bool(matches) and all(match.stored is None for match in matches)
    seen = {item.version for item in base}
    writes = _known_writes(base, theirs, matches)
    return [
        item
        for item in omitted
        if not ranges.contains(hidden, item.version)
        and (replaces or item.version in seen or any(_is_known_by(*write, item) for write in writes))
    ]


def _hidden(matches: Sequence[Match[Ours]], evidence: Evidence, views: Iterable[ServedView]) -> Ranges:
    """Return the versions that were left out of the view that the body came from: the writer did not remove these."""
    active = [match.active.version for match in matches if match.active is not None]
    if active:
        return ranges.union(view.omitted for view in views if view.first == min(active))
    if isinstance(evidence, ThreeWay) and all(match.stored is None for match in matches):
        return ranges.union(view.omitted for view in views if view.version == evidence.base.version)
    return ()


def _known_writes(
    base: Iterable[StoredItem], theirs: Iterable[StoredItem], matches: Iterable[Match[Ours]]
) -> list[tuple[str, int, KnownToWriter | None]]:
    """Return the writes that added what the body lists: id, newest version, and what their own bodies listed.

    An item of *base* that was moved later proves nothing about the write that moved it. Only the first item of a
    write has its list; if that item was removed, items that could have been removed stay.
    """
    known = [match.stored for match in matches if match.stored is not None]
    listings = {item.write_id: item.listed for item in (*theirs, *known) if item.listed is not None}
    ids, versions = {item.item_id for item in base}, {item.version for item in base}
    newest = {item.write_id: item.version for item in known if item.item_id not in ids or item.version in versions}
    return [(write_id, version, listings.get(write_id)) for write_id, version in newest.items()]


def _is_known_by(write_id: str, version: int, listed: KnownToWriter | None, omitted: StoredItem) -> bool:
    """Tell whether the writer of that write knew *omitted*: it was in the write, or its body listed it."""
    if write_id == omitted.write_id:
        return True
    return (
        listed is not None
        and version > omitted.version
        and omitted.version <= listed.until
        and not ranges.contains(listed.without, omitted.version)
    )


# what is in the list afterwards, and where (http W-57, W-58)


def _stays_removed(match: Match[Ours], base: Mapping[str, StoredItem], evidence: Evidence) -> bool:
    """Tell whether an item that is no longer active stays so, although the body lists it."""
    if match.stored is None or match.active is not None or isinstance(evidence, IfMatch):
        return False
    return match.stored.status == "covered" or match.stored.item_id in base


def _placed(
    matches: Sequence[Match[Ours]], base: Mapping[str, StoredItem], evidence: Evidence
) -> tuple[Sequence[Match[Ours]], Sequence[Match[Ours]]]:
    """Return the items that stay in place, and those that move to the end: all from the first misplaced item on."""
    if isinstance(evidence, ThreeWay) and _keeps_order(matches, base):
        return [match for match in matches if match.active], [match for match in matches if match.active is None]
    before = 0
    for index, match in enumerate(matches):
        if match.active is None or match.active.version < before:
            return matches[:index], matches[index:]
        before = match.active.version
    return matches, ()


def _keeps_order(matches: Sequence[Match[Ours]], base: Mapping[str, StoredItem]) -> bool:
    """Tell whether the writer put no new item before active ones, and left those in the order of *base*."""
    active = [match.active is not None for match in matches]
    if active != sorted(active, reverse=True):
        return False
    names = [match.active.item_id for match in matches if match.active is not None]
    known = [name for name in names if name in base]
    wanted = set(known)
    return known == [name for name in base if name in wanted]
