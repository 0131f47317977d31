"""Read blobs of a thread: values beside the window, and messages that entries carry. Source: adapters LG-3, LG-4."""

from collections.abc import Sequence

from ledger.adapters.langgraph.carried import carried_by, entry_id_of, name_in
from ledger.adapters.langgraph.keys import BLOBS
from ledger.adapters.langgraph.seen import Typed
from ledger.adapters.langgraph.stored import typed_of
from ledger.application.kept import read_items_of_life
from ledger.events import EntryAdded, KeptSet
from ledger.events.kept import SEPARATOR
from ledger.memory import MemoryLedger


async def stored_blobs(ledger: MemoryLedger, session: str, names: Sequence[str]) -> dict[str, Typed]:
    """Return those of the blobs with these *names* that the life of a session has."""
    items = [
        item_id
        for name in names  # a message that is nothing but calls has no entry with its own id
        for item_id in (f"{BLOBS}{SEPARATOR}{name}", entry_id_of(name), entry_id_of(name, 1))
    ]
    handle = ledger._handle  # noqa: SLF001 - adapters are part of the ledger
    found: dict[str, Typed] = {}
    for event in await read_items_of_life(handle, session, items, 0, {}):
        payload = event.payload
        if isinstance(payload, KeptSet) and payload.content is not None:
            found[payload.key] = typed_of(payload.content)
        elif isinstance(payload, EntryAdded):
            name, typed = name_in(payload.entry_id), carried_by(payload)
            if name is not None and typed is not None:
                found[name] = typed
    return found
