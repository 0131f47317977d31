"""Bytes that entries need beside them, under their digests: each stored once in the life of a session."""

from collections.abc import Iterable, Sequence

from ledger.application.handle import NamespaceHandle
from ledger.application.session_start import starts_life
from ledger.events import KeptRemoved, KeptSet
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.events.key_value_events import kept_item
from ledger.session.commands import Keep
from ledger.session.key_value_drafts import KeptDraft
from ledger.session.state import SessionState
from projections.values.ranges import ranges_of


async def keep_once(
    handle: NamespaceHandle, stream: Stream, state: SessionState, values: Sequence[KeptDraft], write_id: str
) -> list[Keep]:
    """Return the command that stores those of *values* which the life of *state* lacks; none if it has them all.

    The key of a value must tell its content. Put the command before the entries that need it: then every version with
    such an entry has its values. A life that ends meanwhile refuses the write, so nothing that was left out is missing.
    """
    # adapters LF-5
    new = values
    if values and not starts_life(handle, state):
        events = handle.services.store.events
        found = await events.find_items(stream, sorted(kept_item(value.space, value.key) for value in values))
        newest = {item_id: versions[-1] for item_id, versions in found.items() if versions[-1] > state.began}
        if newest:
            gone = set(await events.find_types(stream, [KeptRemoved.type], after=state.began))
            stored = {item_id for item_id, version in newest.items() if version not in gone}
            new = [value for value in values if kept_item(value.space, value.key) not in stored]
    return [Keep(tuple(value.to_event(write_id) for value in new))] if new else []


async def read_by_digest(
    handle: NamespaceHandle, stream: Stream, space: str, digests: Iterable[str], *, until: int
) -> dict[str, bytes]:
    """Return the bytes under those of *digests* that were stored up to the version *until*, by digest: two statements.

    What an earlier life of the session stored, or somebody hid since, is read too: an entry that is restored needs it,
    and a digest never stands for other bytes.
    """
    # adapters LF-5
    events = handle.services.store.events
    found = await events.find_items(stream, sorted(kept_item(space, digest) for digest in digests))
    versions = sorted(at for each in found.values() for at in each if at <= until)
    payloads = [decode(event).payload for event in await events.read_versions(stream, ranges_of(versions))]
    return {each.key: each.content for each in payloads if isinstance(each, KeptSet) and each.content is not None}
