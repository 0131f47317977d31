"""Forgetting by policy, and merging equal records. Source: http W-28, C22."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from ledger.errors import InvalidInput
from ledger.long_term_memory import ForgetPolicy, LongTermMemory, records_stream
from ledger.long_term_memory.forget_policy import forgotten
from ledger.ports.record_store import StoredRecord
from projections.records.records import Record
from tests.long_term_memory.conftest import START, SetClock
from tests.long_term_memory.test_filters import MemoryFields, to_microseconds


def a_stored_record(
    name: str, *, age: float, inactive: float, type: str = "semantic", pinned: bool = False
) -> StoredRecord:
    """Return a record so many days old, and so many unread."""
    stream = records_stream("namespace", "mia")
    at = to_microseconds(START - timedelta(days=age))
    fields = MemoryFields(text=name, memory_type=type, pinned=pinned)
    return StoredRecord(
        namespace_id=stream.namespace_id,
        stream_id=stream.stream_id,
        user_id="mia",
        record=Record(record_id=name, fields=fields, version=1, persisted_us=at, updated_us=at),
        last_accessed=START - timedelta(days=inactive),
    )


RECORDS = [
    a_stored_record("ancient", age=400, inactive=1),
    a_stored_record("old-unread", age=40, inactive=20),
    a_stored_record("old-read", age=40, inactive=1),
    a_stored_record("pinned", age=400, inactive=400, pinned=True),
    a_stored_record("episode", age=40, inactive=20, type="episodic"),
    a_stored_record("young-unread", age=5, inactive=5),
    a_stored_record("new", age=0, inactive=0),
]


@pytest.mark.parametrize(
    ("policy", "removed"),
    [
        ({}, []),
        ({"max_age_days": 30.0}, ["ancient", "old-unread", "old-read", "episode"]),
        ({"max_inactive_days": 4.0}, ["old-unread", "episode", "young-unread"]),
        ({"max_age_days": 30.0, "max_inactive_days": 10.0}, ["ancient", "old-unread", "episode"]),
        ({"max_age_days": 30.0, "max_inactive_days": 10.0, "hard_age_multiplier": 20.0}, ["old-unread", "episode"]),
        ({"max_age_days": 30.0, "memory_type_allowlist": frozenset({"episodic"})}, ["episode"]),
        ({"budget": 2}, ["ancient", "old-unread", "old-read", "episode"]),
        ({"budget": 0}, ["ancient", "old-unread", "old-read", "episode", "young-unread", "new"]),
        ({"max_age_days": 30.0, "budget": 1}, ["ancient", "old-unread", "old-read", "episode", "young-unread"]),
        ({"max_age_days": 400.0}, []),
    ],
    ids=repr,
)
def test_a_policy_takes_what_is_old_or_unread_and_what_is_over_its_budget(
    policy: dict[str, Any], removed: list[str]
) -> None:
    """http W-28."""
    going = forgotten(RECORDS, ForgetPolicy(**policy), now=START)
    assert [record.record.record_id for record in going] == removed


def test_pinned_ids_stay_under_every_policy() -> None:
    going = forgotten(RECORDS, ForgetPolicy(budget=0), now=START, pinned={"new", "ancient"})
    assert {record.record.record_id for record in going} == {"old-unread", "old-read", "episode", "young-unread"}


async def test_a_dry_run_counts_and_a_real_one_deletes(
    over: Callable[..., LongTermMemory], clock: SetClock, namespace: str
) -> None:
    """http W-28, C22."""
    memory = over("", "-b", clock=clock)
    for number, days in enumerate((100, 50, 1)):
        at = (START - timedelta(days=days)).isoformat()
        for user in ("mia", "ben"):
            record = {"id": f"{user}-{number}", "text": f"t{number}", "user_id": user, "created_at": at}
            await memory.create([{**record, "session_id": "s"}])
    policy = {"max_age_days": 30}
    dry = await memory.forget(policy, user_id="mia")
    assert dry.as_json() == {"scanned": 3, "deleted": 2, "deleted_ids": ["mia-0", "mia-1"], "dry_run": True}
    assert (await memory.search({})).total == 6
    real = await memory.forget(policy, user_id="mia", dry_run=False)
    assert (real.deleted, sorted(real.deleted_ids), real.dry_run) == (2, ["mia-0", "mia-1"], False)
    assert (await memory.search({})).total == 4
    assert (await memory.forget(policy, user_id="mia", dry_run=False)).deleted == 0
    first = await memory.forget(policy, limit=1)
    assert (first.scanned, first.deleted_ids) == (1, ["ben-0"]), "the oldest first"
    assert (await memory.forget(policy, session_id="other")).scanned == 0
    assert (await memory.forget(policy, namespace=f"{namespace}-b")).scanned == 0
    assert (await memory.forget(policy, namespace=namespace, pinned=["ben-0"])).deleted_ids == ["ben-1"]
    assert {item.status for item in await memory.history("mia-0")} == {"live", "forgotten"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"policy": None},
        {"policy": {"max_age_days": -1}},
        {"policy": {"budget": 1.5}},
        {"policy": {"memory_type_allowlist": ["dream"]}},
        {"policy": {}, "limit": 0},
        {"policy": {}, "pinned": [""]},
        {"policy": {}, "user_id": ""},
    ],
    ids=repr,
)
async def test_a_wrong_policy_is_refused(memory: LongTermMemory, wrong: dict[str, Any]) -> None:
    """An empty user is none, lest everybody's records go."""
    policy, scope = wrong["policy"], {name: value for name, value in wrong.items() if name != "policy"}
    with pytest.raises(InvalidInput):
        await memory.forget(policy, **scope)


async def test_compacting_merges_equal_records_pinned_then_oldest_stays(
    memory: LongTermMemory, over: Callable[..., LongTermMemory]
) -> None:
    """http W-28; messages are exempt (http W-50), other users are others."""
    texts = [
        {"id": "young", "text": "tea", "created_at": "2026-03-01T00:00:00Z"},
        {"id": "old", "text": "tea", "created_at": "2026-01-01T00:00:00Z"},
        {"id": "pinned", "text": "dog", "pinned": True, "created_at": "2026-03-01T00:00:00Z"},
        {"id": "older", "text": "dog", "created_at": "2026-01-01T00:00:00Z"},
        {"id": "mias", "text": "tea", "user_id": "mia"},
        {"id": "m1", "text": "hi", "memory_type": "message", "extraction_strategy": "message"},
        {"id": "m2", "text": "hi", "memory_type": "message", "extraction_strategy": "message"},
    ]
    await memory.create(texts, deduplicate=False)
    assert await memory.compact(user_id="mia") == 1
    assert await memory.compact() == 5
    assert sorted(memory.record.record_id for memory in (await memory.search({})).memories) == [
        "m1",
        "m2",
        "mias",
        "old",
        "pinned",
    ]
    assert [item.type for item in await memory.history("old")] == ["record.created", "record.merged"]
    assert [(item.status, item.merged_into) for item in await memory.history("young")] == [
        ("live", None),
        ("merged", "old"),
    ]
    assert await memory.compact() == 5
    assert len(await memory.history("old")) == 2, "nothing to merge, no event"
