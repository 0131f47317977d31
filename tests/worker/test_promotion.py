"""Memories and messages of sessions on their way to long-term memory. Source: http W-49, W-50, B3."""

from datetime import UTC, datetime

import pytest

from ledger.events import MemoryEdited, MemoryFields, MemoryRemoved
from ledger.history.snapshots import SESSIONS
from ledger.history.state_loading import States
from ledger.long_term_memory import LongTermMemory
from ledger.ports import Store
from ledger.worker.promotion_jobs import promote
from tests.support.worker_scene import Scene, work, worked


async def test_a_memory_becomes_a_record_and_has_its_time(scene: Scene, store: Store, namespace: str) -> None:
    await scene.say("hello")
    await scene.choose("custom", custom_prompt="Only allergies: {message}")
    version = await scene.note("m1", "Mia lives in Oslo", topics=("home",))
    assert await work(store, namespace) == 1
    (record,) = await scene.records()
    assert (record.record_id, record.text, record.user_id, record.session_id) == ("m1", "Mia lives in Oslo", "mia", "s")
    assert (record.extraction_strategy, record.extraction_strategy_config) == (
        "custom",
        {"custom_prompt": "Only allergies: {message}"},
    )
    (promoted,) = await scene.events("memory.promoted")
    assert (promoted.memory_version, promoted.record_id) == (version, "m1")
    state = await States(store, SESSIONS).current(scene.stream)
    assert state.working.memories[0].persisted_at is not None
    assert await work(store, namespace) == 0


async def test_a_memory_that_was_removed_before_is_promoted_as_it_read_last(
    scene: Scene, store: Store, namespace: str
) -> None:
    await scene.say("hello")
    version = await scene.note("m1", "Mia lives in Rome")
    await scene.append(
        MemoryEdited(write_id="w", memory_id="m1", memory_version=version, fields=MemoryFields("Mia lives in Oslo")),
        MemoryRemoved(write_id="w", memory_id="m1", memory_version=version),
    )
    assert await work(store, namespace) == 1
    assert await scene.texts() == ["Mia lives in Oslo"]
    assert len(await scene.events("memory.promoted")) == 1


async def test_a_known_record_is_edited(scene: Scene, store: Store, namespace: str) -> None:
    await scene.memory.create([{"id": "m1", "text": "Mia lives in Rome", "user_id": "mia"}])
    await scene.say("hello")
    await scene.note("m1", "Mia lives in Oslo")
    await work(store, namespace)
    assert await scene.texts() == ["Mia lives in Oslo"]
    assert [event.type for event in await scene.record_events()] == ["record.created", "record.edited"]


async def test_memories_of_a_deleted_session_are_not_promoted(scene: Scene, store: Store, namespace: str) -> None:
    await scene.say("hello")
    await scene.note("m1", "Mia lives in Oslo")
    await scene.ledger.clear_session("s", end=True, user_id="mia")
    assert await work(store, namespace) == 0
    assert await scene.records() == []


async def test_memories_of_a_cleared_session_are(scene: Scene, store: Store, namespace: str) -> None:
    await scene.say("hello")
    await scene.note("m1", "Mia lives in Oslo")
    await scene.ledger.clear_session("s", user_id="mia")
    assert await work(store, namespace) == 1
    assert await scene.texts() == ["Mia lives in Oslo"]


