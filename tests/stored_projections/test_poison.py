"""One event that cannot be read or folded stops nothing but its own stream, and is named.

Others had the opposite: see JasperFx/marten#2334 and #2317. Source: style §2, §4.
"""

import asyncio
import json
import logging
from typing import Any
from uuid import uuid4  # noqa: TID251 - what another writer would have made

import pytest
from msgspec.structs import force_setattr, replace

from ledger.errors import DatabaseUnavailable, LogCorrupted, Unreadable
from ledger.events import EntryAdded, NewEvent, RecordedEvent, SessionCleared
from ledger.events.codec import NO_CONTENT
from ledger.events.ids import Stream
from ledger.indexes.record_index import RecordIndexes
from ledger.indexes.search.finder import Finder
from ledger.indexes.stored_projections import session_list
from ledger.long_term_memory.record_writer import records_stream
from ledger.memory import MemoryLedger
from ledger.ports import AppendRequest, Store, StreamWrite
from ledger.session.evolve import SESSION, evolve
from ledger.session.fast_fold import SESSION_IN_RUNS
from ledger.session.state import SessionState
from tests.support.ledgers import ledger_over

#: Events that a session cannot be folded with: of a newer release, damaged, or with a config that is not there.
IN_SESSIONS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "a newer type": ("session.pinned", 1, {"write_id": "w", "why": "newer"}),
    "a newer schema": ("entry.added", 9, {"write_id": "w"}),
    "no shape of its type": ("entry.added", 2, {"write_id": "w", "entry_id": 5}),
    "a config that is not known": ("config.changed", 2, {"write_id": "w", "config": {"window": {"type": "nope"}}}),
}
IN_RECORDS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "a newer type": ("record.pinned", 1, {"write_id": "w", "record_id": "r1"}),
    "a newer schema": ("record.edited", 9, {"write_id": "w", "record_id": "r1"}),
    "no shape of its type": ("record.edited", 1, {"write_id": "w", "record_id": 5}),
}
DEADLINE_S = 30.0


async def append(store: Store, stream: Stream, poison: tuple[str, int, dict[str, Any]]) -> None:
    type_, schema, payload = poison
    body = json.dumps(payload).encode()
    event = NewEvent(uuid4(), type_, schema, NO_CONTENT, 1_767_225_600_000_000, "another", body, None)
    await store.events.append(AppendRequest(writes=(StreamWrite(stream=stream, events=(event,)),)))


async def found(ledger: MemoryLedger) -> list[str]:
    return sorted({hit.session_id for hit in await ledger.search("apple", top_k=100)})


async def listed(ledger: MemoryLedger) -> dict[str, str]:
    return {row.session_id: row.status for row in await ledger.list_sessions()}


async def remembered(ledger: MemoryLedger) -> list[str]:
    return sorted(memory.record.record_id for memory in (await ledger.long_term.search("apples")).memories)


@pytest.mark.parametrize("kind", IN_SESSIONS)
async def test_one_session_that_cannot_be_read_stops_no_other(store: Store, namespace: str, kind: str) -> None:
    async with asyncio.timeout(DEADLINE_S):
        ledger = ledger_over(store, namespace=namespace)
        for session in ("a", "b"):
            await ledger.add_user_message(session, f"an apple of {session}")
        await append(store, Stream.of(namespace, "b"), IN_SESSIONS[kind])
        await ledger.add_user_message("c", "an apple of c")
        anew = ledger_over(store, namespace=namespace)
        for _ in range(2):
            assert {"a", "c"} <= set(await found(anew))
            assert await listed(anew) == {"a": "live", "b": "unreadable", "c": "live"}
            await anew.rebuild_projections()
        with pytest.raises(Unreadable, match=r"event 3\b"):
            await anew.get_context("b")


