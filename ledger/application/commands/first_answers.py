"""The first answer to a request that is sent again: what it stored then, found by its idempotency key."""

from collections.abc import Sequence

from ledger.application.commands.write_requests import Idempotency, Written
from ledger.errors import IdempotencyMismatch
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.history.state_loading import States
from ledger.ports import AppendRequest, Receipt, Store, StreamWrite
from ledger.session.state import SessionState
from projections.values.ranges import ranges_of


def append_request(writes: Sequence[StreamWrite], idempotency: Idempotency | None) -> AppendRequest:
    """Return *writes* as one append, which the store carries out once for each idempotency key."""
    return AppendRequest(
        writes=tuple(writes),
        request_id=idempotency.request_id if idempotency else None,
        request_hash=idempotency.request_hash if idempotency else None,
    )


async def earlier_receipts(store: Store, stream: Stream, idempotency: Idempotency | None) -> tuple[Receipt, ...] | None:
    """Return the receipts of a request that was carried out before; None if it was not.

    *stream* is that of the request; of several the one with the lowest id.

    Raises:
        IdempotencyMismatch: the key belongs to another request.
    """
    if idempotency is None:
        return None
    found = await store.events.find_request(stream, idempotency.request_id)
    if found is None:
        return None
    if found.request_hash != idempotency.request_hash:
        raise IdempotencyMismatch
    return found.receipts


async def first_answer(
    store: Store, states: States[SessionState], stream: Stream, receipts: Sequence[Receipt]
) -> Written:
    """Return what a request stored in *stream*, with the newest state; *receipts* are those of its events there."""
    versions = ranges_of(receipt.version for receipt in receipts)
    stored = await store.events.read_versions(stream, versions) if receipts else []
    return Written(await states.newest(stream), tuple(map(decode, stored)), tuple(receipts), replayed=True)
