"""Changes of records that wait for each other are carried out together, as if one came after the other."""

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import pytest

from ledger.errors import InvalidInput
from ledger.events import RecordEvent
from ledger.events.ids import Stream
from ledger.long_term_memory import LongTermMemory, record_decisions, record_writer
from ledger.long_term_memory.change_queue import DecideRecords
from ledger.long_term_memory.record_decisions import KnownRecords
from ledger.long_term_memory.record_drafts import RecordDraft, fields_of, record_draft
from ledger.long_term_memory.record_writer import RecordWriter, records_stream
from ledger.ports import AppendRequest, Store
from ledger.ports.record_store import RecordLookup
from ledger.stores.in_memory import InMemoryStore
from projections.records.records import identity

#: Of two texts, so that many records are equal.
TEXTS = ("Mia lives in Oslo", "Mia has a dog")


def a_record(number: int, text: str | None = None, **fields: object) -> dict[str, object]:
    return {"id": f"r{number}", "text": text or f"text {number}", **fields}


def counted(monkeypatch: pytest.MonkeyPatch, store: Store) -> list[AppendRequest]:
    """Return the list to which each append to *store* is added."""
    requests: list[AppendRequest] = []
    append = store.events.append

    async def counting(request: AppendRequest) -> Any:
        requests.append(request)
        return await append(request)

    monkeypatch.setattr(store.events, "append", counting)
    return requests


async def test_24_creations_at_once_are_two_appends(
    store: Store, memory: LongTermMemory, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first starts at once; the others wait for it together. Each keeps its own actor."""
    requests = counted(monkeypatch, store)
    agents = [memory.over([namespace], actor=f"agent{number}") for number in range(24)]
    await asyncio.gather(*(agent.create([a_record(number)]) for number, agent in enumerate(agents)))
    assert len(requests) <= 3
    found = (await memory.search({"limit": 50})).memories
    assert {item.record.record_id for item in found} == {f"r{number}" for number in range(24)}
    actors = {event.actor for request in requests for write in request.writes for event in write.events}
    assert actors == {f"agent{number}" for number in range(24)}


async def test_a_change_that_cannot_be_decided_on_leaves_the_others(store: Store, namespace: str) -> None:
    memory = LongTermMemory(store, namespaces=[namespace], default_namespace=namespace)
    writer: RecordWriter = memory._writer
    stream = records_stream(namespace, "")

    def refuse(stream: Stream, known: KnownRecords) -> Sequence[Any]:
        raise InvalidInput("no_fields", "nothing to change")

    lookup = RecordLookup(record_ids=("r1",))
    answers = await asyncio.gather(
        memory.create([a_record(0)]),
        memory.create([a_record(1)]),
        writer.write([stream], lookup, refuse),
        memory.create([a_record(2)]),
        return_exceptions=True,
    )
    assert [type(answer) for answer in answers] == [type(None), type(None), InvalidInput, type(None)]
    assert (await memory.search({})).total == 3


async def test_a_caller_that_is_cancelled_takes_nobody_with_it(store: Store, namespace: str) -> None:
    memory = LongTermMemory(store, namespaces=[namespace], default_namespace=namespace)
    tasks = [asyncio.create_task(memory.create([a_record(number)])) for number in range(6)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    tasks[3].cancel()
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    assert [isinstance(answer, asyncio.CancelledError) for answer in answers] == [
        number in {0, 3} for number in range(6)
    ]
    found = {item.record.record_id for item in (await memory.search({})).memories}
    assert {"r1", "r2", "r4", "r5"} <= found


async def test_a_batch_that_cannot_be_stored_tells_every_caller(store: Store, namespace: str) -> None:
    memory = LongTermMemory(store, namespaces=[namespace], default_namespace=namespace)

    async def broken(request: AppendRequest) -> Any:
        raise ConnectionError("gone")

    store_append, store.events.append = store.events.append, broken  # type: ignore[method-assign]
    try:
        created = (memory.create([a_record(number)]) for number in range(4))
        answers = await asyncio.gather(*created, return_exceptions=True)
    finally:
        store.events.append = store_append  # type: ignore[method-assign]
    assert all(isinstance(answer, ConnectionError) for answer in answers)
    await memory.create([a_record(9)])
    assert (await memory.search({})).total == 1, "the next one is carried out"


def random_changes(seed: int) -> list[tuple[RecordLookup, DecideRecords]]:
    """Return creations, deletions and merges of six records, as the memory passes them to its writer."""
    choose = random.Random(seed)
    changes: list[tuple[RecordLookup, DecideRecords]] = []
    for write in range(20):
        name, text, kind = f"r{choose.randrange(6)}", choose.choice(TEXTS), choose.choice(["create", "delete", "merge"])
        draft = record_draft({"id": name, "text": text}, field="memories.0")

        def decide(
            stream: Stream, known: KnownRecords, kind: str = kind, draft: RecordDraft = draft, name: str = str(write)
        ) -> Sequence[RecordEvent]:
            if kind == "delete":
                return record_decisions.delete(known, [draft.record_id], reason="deleted", write_id=name)
            if kind == "merge":
                return record_decisions.merge(known, write_id=name)
            return record_decisions.create(known, [draft], stream=stream, write_id=name, deduplicate=True).events

        home = records_stream("n", "")
        ids = tuple(f"r{number}" for number in range(6)) if kind == "merge" else (name,)
        identities = (identity(fields_of(draft, None, home)),) if kind == "create" else ()
        changes.append((RecordLookup(record_ids=ids, identities=identities), decide))
    return changes


async def written(seed: int, *, together: bool) -> list[Any]:
    """Carry out random changes, together or one after the other, and return their events."""
    memory = LongTermMemory(InMemoryStore(), namespaces=["n"], default_namespace="n")
    stream = records_stream("n", "")
    writes = [memory._writer.write([stream], lookup, decide) for lookup, decide in random_changes(seed)]
    answers = await asyncio.gather(*writes) if together else [await write for write in writes]
    return [event for answer in answers for decided in answer for event in decided.events]


async def test_a_batch_writes_what_its_changes_write_one_after_the_other(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control forgets within a batch what the changes before did."""
    expected = [await written(seed + number, together=False) for number in range(30)]
    assert [await written(seed + number, together=True) for number in range(30)] == expected
    monkeypatch.setattr(record_writer, "fold", lambda events, known=None: dict(known or {}))
    monkeypatch.setattr(RecordWriter, "proved", lambda self, stream, found: asyncio.sleep(0, found))
    assert [await written(seed + number, together=True) for number in range(30)] != expected