@pytest.mark.parametrize("kind", IN_RECORDS)
async def test_one_record_that_cannot_be_read_stops_no_other(
    store: Store, namespace: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with asyncio.timeout(DEADLINE_S):
        ledger = ledger_over(store, namespace=namespace)
        await ledger.add_user_message("s", "hello")
        before = [{"id": f"r{n}", "text": f"apples {n}", "user_id": f"u{n}"} for n in (1, 2)]
        await ledger.long_term.create(before)
        await append(store, records_stream(namespace, "u1"), IN_RECORDS[kind])
        await ledger.long_term.create([{"id": "r3", "text": "apples 3", "user_id": "u2"}])
        anew = ledger_over(store, namespace=namespace)
        with caplog.at_level(logging.ERROR, "ledger"):
            assert await remembered(anew) == ["r1", "r2", "r3"]
        assert "event 2" in caplog.text, "it is named"
        await anew.long_term.create([{"id": "r4", "text": "apples 4", "user_id": "u2"}])
        assert await remembered(anew) == ["r1", "r2", "r3", "r4"]
        await anew.rebuild_projections()
        assert await remembered(anew) == ["r1", "r2", "r3", "r4"]


async def test_a_defect_of_a_fold_names_its_event(ledger: MemoryLedger) -> None:
    def evolve(before: SessionState, event: RecordedEvent) -> SessionState:
        if isinstance(event.payload, EntryAdded):
            raise KeyError("a defect")
        return SESSION.evolve(before, event)

    await ledger.add_user_message("s", "hello")
    with pytest.raises(LogCorrupted, match=r"event 2 \(entry.added\) cannot be folded into session: KeyError"):
        replace(SESSION, evolve=evolve).fold(await ledger.get_events("s"))


async def test_a_defect_of_a_fold_stops_its_session_alone(
    store: Store, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(state: SessionState, event: RecordedEvent) -> SessionState:
        if isinstance(event.payload, SessionCleared):
            raise IndexError("a defect")
        return evolve(state, event)

    ledger = ledger_over(store, namespace=namespace)
    for session in ("a", "b", "c"):
        await ledger.add_user_message(session, f"an apple of {session}")
    await ledger.clear_session("b")
    monkeypatch.setattr(session_list, "next_row", lambda *_: None)  # let each row come from a state
    force_setattr(SESSION_IN_RUNS, "evolve", refuses)
    try:
        async with asyncio.timeout(DEADLINE_S):
            anew = ledger_over(store, namespace=namespace)
            assert await listed(anew) == {"a": "live", "b": "unreadable", "c": "live"}
            assert {"a", "c"} <= set(await found(anew))
    finally:
        force_setattr(SESSION_IN_RUNS, "evolve", evolve)


async def test_a_search_that_reads_only_whole_sessions_is_noticed(
    store: Store, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: without the careful reading, one session stops the search in all."""
    ledger = ledger_over(store, namespace=namespace)
    for session in ("a", "b"):
        await ledger.add_user_message(session, f"an apple of {session}")
    await append(store, Stream.of(namespace, "b"), IN_SESSIONS["no shape of its type"])
    monkeypatch.setattr(Finder, "_read_of", Finder._read_whole)
    with pytest.raises(LogCorrupted):
        await found(ledger_over(store, namespace=namespace))


@pytest.mark.parametrize("limit", [1, 8])
async def test_pages_of_records_that_fail_end_with_an_error_and_never_in_a_circle(
    store: Store, namespace: str, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    ledger = ledger_over(store, namespace=namespace)
    for number in range(20):
        await ledger.add_user_message("s", f"hello {number}")
        await ledger.long_term.create([{"id": f"r{number}", "text": f"apples {number}", "user_id": "u"}])
    advance = RecordIndexes.advance

    async def limited(self: RecordIndexes, places: Any, *, limit: int, begin_as: bytes | None = None) -> Any:
        (place,) = places.values()
        if limit > most or place.after <= 30 < place.after + limit:
            raise DatabaseUnavailable("the database does not answer (57014); try again")
        return await advance(self, places, limit=limit, begin_as=begin_as)

    most = limit
    monkeypatch.setattr(RecordIndexes, "advance", limited)
    async with asyncio.timeout(DEADLINE_S):
        with pytest.raises(DatabaseUnavailable):
            await ledger_over(store, namespace=namespace).rebuild_projections("records")
    monkeypatch.undo()
    (done,) = await ledger_over(store, namespace=namespace).rebuild_projections("records")
    assert done.resumed_at in range(1, 31), "what could be folded is stored"
