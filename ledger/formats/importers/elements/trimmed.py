"""Calls of an agent that left messages out, or put a summary in their place. Source: adapters IN-3.

Such a call does not go on from a branch by the prefix rule, since its messages differ from the first that is missing
on. It goes on in a branch whose newest entry it was sent: then the window of the branch becomes what was sent.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

from ledger.events import JsonObject
from ledger.events.canonical import canonical_json
from ledger.formats.importers.elements.importer import IMPORTED
from ledger.formats.importers.elements.steps import REWIND, UNKNOWN, hidden, noted


def content_of(entry: Mapping[str, Any]) -> bytes:
    """Return what tells whether two raw entries say the same: a digest of role, text, call and result."""
    fields = [entry.get(name) for name in ("kind", "role", "tool_name", "tool_call_id", "content", "arguments")]
    return sha256(canonical_json(fields)).digest()[:12]


def goes_on(
    window: Sequence[bytes], sent: Sequence[bytes], instructions_before: Sequence[bytes], instructions: bytes | None
) -> bool:
    """Tell whether a call goes on in a branch: it was *sent* the newest entry of its *window*, by the same agent.

    The first of its *instructions* identifies the agent: it is among *instructions_before*, those of the branch. A call
    without instructions goes on in a branch without any.
    """
    is_same_agent = instructions in instructions_before if instructions else not instructions_before
    return bool(window) and window[-1] in sent and is_same_agent


def remaining_places(window: Sequence[bytes], sent: Sequence[bytes]) -> list[int]:
    """Return the places in *window* of the entries that stay: those that what was *sent* begins with, in its order."""
    places, at = list[int](), 0
    for each in sent:
        try:
            at = window.index(each, at)
        except ValueError:
            break
        places.append(at)
        at += 1
    return places


def repeated_id(entry_id: str, record_id: str) -> str:
    """Return the id of an entry that the call with *record_id* sent, and that a branch had before under *entry_id*."""
    return f"{IMPORTED}{sha256(f'{entry_id} {record_id}'.encode()).hexdigest()[:28]}"


def began(branch: str, first_id: str, moment: datetime | None, *, shares: bool, line: int | None = None) -> JsonObject:
    """Return the hidden entry that says of a session that a call of it began *branch*.

    *first_id* is that of the call's first entry; *shares* tells whether the session has that, too.
    """
    if shares:
        kind, text = REWIND, f"a call goes on from an earlier message; it is in the session {branch}"
    else:
        kind = UNKNOWN
        text = f"a call repeats nothing of this session: another agent's, or after a compaction; it is in {branch}"
    entry: JsonObject = {
        "kind": "context",
        "content": f"[call in {branch}]",
        "entry_id": repeated_id(first_id, branch),
        "created_at": moment,
    }
    return noted(hidden(entry), kind, text, line)
