"""A forged row of long-term memory becomes no event. Source: trust K-1, A-18."""

from collections.abc import AsyncIterator

import psycopg
import pytest

from ledger.events import RecordEdited
from ledger.events.codec import decode
from ledger.events.ids import namespace_id
from ledger.long_term_memory import LongTermMemory, records_stream
from ledger.long_term_memory.record_writer import RecordWriter
from ledger.memory import MemoryLedger
from ledger.ports import Store
from tests.support.databases import Server

pytestmark = pytest.mark.postgres


@pytest.fixture
async def memory(
    server: Server, shared_database: str, postgres_store: Store, namespace: str
) -> AsyncIterator[LongTermMemory]:
    """Two records, one of them with a row that somebody with access to the database changed."""
    async with MemoryLedger.open(namespace=namespace, store=postgres_store) as ledger:
        memory = ledger.long_term
        await memory.create([{"id": "r", "text": "Mia lives in Oslo"}, {"id": "q", "text": "Mia likes tea"}])
        await memory.get("r")  # which builds the rows
        with server.superuser(shared_database) as mighty:
            forge(mighty, namespace)
        assert (await memory.get("r")).as_json()["text"] == "Mia lives in Rome", "reads show the row"
        yield memory


def forge(mighty: psycopg.Connection[tuple[object, ...]], namespace: str) -> None:
    changed = mighty.execute(
        "UPDATE ledger.records SET record = convert_to(replace(convert_from(record, 'UTF8'), 'Oslo', 'Rome'), 'UTF8')"
        " WHERE namespace_id = %s AND record_id = 'r'",
        (namespace_id(namespace),),
    )
    assert changed.rowcount == 1


async def edited_texts(store: Store, namespace: str) -> list[str]:
    """Return the texts that edits of records stored."""
    events = [decode(stored).payload for stored in await store.events.read_stream(records_stream(namespace, None))]
    return [event.fields.text for event in events if isinstance(event, RecordEdited)]


async def test_a_patch_keeps_what_the_events_say(memory: LongTermMemory, postgres_store: Store, namespace: str) -> None:
    await memory.patch("r", {"topics": ["home"]})
    assert await edited_texts(postgres_store, namespace) == ["Mia lives in Oslo"]
    assert (await memory.get("r")).as_json()["text"] == "Mia lives in Oslo"


async def test_a_move_takes_along_what_the_events_say(memory: LongTermMemory) -> None:
    assert (await memory.patch("r", {"user_id": "mia"})).text == "Mia lives in Oslo"


async def test_without_the_proof_the_forgery_is_stored(
    memory: LongTermMemory, postgres_store: Store, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control."""

    async def believed(self: object, stream: object, found: object) -> object:
        return found

    monkeypatch.setattr(RecordWriter, "proved", believed)
    await memory.patch("r", {"topics": ["home"]})
    assert await edited_texts(postgres_store, namespace) == ["Mia lives in Rome"]