@pytest.mark.parametrize("end", [True, False], ids=["deleted", "cleared"])
async def test_a_deletion_just_before_the_append_leaves_nothing(
    end: bool, scene: Scene, store: Store, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """http B3: between what was decided and the append the session changes."""
    await scene.say("hello")
    await scene.note("m1", "Mia lives in Oslo")
    item = worked(store, namespace)
    write, cleared = LongTermMemory.writes_for_promotion, []

    async def meanwhile(*args: object, **options: object) -> object:
        if not cleared:
            cleared.append(await scene.ledger.clear_session("s", end=end, user_id="mia"))
        return await write(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(LongTermMemory, "writes_for_promotion", meanwhile)
    assert await promote(item, scene.stream) == ("late" if end else "done")
    assert await scene.texts() == ([] if end else ["Mia lives in Oslo"])
    assert len(await scene.events("memory.promoted")) == (0 if end else 1)
    await item.handle.services.close()


async def test_two_that_promote_the_same_memory_do_it_once(scene: Scene, store: Store, namespace: str) -> None:
    await scene.say("hello")
    await scene.note("m1", "Mia lives in Oslo")
    first, other = worked(store, namespace), worked(store, namespace)
    await other.read(scene.stream)  # what it knows is old in a moment
    assert await promote(first, scene.stream) == "done"
    assert await promote(other, scene.stream) == "done"
    assert len(await scene.events("memory.promoted")) == 1
    assert len(await scene.record_events()) == 1
    for each in (first, other):
        await each.handle.services.close()


async def test_each_message_becomes_a_record_where_that_is_asked_for(
    scene: Scene, store: Store, namespace: str
) -> None:
    await scene.ledger.add_user_message(
        "s", "same", user_id="mia", entry_id="e1", created_at=datetime(2026, 1, 1, tzinfo=UTC)
    )
    await scene.ledger.add_assistant_message("s", "same", user_id="mia", entry_id="e2")
    await scene.ledger.add_user_message("s", "same", user_id="mia", entry_id="e3")
    assert await work(store, namespace) == 0
    assert await work(store, namespace, index_all_messages_in_long_term_memory=True) == 1
    records = {record.record_id: record for record in await scene.records()}
    assert {name: item.text for name, item in records.items()} == {
        "e1": "user: same",
        "e2": "assistant: same",
        "e3": "user: same",
    }
    assert {(record.memory_type, record.extraction_strategy) for record in records.values()} == {("message", "message")}
    assert records["e1"].created_at == datetime(2026, 1, 1, tzinfo=UTC)
    (indexed,) = await scene.events("entries.indexed")
    assert indexed.covered == ((2, 4),)
    state = await States(store, SESSIONS).current(scene.stream)
    assert all(state.working.flags.persisted_at(version) is not None for version in (2, 3, 4))
    assert await work(store, namespace, index_all_messages_in_long_term_memory=True) == 0


async def test_a_message_takes_no_id_from_another_record(scene: Scene, store: Store, namespace: str) -> None:
    """Sessions choose the ids of messages each for itself; a later text of the same message is an edit (http W-50)."""
    await scene.memory.create([{"id": "1", "text": "An important fact", "user_id": "mia", "pinned": True}])
    for session, name in (("s", "1"), ("s", "2"), ("other", "2"), ("other", "3")):
        await scene.ledger.add_user_message(session, f"{name} in {session}", user_id="mia", entry_id=name)
    await work(store, namespace, index_all_messages_in_long_term_memory=True)
    texts = ["An important fact", "user: 1 in s", "user: 2 in other", "user: 2 in s", "user: 3 in other"]
    assert sorted(await scene.texts()) == texts, "a message whose id is taken gets another one"
    records = {record.record_id: record for record in await scene.records()}
    assert records["1"].pinned
    assert {"1", "2", "3"} < set(records)
    assert len(await scene.memory.history("2")) == 1
    await scene.ledger.add_user_message("other", "2 again", user_id="mia", entry_id="4")
    await work(store, namespace, index_all_messages_in_long_term_memory=True)
    assert len(await scene.records()) == 6, "a record that has the other id is found again"


async def test_without_long_term_memory_nothing_is_promoted(scene: Scene, store: Store, namespace: str) -> None:
    """http W-35."""
    await scene.say("hello")
    await scene.note("m1", "Mia lives in Oslo")
    off = work(store, namespace, long_term_memory=False, index_all_messages_in_long_term_memory=True)
    assert await off == 0
    assert await scene.records() == []
