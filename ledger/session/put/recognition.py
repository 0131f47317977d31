"""Which items of a body are items the session knows. Source: http W-53."""

from collections.abc import Mapping, Sequence
from typing import Generic, Protocol, TypeAlias, TypeVar

import msgspec

from ledger.events import Listed
from ledger.session.put.past import PastItem

Says: TypeAlias = tuple[str, str]


class Sent(Protocol):
    """An item of a body."""

    @property
    def id(self) -> str | None:
        """What it is called, if its writer says so."""
        ...

    @property
    def says(self) -> Says:
        """What makes two of them equal."""
        ...


S = TypeVar("S", bound=Sent)
S_co = TypeVar("S_co", bound=Sent, covariant=True)


class Known(msgspec.Struct, frozen=True):
    """An active item: its place, the write it came with, and what that write's body listed, if it says so."""

    version: int
    item_id: str
    write_id: str
    says: Says
    listed: Listed | None = None


class Placed(msgspec.Struct, Generic[S_co], frozen=True):
    """An item of a body, and the one it is: an active one, a past one, or neither, which makes it new."""

    sent: S_co
    active: Known | None = None
    past: PastItem | None = None


def recognise(
    sent: Sequence[S], active: Sequence[Known], past: Mapping[str, PastItem], *, unmarked: bool
) -> list[Placed[S]]:
    """Return each item of the body, in its order, with what it is; of an id listed twice the first counts.

    By id, among all the session ever had; without one, the next active item that says the same. A body without
    proof whose ids are all unknown is of a program that makes them anew each time: there, too, what it says counts.
    """
    by_id = {item.item_id: item for item in active}
    gone = {name: item for name, item in past.items() if item.status != "active"}
    ids = [item.id for item in sent if item.id is not None]
    fresh_ids = unmarked and not any(name in by_id or name in gone for name in ids)
    taken = {name for name in ids if name in by_id}
    waiting: dict[Says, list[Known]] = {}
    for item in reversed(active):
        if item.item_id not in taken:
            waiting.setdefault(item.says, []).append(item)
    placed: list[Placed[S]] = []
    seen: set[str] = set()
    for one in sent:
        if one.id is not None:
            if one.id in seen:
                continue
            seen.add(one.id)
        if one.id is not None and one.id in by_id:
            placed.append(Placed(one, active=by_id[one.id]))
        elif one.id is not None and one.id in gone:
            placed.append(Placed(one, past=gone[one.id]))
        elif (one.id is None or fresh_ids) and (same := waiting.get(one.says)):
            placed.append(Placed(one, active=same.pop()))
        else:
            placed.append(Placed(one))
    return placed
