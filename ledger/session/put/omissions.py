"""Which active items leave because a body does not list them: only on proof. Source: http W-54, W-55."""

from collections.abc import Iterable, Sequence

from ledger.events import Listed, Ranges
from ledger.session.put.recognition import Known, Placed, Sent
from ledger.session.put.seen import Marked, Seen, ServedView, Strict, Unmarked
from ledger.session.put.then import Then
from projections import ranges


def leaving(
    placed: Sequence[Placed[Sent]],
    active: Sequence[Known],
    seen: Seen,
    *,
    then: Then,
    hidden: Ranges = (),
) -> list[Known]:
    """Return the active items that are not in the body and leave.

    *then* is the list a marked writer saw, *hidden* are the versions that a view left out.
    """
    listed = {one.active.version for one in placed if one.active is not None}
    omitted = [item for item in active if item.version not in listed]
    if isinstance(seen, Strict):
        return [item for item in omitted if not ranges.contains(seen.left_out, item.version)]
    replaces = isinstance(seen, Unmarked) and bool(placed) and all(_is_new(one) for one in placed)
    writes = _writes(placed, active, then)
    return [
        item
        for item in omitted
        if not ranges.contains(hidden, item.version)
        and (replaces or item.version in then.versions or any(_vouches(*write, item) for write in writes))
    ]


def hidden_by(views: Iterable[ServedView], placed: Sequence[Placed[Sent]], seen: Seen) -> Ranges:
    """Return what was left out of the views the body may have been made from, which it therefore cannot omit."""
    recognised = [one.active.version for one in placed if one.active is not None]
    if recognised:
        return ranges.union(view.left_out for view in views if view.first == min(recognised))
    if isinstance(seen, Marked) and all(one.past is None for one in placed):
        return ranges.union(view.left_out for view in views if view.version == seen.then.version)
    return ()


def _is_new(one: Placed[Sent]) -> bool:
    return one.active is None and one.past is None


def _writes(
    placed: Sequence[Placed[Sent]], active: Sequence[Known], then: Then
) -> list[tuple[str, int, Listed | None]]:
    """Return the writes that brought what the body lists: id, a version, and what their writers had listed.

    What a marked writer saw proves no more than that it saw it, also if it has been moved since.

    Only the first item of a write says what was listed; once it has left, an omission stays that might have gone.
    """
    known = [item for one in placed if (item := one.active or one.past) is not None]
    listings = {item.write_id: item.listed for item in (*active, *known) if item.listed is not None}
    proofs = [item for item in known if item.item_id not in then.says or item.version in then.versions]
    newest = {item.write_id: item.version for item in proofs}
    return [(write_id, version, listings.get(write_id)) for write_id, version in newest.items()]


def _vouches(write_id: str, version: int, listed: Listed | None, omitted: Known) -> bool:
    """Tell whether who knows an item of that write knew *omitted*: it came with it, or was listed by it later."""
    if write_id == omitted.write_id:
        return True
    return (
        listed is not None
        and version > omitted.version
        and omitted.version <= listed.until
        and not ranges.contains(listed.without, omitted.version)
    )
