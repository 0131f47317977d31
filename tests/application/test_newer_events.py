"""Events of a newer release: listed, exported, copied and verified, and never folded. Source: style §2, trust I-72."""

import json
from uuid import uuid4  # noqa: TID251 - what a newer release would have made

import pytest

from ledger.errors import LedgerError, UnknownEvent
from ledger.events import NewEvent, OpaqueEvent
from ledger.events.codec import NO_CONTENT, SALTED
from ledger.events.ids import Stream
from ledger.memory import MemoryLedger
from ledger.ports import AppendRequest, Store, StreamWrite
from ledger.stores.in_memory import InMemoryStore
from tests.application.conftest import contents, talk

NEWER = {"write_id": "w", "pinned": ["e-1"], "why": "a newer release"}


async def append_newer(store: Store, namespace: str, session: str, type_: str, schema_version: int) -> None:
    """Append to *session* what a newer release would."""
    event = NewEvent(
        uuid4(),
        type_,
        schema_version,
        SALTED,
        1_767_225_600_000_000,
        "agent:newer",
        b'{"write_id": "w", "pinned": ["e-1"]}',
        bytes(16) + b'{"why": "a newer release"}',
        "e-1" if type_.startswith("entry.") else None,
    )
    await store.events.append(
        AppendRequest(writes=(StreamWrite(stream=Stream.of(namespace, session), events=(event,)),))
    )


KINDS = {
    "a type we do not know": ("session.pinned", 1),
    "a schema we do not know": ("session.cleared", 2),
}


@pytest.fixture(params=KINDS)
async def newer(request: pytest.FixtureRequest, anywhere: MemoryLedger, store: Store, namespace: str) -> MemoryLedger:
    """A ledger whose session "s" has, at version 4, an event of a newer release."""
    await talk(anywhere, 2)
    await append_newer(store, namespace, "s", *KINDS[request.param])
    await talk(anywhere, 1, session="other")
    return anywhere


async def test_it_is_listed_as_it_is(newer: MemoryLedger) -> None:
    last = (await newer.get_events("s"))[-1]
    assert isinstance(last.payload, OpaqueEvent)
    assert last.payload.payload == NEWER
    assert (last.version, last.actor, last.payload.write_id) == (4, "agent:newer", "w")
    assert (last.type, last.payload.schema_version) in KINDS.values()
    assert await newer.get_events("s", type=last.type) == [last]


@pytest.mark.parametrize(
    "read",
    [
        lambda ledger: ledger.get_state("s"),
        lambda ledger: ledger.get_context_for_llm("s"),
        lambda ledger: ledger.get_stats("s", version=4),
        lambda ledger: ledger.get_history("s"),
        lambda ledger: ledger.export_session("s"),
        lambda ledger: ledger.diff("s", 3, 4),
        lambda ledger: ledger.add_user_message("s", "hello", entry_id="e-9"),
        lambda ledger: ledger.clear_session("s"),
        lambda ledger: ledger.compress("s"),
    ],
    ids=["state", "context", "stats", "history", "export_session", "diff", "add", "clear", "compress"],
)
async def test_an_operation_that_needs_the_payload_names_its_writer_and_writes_nothing(
    newer: MemoryLedger, store: Store, namespace: str, read
) -> None:
    async with MemoryLedger.open(namespace=namespace, store=store) as fresh:
        with pytest.raises(UnknownEvent) as stopped:
            await read(fresh)
    assert (stopped.value.code, stopped.value.version) == ("unknown_event", 4)
    assert (stopped.value.type, stopped.value.schema_version) in KINDS.values()
    assert "written by a newer release; upgrade to read it" in str(stopped.value)
    assert len(await newer.get_events("s")) == 4


async def test_what_was_added_beside_it_is_not_reported_as_failed(
    anywhere: MemoryLedger, store: Store, namespace: str
) -> None:
    """An older process that still has the session in its cache: what is stored may not be sent again."""
    await talk(anywhere, 2)
    await append_newer(store, namespace, "s", "session.pinned", 1)
    added = await anywhere.add_user_message("s", "message 3")
    assert (added.version, len(await anywhere.get_events("s"))) == (5, 5)
    with pytest.raises(UnknownEvent):
        await anywhere.get_stats("s")
    assert (await anywhere.verify()).ok


async def test_what_was_before_it_can_still_be_read(newer: MemoryLedger) -> None:
    assert (await newer.get_stats("s", version=3)).total_entries == 2
    assert len((await newer.get_history("s", version=3)).entries) == 2


async def test_it_is_verified(newer: MemoryLedger) -> None:
    for report in (await newer.verify("s"), await newer.verify()):
        assert (report.verdict, report.findings) == ("OK-CHAINED", ())


async def test_it_is_exported_and_copied_byte_by_byte(newer: MemoryLedger) -> None:
    """trust I-72: stored opaque and hashed."""
    lines = [line async for line in newer.export_file("s")]
    async with MemoryLedger.open(namespace="copy", store=InMemoryStore()) as other:
        assert (await other.import_file(lambda: lines)).entries == 2
        copied = [json.loads(line) async for line in other.export_file("s")]
        original = [json.loads(line) for line in lines]
        for name in ("structure", "content", "content_digest", "type", "schema_version", "actor", "occurred_us"):
            assert copied[4][name] == original[4][name]
        assert (await other.verify()).ok


@pytest.mark.parametrize("alone", [False, True], ids=["among others", "as the only event"])
async def test_a_session_with_it_hides_no_other_from_the_list(
    anywhere: MemoryLedger, store: Store, namespace: str, alone: bool
) -> None:
    if not alone:
        await talk(anywhere, 2)
    await append_newer(store, namespace, "s", "session.opened", 2)
    await talk(anywhere, 1, session="other")
    async with MemoryLedger.open(namespace=namespace, store=store) as fresh:
        for _ in range(2):
            rows = {row.session_id: row for row in await fresh.list_sessions()}
            assert {name: row.status for name, row in rows.items()} == {"s": "unreadable", "other": "live"}
            assert rows["s"].version == (1 if alone else 4)
        assert await contents(fresh, "other") == ["message 1"]


async def test_an_event_of_this_release_is_folded(anywhere: MemoryLedger, store: Store, namespace: str) -> None:
    """Negative control: it is the schema that makes it newer."""
    await talk(anywhere, 1)
    known = NewEvent(uuid4(), "session.cleared", 1, NO_CONTENT, 0, "", b'{"write_id":"w"}')
    await store.events.append(AppendRequest(writes=(StreamWrite(stream=Stream.of(namespace, "s"), events=(known,)),)))
    assert await contents(anywhere) == []


async def test_what_does_not_parse_is_corrupt_and_not_newer(
    anywhere: MemoryLedger, store: Store, namespace: str
) -> None:
    await talk(anywhere, 1)
    broken = NewEvent(uuid4(), "session.cleared", 1, NO_CONTENT, 0, "", b'{"write_id":"w","ended":"no"}')
    await store.events.append(AppendRequest(writes=(StreamWrite(stream=Stream.of(namespace, "s"), events=(broken,)),)))
    with pytest.raises(LedgerError) as stopped:
        await anywhere.get_state("s")
    assert (stopped.value.code, str(stopped.value).count("memory-ledger verify")) == ("log_corrupted", 0)
    assert [row.status for row in await anywhere.list_sessions()] == ["unreadable"]
