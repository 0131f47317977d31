"""A list of a body against that of the session: what goes, what changes, what comes. Source: http W-54 … W-58."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

from ledger.events import Listed
from ledger.session.put.omissions import hidden_by, leaving
from ledger.session.put.past import PastItem
from ledger.session.put.recognition import Known, Placed, Says, Sent, recognise
from ledger.session.put.seen import Marked, Seen, ServedView, Strict, Unmarked
from ledger.session.put.then import NOTHING_THEN, Then
from projections import ranges

S = TypeVar("S", bound=Sent)


class Change(msgspec.Struct, Generic[S], frozen=True):
    """An item of the body that is there afterwards: an active one, a past one that comes back, or a new one."""

    sent: S
    active: Known | None = None
    past: PastItem | None = None
    #: The role and text (or text and type) it has afterwards.
    says: Says = ("", "")


class ListChanges(msgspec.Struct, Generic[S], frozen=True):
    """What a body does to one list: items that leave, stay (some *edited*), and are added at the end, in order.

    An active item that is among *added* leaves its place first. *listed* is what the writer knew (http W-54).
    """

    removed: tuple[Known, ...] = ()
    kept: tuple[Change[S], ...] = ()
    edited: tuple[Change[S], ...] = ()
    added: tuple[Change[S], ...] = ()
    listed: Listed | None = None
    #: Whether the session knew anything of the list.
    recognised: bool = False


def compare(
    sent: Sequence[S],
    active: Sequence[Known],
    seen: Seen,
    *,
    past: Mapping[str, PastItem],
    then: Then = NOTHING_THEN,
    views: Iterable[ServedView] = (),
    version: int = 0,
) -> ListChanges[S]:
    """Return what the items *sent* do to those that are *active* at *version*."""
    placed = recognise(sent, active, past, unmarked=isinstance(seen, Unmarked))
    gone = leaving(placed, active, seen, then=then, hidden=hidden_by(views, placed, seen))
    shown = [change for one in placed if (change := _wanted(one, seen, then, past)) is not None]
    kept, moved = _in_place(shown, seen, then)
    listed = {one.active.version for one in placed if one.active is not None}
    not_listed = ranges.ranges_of(one.version for one in active if one.version not in listed)
    return ListChanges(
        removed=(*gone, *(change.active for change in moved if change.active is not None)),
        edited=tuple(change for change in kept if change.active is not None and change.says != change.active.says),
        kept=tuple(kept),
        added=tuple(moved),
        listed=Listed(until=version, without=not_listed),
        recognised=any(one.active is not None or one.past is not None for one in placed),
    )


def _wanted(one: Placed[S], seen: Seen, then: Then, past: Mapping[str, PastItem]) -> Change[S] | None:
    """Return what an item of the body asks for; none if nothing happens to it. Source: http W-57."""
    if one.active is not None:
        earlier = past.get(one.active.item_id)
        says = _says(one.sent.says, one.active.says, one.active.item_id, seen, then, earlier)
        return Change(one.sent, active=one.active, says=says)
    if one.past is None:
        return Change(one.sent, says=one.sent.says)
    stays_away = one.past.status == "covered" or (isinstance(seen, Marked) and one.past.item_id in then.says)
    if stays_away and not isinstance(seen, Strict):
        return None
    says = _says(one.sent.says, one.past.says, one.past.item_id, seen, then, one.past)
    return Change(one.sent, past=one.past, says=says)


def _says(sent: Says, now: Says, item_id: str, seen: Seen, then: Then, past: PastItem | None) -> Says:
    """Return what an item says after the body; a stale copy changes nothing. Source: http W-56."""
    if isinstance(seen, Strict):
        return sent
    if isinstance(seen, Marked) and item_id in then.says:
        return now if sent == then.says[item_id] else sent
    return now if past is not None and sent in past.earlier else sent


def _in_place(shown: Sequence[Change[S]], seen: Seen, then: Then) -> tuple[Sequence[Change[S]], Sequence[Change[S]]]:
    """Return what stays where it is, and what goes to the end: from the first misplaced item on, all.

    Source: http W-58.
    """
    if isinstance(seen, Marked) and _as_it_was(shown, then):
        return [one for one in shown if one.active is not None], [one for one in shown if one.active is None]
    before = 0
    for index, change in enumerate(shown):
        if change.active is None or change.active.version < before:
            return shown[:index], shown[index:]
        before = change.active.version
    return shown, ()


def _as_it_was(shown: Sequence[Change[S]], then: Then) -> bool:
    """Tell whether a marked writer put nothing before items that were there, and left those in the order it saw."""
    there = [change.active is not None for change in shown]
    if there != sorted(there, reverse=True):
        return False
    names = [change.active.item_id for change in shown if change.active is not None]
    known = [name for name in names if name in then.says]
    wanted = set(known)
    return known == [name for name in then.says if name in wanted]
