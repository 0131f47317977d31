"""Which items of a body the session has or had, and the value of each after the merge. Source: http W-53, W-56."""

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

from ledger.session.merge.put_command import Blind, BodyMemory, BodyMessage, Evidence, IfMatch, ItemValue, StoredItem

Ours = TypeVar("Ours", bound=BodyMessage | BodyMemory)


class Match(msgspec.Struct, Generic[Ours], frozen=True):
    """An item of the body, the stored item that it matches (None if it is new), and its *value* after the merge."""

    ours: Ours
    stored: StoredItem | None
    value: ItemValue

    @property
    def active(self) -> StoredItem | None:
        """The stored item, if it is active."""
        return self.stored if self.stored is not None and self.stored.status == "active" else None


def match_items(
    base: Mapping[str, StoredItem],
    theirs: Sequence[StoredItem],
    ours: Sequence[Ours],
    evidence: Evidence,
    prior: Mapping[str, StoredItem],
) -> list[Match[Ours]]:
    """Return the items of the body, in order, each with the stored item it matches; of equal ids only the first.

    An id matches any item that the session ever had; an item without an id matches the next active item of equal
    value. If no id of a blind body is known, its program creates new ids each time: then items match by value too.
    """
    stored = {name: item for name, item in prior.items() if item.status != "active"}
    stored |= {item.item_id: item for item in theirs}
    ids = {item.id for item in ours if item.id is not None}
    by_value = isinstance(evidence, Blind) and not any(name in stored for name in ids)
    unnamed: dict[ItemValue, list[StoredItem]] = {}
    for item in reversed(theirs):
        if item.item_id not in ids:
            unnamed.setdefault(item.value, []).append(item)
    matches: list[Match[Ours]] = []
    for sent in ours:
        found = None
        if sent.id is not None:
            if sent.id not in ids:
                continue
            ids.remove(sent.id)
            found = stored.get(sent.id)
        if found is None and (sent.id is None or by_value) and (equal := unnamed.get(sent.value)):
            found = equal.pop()
        value = sent.value if found is None else _merged_value(base, found, sent.value, evidence)
        matches.append(Match(sent, found, value))
    return matches


def _merged_value(base: Mapping[str, StoredItem], theirs: StoredItem, ours: ItemValue, evidence: Evidence) -> ItemValue:
    """Return the value of an item after the merge; an old copy changes nothing. Source: http W-56."""
    if isinstance(evidence, IfMatch):
        return ours
    seen = base.get(theirs.item_id)
    is_old = ours == seen.value if seen is not None else ours in theirs.earlier
    return theirs.value if is_old else ours
