"""A thread that somebody deletes is never read as a corrupted one. Source: adapters LG-9."""

from typing import Any
from unittest.mock import AsyncMock

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6

from ledger.adapters.langgraph import LedgerSaver, checkpoint_reads
from ledger.adapters.langgraph.known_blobs import KnownBlobs
from ledger.adapters.langgraph.memory_cache import MemoryCache
from ledger.errors import LogCorrupted
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.support.ledgers import ledger_over

CONFIG: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


def _with(**values: Any) -> tuple[Any, Any]:
    """Return a checkpoint that has these values, and their versions."""
    versions: Any = dict.fromkeys(values, "1")
    return {**empty_checkpoint(), "channel_values": values, "channel_versions": versions}, versions


@pytest.mark.parametrize("does", ["get", "get again", "list", "put"])
async def test_a_thread_that_is_deleted_while_it_is_used_is_read_as_it_was_or_as_empty__LG_9(
    monkeypatch: pytest.MonkeyPatch, does: str
) -> None:
    ledger = ledger_over(InMemoryStore())
    first, second = LedgerSaver(ledger), LedgerSaver(ledger)
    checkpoint, versions = _with(note="x" * 1_000)
    config = await first.aput(CONFIG, checkpoint, {}, versions)
    before = await first.aget_tuple(CONFIG)
    if does == "get again":
        await second.aget_tuple(CONFIG)
        second._blobs = KnownBlobs(MemoryCache())

    _deleted_before_it_fetches(monkeypatch, ledger)
    if does.startswith("get"):
        assert await second.aget_tuple(CONFIG) == (before if does == "get" else None)
        assert await second.aget_tuple(CONFIG) is None
    elif does == "list":
        assert [found async for found in second.alist(CONFIG)] == []
    else:
        await second.aput(config, {**checkpoint, "id": str(uuid6(clock_seq=-2))}, {}, {})
        found = await LedgerSaver(ledger).aget_tuple(CONFIG)
        assert found is not None
        assert found.checkpoint["channel_values"] == checkpoint["channel_values"]


async def test_a_thread_that_lacks_a_value_is_corrupted_for_readers_and_writers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Negative control."""
    ledger = ledger_over(InMemoryStore())
    checkpoint, versions = _with(note="x" * 1_000)
    config = await LedgerSaver(ledger).aput(CONFIG, checkpoint, {}, versions)
    monkeypatch.setattr(checkpoint_reads, "read_blobs", AsyncMock(return_value={}))
    saver = LedgerSaver(ledger)
    with pytest.raises(LogCorrupted):
        await saver.aget_tuple(CONFIG)
    with pytest.raises(LogCorrupted):
        await saver.aput(config, {**checkpoint, "id": str(uuid6(clock_seq=-2))}, {}, {})
    with pytest.raises(LogCorrupted):
        await saver.aget_delta_channel_history(config=await _next(ledger, config), channels=["note"])


def _deleted_before_it_fetches(monkeypatch: pytest.MonkeyPatch, ledger: MemoryLedger) -> None:
    fetch = checkpoint_reads.Reads.fetch

    async def fetched(*args: Any, **options: Any) -> Any:
        monkeypatch.undo()
        await LedgerSaver(ledger).adelete_thread("t")
        return await fetch(*args, **options)

    monkeypatch.setattr(checkpoint_reads.Reads, "fetch", fetched)


async def _next(ledger: MemoryLedger, config: Any, **metadata: Any) -> Any:
    """Store a checkpoint after *config* that another process knows nothing of, and return its config."""
    return await LedgerSaver(ledger).aput(config, {**empty_checkpoint(), "id": str(uuid6(clock_seq=-2))}, metadata, {})  # type: ignore[typeddict-item]  # any metadata


async def test_the_history_of_a_channel_is_empty_if_its_thread_is_deleted_meanwhile__LG_9(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ledger = ledger_over(InMemoryStore())
    checkpoint, versions = _with(note="x" * 1_000)
    config = await _next(ledger, await LedgerSaver(ledger).aput(CONFIG, checkpoint, {}, versions))
    asked = {"config": config, "channels": ["note"]}
    assert (await LedgerSaver(ledger).aget_delta_channel_history(**asked))["note"]["seed"] == "x" * 1_000, "control"
    _deleted_before_it_fetches(monkeypatch, ledger)
    assert await LedgerSaver(ledger).aget_delta_channel_history(**asked) == {"note": {"writes": []}}


async def test_runs_of_a_thread_that_is_deleted_meanwhile_are_gone__LG_9(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = ledger_over(InMemoryStore())
    checkpoint, versions = _with(messages=[HumanMessage("x" * 1_000, id="1")])
    config = await LedgerSaver(ledger).aput(CONFIG, checkpoint, {}, versions)
    await _next(ledger, config, run_id="r")
    _deleted_before_it_fetches(monkeypatch, ledger)
    await LedgerSaver(ledger).adelete_for_runs(["r"])
    assert await LedgerSaver(ledger).aget_tuple(CONFIG) is None
