"""The prefix rule, for sources that repeat the whole history in every call of a model. Source: adapters IN-3.

The id of an entry is a digest of it and of all before it, so two histories share as many entries as they share ids.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256

import msgspec

from ledger.events.canonical import canonical_json
from ledger.formats.importers.elements.importer import IMPORTED


class SharedBranch(msgspec.Struct, frozen=True):
    """What a branch of a session has of a call: the first *shared* entries; *ends* if it has none after them."""

    shared: int
    ends: bool


class Placement(msgspec.Struct, frozen=True):
    """Where a call goes: its entries from *first* on are added to *branch*, or to a new one that shares those before.

    With *forks*, *branch* is the one to fork; None if the new one shares nothing.
    """

    branch: int | None
    first: int
    forks: bool = False


def chained_ids(contents: Iterable[object]) -> list[str]:
    """Return the id of each entry, of which *contents* has role, text, call and ids as JSON."""
    ids, before = [], b""
    for content in contents:
        before = sha256(before + canonical_json(content)).digest()
        ids.append(f"{IMPORTED}{before.hex()[:28]}")
    return ids


def shared_entries(ids: Sequence[str], branch: Sequence[str]) -> SharedBranch:
    """Return what a *branch* with these ids has of the call with *ids*."""
    known = set(branch)
    shared = next((place for place in range(len(ids), 0, -1) if ids[place - 1] in known), 0)
    return SharedBranch(shared, ends=len(branch) == shared)


def place(count: int, branches: Sequence[SharedBranch]) -> Placement:
    """Return where a call of *count* entries goes.

    A branch that has them all needs nothing; one that ends where the call goes on gets the rest; otherwise the branch
    that shares most is forked there.
    """
    if not branches:
        return Placement(None, 0)
    best = max(range(len(branches)), key=lambda number: (branches[number].shared, branches[number].ends, -number))
    found = branches[best]
    if found.shared == count or found.ends:
        return Placement(best, found.shared)
    return Placement(best, found.shared, forks=True) if found.shared else Placement(None, 0, forks=True)


def branch_name(session_id: str, number: int) -> str:
    """Return the name of branch *number*, from 0: ``id``, ``id~2``, ``id~3`` and so on."""
    return f"{session_id}~{number + 1}" if number else session_id
