"""Creating, reading, changing and deleting records, on every store. Source: http W-26, W-27, W-29, C22."""

import asyncio
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import pytest

from ledger.errors import InvalidInput, RecordNotFound, Unavailable
from ledger.events import MemoryFields, RecordCreated
from ledger.events.clock import SystemClock
from ledger.events.ids import Stream
from ledger.long_term_memory import LongTermMemory, record_writer
from ledger.long_term_memory.record_writer import RecordWriter, records_stream
from ledger.memory import MemoryLedger
from ledger.ports import Store, StreamWrite, event_encoding
from ledger.ports.event_encoding import append_request
from ledger.ports.record_store import RecordLookup
from projections.records.records import Record, memory_hash
from tests.support.unchecked_events import encode_unchecked

KEYS = [
    *("id", "text", "session_id", "user_id", "namespace", "last_accessed", "created_at", "updated_at", "pinned"),
    *("access_count", "topics", "entities", "memory_hash", "discrete_memory_extracted", "memory_type", "persisted_at"),
    *("extracted_from", "event_date", "extraction_strategy", "extraction_strategy_config", "metadata"),
]


def a_record(id: str = "r", text: str = "Mia lives in Oslo", **fields: object) -> dict[str, object]:
    return {"id": id, "text": text, **fields}


async def ids(memory: LongTermMemory, **body: object) -> list[str]:
    return [memory.record.record_id for memory in (await memory.search(body)).memories]


async def test_what_was_created_is_read_at_once_with_every_key(memory: LongTermMemory) -> None:
    """http W-26, W-29: here the type defaults to semantic and extraction counts as done."""
    await memory.create([a_record(user_id="mia", topics=["Home"], event_date="2026-05-01T10:00:00", persisted_at="x")])
    answers = (await memory.get("r")).as_json()
    assert list(answers) == KEYS
    assert (answers["user_id"], answers["namespace"], answers["session_id"]) == ("mia", None, None)
    assert (answers["memory_type"], answers["discrete_memory_extracted"]) == ("semantic", "t")
    assert (answers["extraction_strategy"], answers["extraction_strategy_config"], answers["metadata"]) == (
        "discrete",
        {},
        {},
    )
    assert answers["event_date"] == "2026-05-01T10:00:00.000000Z"
    assert answers["created_at"] == answers["updated_at"] == answers["persisted_at"]
    assert answers["topics"] == ["Home"], "as it was written"


def test_the_hash_is_that_of_python_json_with_sorted_keys() -> None:
    """http W-29: as `json.dumps` writes it, letters beyond ASCII escaped."""
    fields = MemoryFields(text="Mía", session_id="s", memory_type="semantic")
    written = (
        rb'{"memory_type": "semantic", "namespace": null, "session_id": "s", '
        rb'"text": "M\u00eda", "user_id": "mia"}'
    )
    assert memory_hash(fields, user_id="mia", namespace=None) == sha256(written).hexdigest()


async def test_a_known_id_is_edited_and_what_is_absent_stays(memory: LongTermMemory) -> None:
    """http W-26, W-29: the client drops what it does not know."""
    await memory.create([a_record(user_id="mia", pinned=True, metadata={"a": 1}, topics=["home"])])
    before = await memory.get("r")
    await memory.create([a_record(text="Mia lives in Bergen", created_at="2020-01-01T00:00:00Z")])
    after = await memory.get("r")
    assert (after.text, after.user_id, after.pinned, after.metadata) == ("Mia lives in Bergen", "mia", True, {"a": 1})
    assert after.created_at == before.created_at
    assert after.memory_hash != before.memory_hash
    assert after.updated_at > before.updated_at


async def test_nothing_to_change_is_no_event(memory: LongTermMemory) -> None:
    await memory.create([a_record(user_id="mia")])
    await memory.create([a_record(user_id="mia")])
    await memory.patch("r", {"text": "Mia lives in Oslo"})
    assert [item.type for item in await memory.history("r")] == ["record.created"]


async def test_an_equal_record_is_touched_and_not_added(memory: LongTermMemory) -> None:
    """http W-26; http W-50: messages are exempt, other users and types are others."""
    same = [
        a_record("one"),
        a_record("two"),
        a_record("other-user", user_id="mia"),
        a_record("other-type", memory_type="episodic"),
        a_record("message-1", memory_type="message", extraction_strategy="message"),
        a_record("message-2", memory_type="message", extraction_strategy="message"),
    ]
    await memory.create(same)
    assert sorted(await ids(memory)) == ["message-1", "message-2", "one", "other-type", "other-user"]
    assert (await memory.search({"session_id": {"ne": "x"}})).total == 5
    await memory.create([a_record("three")])
    assert (await memory.get("one")).access_count >= 1
    await memory.create([a_record("three")], deduplicate=False)
    assert "three" in await ids(memory)


