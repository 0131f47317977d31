"""Events of older schemas are read everywhere as the newest, and stay as they were stored (style §2).

A step that fails is an event that cannot be read: named, and no fault of Python.
"""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4  # noqa: TID251 - what an older release would have made

import pytest

from ledger.errors import LogCorrupted
from ledger.events import EVENT_TYPES, EntryAdded, NewEvent, upcasts
from ledger.events.codec import NO_CONTENT, SALT_BYTES, SALTED, decode
from ledger.events.content_split import divided
from ledger.events.ids import Stream
from ledger.memory import MemoryLedger
from ledger.ports import AppendRequest, Store, StreamWrite
from tests.support.ledgers import ledger_over

GOLDEN = Path(__file__).parents[1] / "golden"


def older(type_: str, schema: int, item: str | None = None, **changes: Any) -> NewEvent:
    payload = {**json.loads((GOLDEN / f"{type_}.v{schema}.json").read_text()), **changes}
    structure, content = divided(type_, payload)
    salted = None if content is None else bytes(SALT_BYTES) + content
    codec = NO_CONTENT if content is None else SALTED
    return NewEvent(uuid4(), type_, schema, codec, 1_767_225_600_000_000, "older", structure, salted, item)


async def written(store: Store, namespace: str) -> MemoryLedger:
    """Return a ledger with session "s": all events of the first schema, then one of this release."""
    config = {"window": {"type": "full"}, "compactions": [], "tokenizer": "o200k_base"}
    said = {"kind": "message", "role": "user", "tokens": 3, "tool_name": None, "tool_call_id": None}
    said |= {"tool_status": None, "arguments": None, "data": None, "metadata": None}
    events = [
        older("session.opened", 1, session_id="s", namespace=namespace, user_id="", config=config),
        older("entry.added", 1, "e1", entry_id="e1", content="an old apple", **said),
        older("entry.added", 1, "e2", entry_id="e2", content="an old pear", **said),
    ]
    stream = Stream.of(namespace, "s")
    await store.events.append(AppendRequest(writes=(StreamWrite(stream=stream, events=tuple(events)),)))
    ledger = ledger_over(store, namespace=namespace)
    await ledger.add_user_message("s", "a new apple")
    return ledger


async def test_old_schemas_are_read_by_all(store: Store, namespace: str) -> None:
    ledger = await written(store, namespace)
    texts = ["an old apple", "an old pear", "a new apple"]
    assert [entry.content for entry in (await ledger.get_context("s")).entries] == texts
    assert sorted(hit.text for hit in await ledger.search("apple")) == ["a new apple", "an old apple"]
    await ledger.rebuild_projections()
    (row,) = await ledger.list_sessions()
    assert (row.status, row.entries) == ("live", 3)
    assert (await ledger.what_if("s", {"profile": "none"})).window.tokens > 0
    fork = await ledger.fork("s", "copy")
    assert [entry.content for entry in (await ledger.get_context("copy")).entries] == texts, fork
    assert (await ledger.verify()).verdict == "OK-CHAINED"
    stored = await store.events.read_stream(Stream.of(namespace, "s"))
    newest = EVENT_TYPES["entry.added"].schema_version
    assert [event.schema_version for event in stored if event.type == "entry.added"] == [1, 1, newest], "not rewritten"


@pytest.mark.parametrize("fault", [KeyError("content"), TypeError("no text"), ZeroDivisionError()], ids=repr)
async def test_a_step_that_fails_is_an_event_that_cannot_be_read(
    store: Store, namespace: str, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    ledger = await written(store, namespace)
    await ledger.add_user_message("other", "an apple elsewhere")

    def step(payload: dict[str, Any]) -> dict[str, Any]:
        raise fault

    monkeypatch.setattr("ledger.events.codec.reads_as", lambda type_, schema, to: type_ != EntryAdded.type)
    monkeypatch.setitem(upcasts.upcast.__kwdefaults__, "steps", {**upcasts.STEPS, (EntryAdded.type, 1): step})
    stored = await store.events.read_stream(Stream.of(namespace, "s"))
    with pytest.raises(LogCorrupted, match=r"event 2 \(entry.added\)"):
        decode(stored[1])
    anew = ledger_over(store, namespace=namespace)
    with pytest.raises(LogCorrupted, match=r"event 2 \(entry.added\)"):
        await anew.get_context("s")
    assert {row.session_id: row.status for row in await anew.list_sessions()} == {"s": "unreadable", "other": "live"}
    assert "other" in {hit.session_id for hit in await anew.search("apple")}
