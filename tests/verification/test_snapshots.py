"""Changed snapshots are found by ``verify --caches``, and unreadable ones replayed. Source: trust K-1, K-4."""

from collections.abc import Callable

import msgspec
import pytest

from ledger.events.ids import Stream, namespace_id
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.in_memory.event_store import InMemoryEventStore
from tests.support.ledgers import ledger_over

ENTRIES = 201


async def written(namespace: str) -> tuple[InMemoryStore, MemoryLedger]:
    """Return a store with a snapshot of one of two sessions, and a ledger that has read neither."""
    store = InMemoryStore()
    ledger = ledger_over(store, namespace=namespace)
    await ledger.add_entries("s", [{"role": "user", "content": f"message {number}"} for number in range(ENTRIES)])
    await ledger.add_user_message("t", "hello")
    await ledger._handle.services.commands.settle()
    return store, ledger_over(store, namespace=namespace)


def change(store: InMemoryStore, namespace: str, changed: Callable[[bytes], bytes]) -> None:
    assert isinstance(store.events, InMemoryEventStore)
    snapshots = store.events._namespaces[namespace_id(namespace)].snapshots
    stream_id = Stream.of(namespace, "s").stream_id
    found = [kept for (stream, _, _), kept in snapshots.items() if stream == stream_id]
    assert len(found) == 1, "there is a snapshot"
    for version, snapshot in found[0].items():
        found[0][version] = msgspec.structs.replace(snapshot, state=changed(snapshot.state))


def clear_the_window(state: bytes) -> bytes:
    """Point the snapshot at a window without its oldest page."""
    stored = msgspec.json.decode(state)
    stored["pages"] = stored["pages"][1:] or []
    return msgspec.json.encode(stored)


async def test_a_true_snapshot_is_no_finding(namespace: str) -> None:
    _, ledger = await written(namespace)
    report = await ledger.verify(caches=True)
    assert (report.verdict, report.findings) == ("OK-CHAINED", ())


async def test_a_shortened_window_is_found__A_21(namespace: str) -> None:
    """trust A-21."""
    store, ledger = await written(namespace)
    change(store, namespace, clear_the_window)
    assert (await ledger.verify()).ok, "control: the log itself is as it was"
    report = await ledger.verify(caches=True)
    assert report.verdict == "CACHES DIFFER"
    assert [(found.layer, found.session_id, found.version) for found in report.findings] == [(0, "s", ENTRIES + 1)]


@pytest.mark.parametrize(
    "mangle",
    [
        lambda state: b"",
        lambda state: state[:-40],
        lambda state: state.replace(b'"version":202', b'"version":999'),
        lambda state: state.replace(b'"write_id"', b'"another"'),
        lambda state: msgspec.json.encode(msgspec.json.decode(state) | {"summaries": [5, 999]}),
    ],
)
async def test_a_snapshot_that_cannot_be_read_is_replayed(namespace: str, mangle: Callable[[bytes], bytes]) -> None:
    store, ledger = await written(namespace)
    as_written = await ledger_over(store, namespace=namespace).get_active_entries("s")
    assert len(as_written) > 1
    change(store, namespace, mangle)
    assert await ledger.get_active_entries("s") == as_written