async def test_a_patch_changes_what_it_names_and_ignores_nulls(memory: LongTermMemory) -> None:
    """http W-27."""
    await memory.create([a_record(topics=["home"], session_id="s")])
    patched = await memory.patch("r", {"pinned": True, "topics": None, "entities": ["Mia"], "unknown": 1})
    assert (patched.pinned, patched.topics, patched.entities) == (True, ["home"], ["Mia"])
    assert patched == await memory.get("r")
    for changes in ({}, {"text": None}, {"id": "other"}):
        with pytest.raises(InvalidInput, match=r"^No fields provided for update$"):
            await memory.patch("r", changes)
    with pytest.raises(InvalidInput, match="comma"):
        await memory.patch("r", {"topics": ["a,b"]})
    with pytest.raises(RecordNotFound):
        await memory.patch("nobody", {"text": "x"})


async def test_a_record_moves_to_another_user_and_another_namespace(
    over: Callable[..., LongTermMemory], namespace: str
) -> None:
    """http W-27: created there, then deleted here, under the same id."""
    memory = over("", "-b")
    await memory.create([a_record(user_id="mia", topics=["home"])])
    before = await memory.get("r")
    moved = await memory.patch("r", {"user_id": "ben"})
    assert (moved.user_id, moved.topics, moved.created_at) == ("ben", ["home"], before.created_at)
    moved = await memory.patch("r", {"namespace": f"{namespace}-b", "text": "gone"})
    assert (moved.namespace, moved.user_id, moved.text) == (f"{namespace}-b", "ben", "gone")
    assert (await memory.search({})).total == 1
    assert [(item.user_id, item.status) for item in await memory.history("r")] == [
        ("mia", "live"),
        ("ben", "live"),
        ("mia", "moved"),
        ("ben", "live"),
        ("ben", "moved"),
    ]


async def test_a_record_may_move_to_a_namespace_that_was_not_there(
    memory: LongTermMemory, over: Callable[..., LongTermMemory], namespace: str
) -> None:
    await memory.create([a_record()])
    moved = await memory.patch("r", {"namespace": f"{namespace}-new"})
    assert moved.namespace == f"{namespace}-new"
    assert (await over("-new").get("r")).record_id == "r"


async def test_deleting_counts_what_was_there(memory: LongTermMemory) -> None:
    await memory.create([a_record("a"), a_record("b", "other", user_id="mia"), a_record("c", "third")])
    assert await memory.delete(["a", "b", "nobody", "a"]) == 2
    assert await memory.delete(["a", "b"]) == 0
    assert await ids(memory) == ["c"]
    with pytest.raises(RecordNotFound):
        await memory.get("a")
    await memory.create([a_record("a", "again")])
    assert (await memory.get("a")).text == "again"


@pytest.mark.parametrize(
    ("record", "code"),
    [
        ({"text": "x"}, "missing_field"),
        ({"id": "", "text": "x"}, "bad_id"),
        ({"id": "é" * 256, "text": "x"}, "bad_id"),
        ({"id": "r"}, "missing_field"),
        ({"id": "r", "text": "  "}, "empty_content"),
        ({"id": "r", "text": "x", "topics": ["a,b"]}, "comma_not_allowed"),
        ({"id": "r", "text": "x", "entities": ["a,b"]}, "comma_not_allowed"),
        ({"id": "r", "text": "x", "extracted_from": ["a,b"]}, "comma_not_allowed"),
        ({"id": "r", "text": "x", "memory_type": "dream"}, "bad_memory_type"),
        ({"id": "r", "text": "x", "user_id": "/records"}, "bad_name"),
        ({"id": "r", "text": "x", "namespace": ""}, "bad_name"),
        ({"id": "r", "text": "x", "event_date": "soon"}, "bad_time"),
        ({"id": "r", "text": "a\x00b"}, "nul_not_allowed"),
        ({"id": "r", "text": "\ud800"}, "invalid_unicode"),
        ({"id": "r", "text": "x", "metadata": {"a": "x" * 20_000}}, "metadata_too_large"),
        ("r", "wrong_type"),
    ],
)
async def test_a_wrong_record_is_refused_whole_and_by_its_place(
    memory: LongTermMemory, record: object, code: str
) -> None:
    """http W-26."""
    with pytest.raises(InvalidInput) as refused:
        await memory.create([a_record("good"), record])  # type: ignore[list-item]
    assert refused.value.code == code
    assert refused.value.field.startswith("memories.1")
    assert await ids(memory) == []


async def test_creators_of_one_id_leave_one_record(store: Store, namespace: str) -> None:
    """Who comes second decides anew: one creates, the others edit. Three of them know nothing of each other."""
    memories = [LongTermMemory(store, namespaces=[namespace], default_namespace=namespace) for _ in range(3)]
    created = (memories[number % 3].create([a_record(text=f"text {number}")]) for number in range(9))
    await asyncio.gather(*created)
    history = await memories[0].history("r")
    assert [item.type for item in history] == ["record.created", *["record.edited"] * 8]
    assert {item.record.text for item in history} == {f"text {number}" for number in range(9)}
    assert (await memories[0].search({})).total == 1


