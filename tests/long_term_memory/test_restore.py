"""Every change can be undone exactly, and every revision read. Source: http W-71, B9."""

import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ledger.errors import InvalidInput, RecordNotFound, VersionNotFound
from ledger.events.ids import Stream
from ledger.long_term_memory import LongTermMemory, LongTermRecord, Promotion, record_decisions
from ledger.ports import AppendRequest, Store, StreamWrite
from tests.long_term_memory.test_filters import MemoryFields
from tests.support.ledgers import ledger_over
from tests.support.store_requests import some_events

SERVER_OWNED = {"updated_at", "last_accessed", "access_count"}


def content_of(record: LongTermRecord) -> dict[str, Any]:
    """Return what undoing brings back: all that a record says, and since when."""
    return {name: value for name, value in record.as_json().items() if name not in SERVER_OWNED}


async def remembered(memory: LongTermMemory) -> dict[str, dict[str, Any]]:
    return {
        memory.record.record_id: content_of(memory.record) for memory in (await memory.search({"limit": 100})).memories
    }


async def revision_of(memory: LongTermMemory, record_id: str) -> int:
    return (await memory.history(record_id))[-1].revision


CHANGES: dict[str, Callable[[LongTermMemory], Awaitable[Any]]] = {
    "patch": lambda memory: memory.patch("a", {"text": "other", "topics": ["x"], "pinned": True}),
    "edit by creating": lambda memory: memory.create([{"id": "a", "text": "other", "metadata": {"k": [1, None]}}]),
    "delete": lambda memory: memory.delete(["a"]),
    "forget": lambda memory: memory.forget({"budget": 0}, dry_run=False, pinned=["b", "c"]),
    "merge into another": lambda memory: memory.compact(),
    "move": lambda memory: memory.patch("a", {"user_id": "ben", "text": "moved"}),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_is_undone_exactly(memory: LongTermMemory, change: str) -> None:
    """http B9: PATCH, merge, forget, delete."""
    own = {"id": "a", "text": "tea", "topics": ["T"], "event_date": "2026-01-01T00:00:00Z", "metadata": {"k": 1.5}}
    await memory.create([{**own, "user_id": "mia"}])
    older = {"text": "tea", "user_id": "mia", "created_at": "2026-01-01T00:00:00Z"}
    await memory.create([{"id": "b", **older}, {"id": "c", "text": "dog", "user_id": "mia"}], deduplicate=False)
    before, revision = await remembered(memory), await revision_of(memory, "a")
    await CHANGES[change](memory)
    changed = await remembered(memory)
    assert changed != before
    restored = await memory.restore("a", revision, user_id="mia" if change == "move" else None)
    assert content_of(restored) == before["a"]
    assert await remembered(memory) == before
    again = len(await memory.history("a"))
    await memory.restore("a", revision, user_id="mia")
    assert len(await memory.history("a")) == again, "nothing to undo, no event"


async def test_what_was_moved_away_is_restored_by_the_places_where_it_was_live(memory: LongTermMemory) -> None:
    await memory.create([{"id": "a", "text": "tea"}, {"id": "x", "text": "another", "user_id": "ben"}])
    await memory.patch("a", {"user_id": "ben", "text": "coffee"})
    assert (await memory.restore("a", 2)).user_id == "ben", "of the two revisions 2, one says that it went"
    with pytest.raises(VersionNotFound, match="no such revision there"):
        await memory.restore("a", 1, user_id="ben")
    with pytest.raises(VersionNotFound, match="moved then"):
        await memory.restore("a", 2, user_id="")
    assert (await memory.restore("a", 1, user_id="")).text == "tea"
    assert [(item.user_id, item.status) for item in await memory.history("a")][-2:] == [
        (None, "live"),
        ("ben", "moved"),
    ]


async def test_a_record_of_an_earlier_life_is_restored_with_its_age(memory: LongTermMemory) -> None:
    await memory.create([{"id": "a", "text": "tea"}])
    before = await memory.get("a")
    await memory.delete(["a"])
    await memory.create([{"id": "a", "text": "quite another"}])
    restored = await memory.restore("a", 1)
    assert (restored.text, restored.created_at) == (before.text, before.created_at)


async def test_sources_of_a_merge_return_when_it_is_undone(memory: LongTermMemory) -> None:
    """http W-71: but not one that was restored and deleted since."""
    dates = (f"2026-0{month}-01T00:00:00Z" for month in (1, 2, 3))
    records = [{"id": f"r{n}", "text": "tea", "topics": [f"t{n}"], "created_at": at} for n, at in enumerate(dates)]
    await memory.create(records, deduplicate=False)
    before, revision = await remembered(memory), await revision_of(memory, "r0")
    assert await memory.compact() == 1
    await memory.restore("r0", revision)
    assert await remembered(memory) == before
    await memory.compact()
    source = (await memory.history("r1"))[0].revision
    await memory.restore("r1", source)
    await memory.delete(["r1"])
    await memory.restore("r0", revision)
    assert sorted(await remembered(memory)) == ["r0", "r2"]


async def test_an_unknown_revision_is_refused(memory: LongTermMemory) -> None:
    await memory.create([{"id": "a", "text": "tea", "user_id": "mia"}, {"id": "b", "text": "dog"}])
    await memory.delete(["a"])
    with pytest.raises(VersionNotFound, match="no such revision"):
        await memory.restore("a", 99)
    with pytest.raises(VersionNotFound, match="deleted"):
        await memory.restore("a", 2)
    with pytest.raises(InvalidInput):
        await memory.restore("a", 0)
    with pytest.raises(RecordNotFound):
        await memory.restore("nobody", 1)
    with pytest.raises(RecordNotFound):
        await memory.history("nobody")
    await memory.create([{"id": "a", "text": "tea", "user_id": "ben"}])
    with pytest.raises(InvalidInput, match="give user_id or namespace"):
        await memory.restore("a", 1)
    assert (await memory.restore("a", 1, user_id="mia")).user_id == "mia"


async def test_random_changes_are_undone_to_any_revision(store: Store, namespace: str, seed: int) -> None:
    """What a record was at each revision comes back, whatever came after; a rebuild gives the same.

    Source: trust P-8, http W-71.
    """
    chance = random.Random(seed)
    memory = LongTermMemory(store, namespaces=[namespace], default_namespace=namespace)
    at: dict[tuple[str, int], dict[str, Any]] = {}
    for number in range(12):
        name = chance.choice(("a", "b", "c"))
        text = chance.choice(("tea", "dog", "cat"))
        await memory.create([{"id": name, "text": text, "topics": [str(number)]}], deduplicate=False)
        if chance.random() < 0.3:
            await memory.delete([chance.choice(("a", "b", "c"))])
        if chance.random() < 0.3:
            await memory.compact()
        for item, record in (await remembered(memory)).items():
            at[item, (await memory.history(item))[-1].revision] = record
    for (name, revision), record in chance.sample(sorted(at.items()), 6):
        restored = content_of(await memory.restore(name, revision))
        assert restored == {**record, "persisted_at": restored["persisted_at"]}, "stored in another life, perhaps"
    before = await remembered(memory)
    await ledger_over(store, namespace=namespace).rebuild_projections("records")
    assert await remembered(memory) == before


async def test_a_restore_that_leaves_sources_merged_is_noticed(
    memory: LongTermMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control."""
    right = record_decisions.restore
    monkeypatch.setattr(record_decisions, "restore", lambda *known, **ids: right(*known, **ids)[:0])
    await memory.create([{"id": name, "text": "tea"} for name in ("a", "b")], deduplicate=False)
    before = await remembered(memory)
    await memory.compact()
    await memory.restore("a", 1)
    assert await remembered(memory) != before


async def test_memories_of_a_session_are_promoted_with_the_session_s_own_events(
    store: Store, memory: LongTermMemory, namespace: str
) -> None:
    """http W-48, W-49: one append, or nothing; a writer that came between is seen, and one asks again."""
    session = Stream.of(namespace, "s", "mia")
    promotions = [
        Promotion(record_id="m1", fields=MemoryFields(text="tea", session_id="s", memory_type="semantic")),
        Promotion(record_id="m2", fields=MemoryFields(text="dog", session_id="s", user_id="ben")),
    ]
    writes = await memory.writes_for_promotion(session, promotions, write_id="w")
    own = StreamWrite(stream=session, events=tuple(some_events(1)), expected_version=0)
    await store.events.append(AppendRequest(writes=(*writes, own)))
    answers = await memory.get("m1")
    assert (answers.user_id, answers.session_id, answers.text) == ("mia", "s", "tea")
    assert (await memory.get("m2")).user_id == "ben"
    assert await memory.writes_for_promotion(session, promotions, write_id="w") == [], "known and equal: nothing to do"
    edited = [Promotion(record_id="m1", fields=MemoryFields(text="coffee", session_id="s"))]
    (late,) = await memory.writes_for_promotion(session, edited, write_id="w")
    await memory.patch("m1", {"pinned": True})
    with pytest.raises(Exception, match="read and decide again"):
        await store.events.append(AppendRequest(writes=(late,)))
