"""Compare snapshots of sessions with a replay: they are caches, which reads believe (trust K-4)."""

from collections.abc import Sequence

from ledger.codec import decode
from ledger.errors import LedgerError
from ledger.ids import Stream
from ledger.names import NO_SESSIONS
from ledger.ports import Store, StreamHead
from ledger.session.state import SESSION, SessionState, end_of_batch
from ledger.states.loading import States
from ledger.states.snapshots import SESSIONS
from ledger.verification.findings import Finding


async def check_snapshots(store: Store, namespace: str, heads: Sequence[StreamHead]) -> list[Finding]:
    """Return a finding for each session whose newest snapshot gives another state than its events.

    It reads and folds each of these sessions from its first event.
    """
    findings = []
    for head in heads:
        if head.session_id in NO_SESSIONS:
            continue
        stream = Stream.of(namespace, head.session_id, head.user_id)
        newest = await store.snapshots.load(stream, SESSION.name, SESSION.version)
        if newest is None or await _is_true(store, stream, newest.version):
            continue
        findings.append(
            Finding(
                problem=f"the snapshot at version {newest.version} is not what a replay gives;"
                " delete the rows of ledger.snapshots, and they are built again",
                layer=0,
                namespace=namespace,
                stream_id=head.stream_id,
                user_id=head.user_id or None,
                session_id=head.session_id,
                version=newest.version,
            )
        )
    return findings


async def _is_true(store: Store, stream: Stream, version: int) -> bool:
    states: States[SessionState] = States(store, SESSIONS, capacity=1)
    try:
        read = await states.at(stream, version=version)
    except LedgerError:
        return False
    events = await store.events.read_stream(stream, until=version)
    return end_of_batch(SESSION.fold(map(decode, events))) == end_of_batch(read)