async def test_a_writer_with_an_old_version_is_refused_and_without_a_version_overwrites(
    store: Store, memory: LongTermMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: what keeps one record one is the version each write was decided on."""
    await memory.create([a_record()])

    async def empty(
        self: RecordWriter, streams: Sequence[Stream], wanted: RecordLookup
    ) -> dict[Stream, dict[str, Record]]:
        return {stream: {} for stream in streams}

    async def at_first(stream: Stream) -> tuple[int, bytes]:
        return 0, b""

    monkeypatch.setattr(RecordWriter, "_known", empty)
    monkeypatch.setattr(store.events, "head", at_first)
    with pytest.raises(Unavailable):
        await memory.create([a_record()])
    assert [item.type for item in await memory.history("r")] == ["record.created"]

    def unguarded(**options: Any) -> StreamWrite:
        return StreamWrite(**{**options, "expected_version": None})

    monkeypatch.setattr(record_writer, "StreamWrite", unguarded)
    await memory.create([a_record()])
    assert [item.type for item in await memory.history("r")] == ["record.created", "record.created"]


async def test_another_namespace_is_neither_found_nor_changed(over: Callable[..., LongTermMemory]) -> None:
    """Trust P-10, http W-75."""
    ours, theirs, both = over("-a"), over("-b"), over("-a", "-b")
    await ours.create([a_record("a")])
    await theirs.create([a_record("b")])
    assert await ids(ours) == ["a"]
    assert sorted(await ids(both)) == ["a", "b"]
    for question in ({"text": "Mia Oslo"}, {"text": "Mia", "search_mode": "keyword"}):
        assert sorted(await ids(both, **question)) == ["a", "b"]
        assert await ids(theirs, **question) == ["b"]
    assert await ours.delete(["b"]) == 0
    with pytest.raises(RecordNotFound):
        await ours.get("b")


async def test_streams_of_records_are_no_sessions_but_verified_and_exported(store: Store, namespace: str) -> None:
    """Trust R-1: they are listed nowhere, and part of every proof."""
    async with MemoryLedger.open(namespace=namespace, store=store) as ledger:
        await ledger.add_user_message("s", "hello")
        await ledger.long_term.create([a_record(), a_record("r2", "second"), a_record("r3", "second")])
        await ledger.long_term.patch("r", {"pinned": True})
        await ledger.long_term.delete(["r"])
        assert [session.session_id for session in await ledger.list_sessions()] == ["s"]
        assert await ledger.search("Oslo") == []
        report = await ledger.verify()
        assert (report.verdict, report.findings) == ("OK-CHAINED", ())
        lines = [line async for line in ledger.export_file()]
        assert sum(b'"record.' in line for line in lines) == 4
        await ledger.rebuild_projections()
        assert (await ledger.long_term.search({})).total == 1
        assert [session.session_id for session in await ledger.list_sessions()] == ["s"]
    copy = f"{namespace}-copy"
    async with MemoryLedger.open(namespace=copy, store=store) as target:
        done = await target.import_file(lambda: iter(lines))
        again = await target.import_file(lambda: iter(lines))
        assert (done.sessions, done.entries, again.sessions, again.entries) == (1, 1, 1, 0), "twice is once"
        assert [memory.record.text for memory in (await target.long_term.search({})).memories] == ["second"]
        assert [session.session_id for session in await target.list_sessions()] == ["s"]


@pytest.mark.parametrize(
    "fields",
    [
        MemoryFields("x", session_id="s" * 600),
        MemoryFields("x", extraction_strategy="e" * 600),
        MemoryFields("a\x00b"),
        MemoryFields("x", topics=("a\x00b",)),
    ],
    ids=["session", "strategy", "text", "topic"],
)
async def test_a_record_that_cannot_be_stored_blocks_no_other(
    memory: LongTermMemory, store: Store, namespace: str, fields: MemoryFields, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No door lets it in, but who writes to the database could: it stays in the log, and is not found."""
    event = RecordCreated(write_id="w", record_id="bad", fields=fields)
    stream = records_stream(namespace, "")
    with monkeypatch.context() as unchecked:
        unchecked.setattr(event_encoding, "encode", encode_unchecked)
        request = append_request(stream, [event], expected_version=0, clock=SystemClock(), actor="")
    await store.events.append(request)
    await memory.create([a_record("good")])
    assert await ids(memory, text="Oslo") == ["good"]
    with pytest.raises(RecordNotFound):
        await memory.get("bad")


async def test_weights_are_bounded(memory: LongTermMemory) -> None:
    for name in ("recency_semantic_weight", "recency_recency_weight"):
        with pytest.raises(InvalidInput, match=name):
            await memory.search({"text": "x", name: 1e308})
