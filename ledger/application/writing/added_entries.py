"""What a write of entries returns: each entry with its receipt, and those that were stored before."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ledger.application.commands.write_requests import Written
from ledger.application.handle import NamespaceHandle
from ledger.events import EntryAdded, RecordedEvent
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.history.item_history import read_item_events
from ledger.results import AddedEntry
from ledger.session.entry_drafts import EntryDraft
from ledger.session.state import SessionState
from projections.entries import Entry, added
from projections.log.item_versions import item_versions
from projections.tool_pairs import Call, orphans


def added_entries(written: Written, waiting: Sequence[Call]) -> tuple[AddedEntry, ...]:
    """Return the entries that *written* added; a tool result that no call in *waiting* asked for is an orphan."""
    pairs = [
        (event, event.payload, receipt)
        for event, receipt in zip(written.events, written.receipts, strict=True)
        if isinstance(event.payload, EntryAdded)
    ]
    has_results = "tool_result" in [payload.kind for _, payload, _ in pairs]
    orphaned = orphans(waiting, [added(event, payload) for event, payload, _ in pairs]) if has_results else ()
    return tuple(
        [
            _added_entry(event, payload, receipt.hash, orphan=event.version in orphaned)
            for event, payload, receipt in pairs
        ]
    )


async def known_entries(
    handle: NamespaceHandle, stream: Stream, state: SessionState, ids: Sequence[str]
) -> dict[str, tuple[Entry, AddedEntry]]:
    """Return the entries that are stored under *ids*, with their current text.

    An id that was removed or cleared may be added again, so it is left out.
    """
    events = await read_item_events(handle.services.store, stream, ids, after=state.cleared_version)
    hashes = {stored.version: stored.hash for stored in events}
    newest = {each.item_id: each for each in item_versions(map(decode, events)) if isinstance(each.item, Entry)}
    known = {}
    for entry_id, version in newest.items():
        if not version.removed:
            assert isinstance(version.item, Entry)
            assert isinstance(version.added.payload, EntryAdded)
            entry = _added_entry(version.added, version.added.payload, hashes[version.item.version], known=True)
            known[entry_id] = version.item, entry
    return known


def in_draft_order(
    drafts: Sequence[EntryDraft], new: Sequence[AddedEntry], known: Mapping[str, tuple[Entry, AddedEntry]]
) -> tuple[AddedEntry, ...]:
    """Return the entry of each draft, new or known; a known one that was removed since is left out.

    An id that the batch repeats is known from its second draft on.
    """
    by_id = {entry.entry_id: entry for entry in new} | {entry_id: entry for entry_id, (_, entry) in known.items()}
    ids = {draft.entry_id for draft in drafts}
    without_id = iter([entry for entry in new if entry.entry_id not in ids])
    found: list[AddedEntry] = []
    for draft in drafts:
        entry = next(without_id, None) if draft.entry_id is None else by_id.get(draft.entry_id)
        if entry is not None:
            found.append(entry)
            by_id[entry.entry_id] = replace(entry, known=True)
    return tuple(found)


def _added_entry(
    event: RecordedEvent, payload: EntryAdded, digest: bytes, *, orphan: bool = False, known: bool = False
) -> AddedEntry:
    return AddedEntry(
        entry_id=payload.entry_id,
        version=event.version,
        position=event.position,
        event_id=str(event.event_id),
        hash=digest.hex(),
        kind=payload.kind,
        tokens=payload.tokens,
        tokenizer=payload.tokenizer,
        orphan=orphan,
        known=known,
    )
