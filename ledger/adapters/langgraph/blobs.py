"""Blobs of a thread: values, one larger than a value in parts, or messages that entries carry.

Source: adapters LG-3, LG-4, LF-5.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from ledger.adapters.langgraph.entry_messages import entry_id_of, message_in, name_in
from ledger.adapters.langgraph.keys import BLOBS
from ledger.adapters.langgraph.known_blobs import Typed
from ledger.adapters.langgraph.stored_checkpoints import blob_bytes, typed_of
from ledger.application.reading.key_value_reads import read_items_of_life
from ledger.events import EntryAdded, KeptSet
from ledger.events.key_value_events import SEPARATOR
from ledger.memory import MemoryLedger
from ledger.session.attachments import check_beside
from ledger.session.key_value_drafts import MOST_BYTES

_PARTS: Final = "parts"


def blob_values(blobs: Mapping[str, Typed], *, besides: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return the values that store *blobs*, by name, but for those *besides* that entries carry.

    Of a large one they are its parts, and then their number under its name.

    Raises:
        InvalidInput: ``too_large``: the large ones are over the limit of a write.
    """
    contents = {name: blob_bytes(typed) for name, typed in blobs.items() if name not in besides}
    check_beside(sum(len(each) for each in contents.values() if len(each) > MOST_BYTES), field="values")
    return [value for name, content in contents.items() for value in _values(name, content)]


async def read_blobs(ledger: MemoryLedger, session: str, began: int, names: Sequence[str]) -> dict[str, Typed]:
    """Return those of the blobs with these *names* that a life has since it *began*, as values or carried by entries.

    It is one look-up, one more if some are in parts.
    """
    items = [item_id for name in names for item_id in (f"{BLOBS}{SEPARATOR}{name}", entry_id_of(name))]
    handle = ledger._handle  # noqa: SLF001 - adapters are part of the ledger
    found: dict[str, Typed] = {}
    split: dict[str, int] = {}
    for event in await read_items_of_life(handle, session, began, items, 0):
        payload = event.payload
        if isinstance(payload, KeptSet) and payload.content is not None:
            found[payload.key] = typed_of(payload.content)
        elif isinstance(payload, KeptSet):
            split[payload.key] = payload.value[_PARTS]
        elif isinstance(payload, EntryAdded):
            name, typed = name_in(payload.entry_id), message_in(payload)
            if name is not None and typed is not None:
                found[name] = typed
    if split:
        keys = [_part(name, at) for name, count in split.items() for at in range(count)]
        parts = await ledger.get_kept_values(session, BLOBS, keys)
        for name, count in split.items():
            own = [parts[key].value for key in map(partial(_part, name), range(count)) if key in parts]
            if len(own) == count:
                found[name] = typed_of(b"".join(own))
    return found


def _values(name: str, content: bytes) -> Iterator[dict[str, Any]]:
    if len(content) <= MOST_BYTES:
        yield {"space": BLOBS, "key": name, "value": content}
        return
    parts = [content[at : at + MOST_BYTES] for at in range(0, len(content), MOST_BYTES)]
    for at, part in enumerate(parts):
        yield {"space": BLOBS, "key": _part(name, at), "value": part}
    yield {"space": BLOBS, "key": name, "value": {_PARTS: len(parts)}}


def _part(name: str, at: int) -> str:
    return f"{name}.{at}"
