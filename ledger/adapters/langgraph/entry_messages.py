"""The bytes of a message in the data of its entry, without the text that the entry has. Source: adapters LG-4.

So a message is one event, and its text is stored once.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from typing import Any, Final

from ledger.adapters.langgraph.known_blobs import Typed
from ledger.events import EntryAdded

ENTRY: Final = "lg-"
_SDK: Final = "langgraph"
_FORMAT: Final = 1
_MOST_BYTES: Final = 64 * 1024  # beside the text; what has more, such as an image, is a value of its own


def entry_id_of(name: str, call: int = 0) -> str:
    """Return the id of the first entry of the message whose blob has this *name*, or of its n-th *call*."""
    return f"{ENTRY}{name}.{call}" if call else f"{ENTRY}{name}"


def name_in(entry_id: str) -> str | None:
    """Return the name of the message that an entry is of; None if another writer added it."""
    return entry_id.removeprefix(ENTRY).partition(".")[0] if entry_id.startswith(ENTRY) else None


def put_messages(entries: Sequence[dict[str, Any]], find: Callable[[str], Typed | None]) -> set[str]:
    """Put each message of *entries* whose blob *find* knows into the data of its first entry; return their names.

    Also one that is stored already, so that an entry that is added again is equal.
    """
    found: set[str] = set()
    for entry in entries:
        name = name_in(entry["entry_id"])
        typed = None if name is None or name in found else find(name)
        if name is None or typed is None:
            continue
        kind, content = typed
        parts = _beside(content, entry.get("content", "").encode())
        if sum(map(len, parts)) <= _MOST_BYTES:
            serde = [kind, *(b64encode(part).decode() for part in parts)]
            entry["data"] = {**(entry.get("data") or {}), "sdk": _SDK, "v": _FORMAT, "serde": serde}
            found.add(name)
    return found


def message_in(payload: EntryAdded) -> Typed | None:
    """Return the message that an entry carries, as it was added; None if it carries none."""
    if not isinstance(payload.data, dict) or payload.data.get("sdk") != _SDK:
        return None
    kind, *parts = payload.data["serde"]
    return kind, payload.content.encode().join(map(b64decode, parts))


def _beside(content: bytes, text: bytes) -> list[bytes]:
    """Return *content* without the first *text* in it: what is before and after it, or all of it."""
    return content.split(text, 1) if text else [content]
