"""A retry with the same key finds its first attempt after the server, the client, or both began anew."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ledger.errors import IdempotencyMismatch
from ledger.memory import MemoryLedger
from ledger.results import Context
from ledger.stores.postgres import PostgresStore
from tests.support.killable_server import KillableServer

ENTRIES = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
#: Writes that take a key.
WRITES: dict[str, Callable[[MemoryLedger], Awaitable[Any]]] = {
    "a message": lambda ledger: ledger.add_user_message("s", "hello", idempotency_key="key"),
    "entries": lambda ledger: ledger.add_entries("s", ENTRIES, idempotency_key="key"),
    "messages": lambda ledger: ledger.add_messages("s", ENTRIES, idempotency_key="key"),
    "a recorded context": lambda ledger: ledger.get_context("s", record=True, idempotency_key="key"),
}


async def once(
    killable: KillableServer, database: str, namespace: str, work: Callable[[MemoryLedger], Awaitable[Any]]
) -> Any:
    """Return what *work* returns with a store, and so a client, of its own."""
    store = await PostgresStore.open(killable.target(database))
    try:
        async with MemoryLedger.open(namespace=namespace, store=store) as ledger:
            return await work(ledger)
    finally:
        await store.close()


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("restart", ["client", "server", "server killed"])
async def test_a_retry_after_a_restart_is_written_once(
    killable: KillableServer, database: str, namespace: str, name: str, restart: str
) -> None:
    await once(killable, database, namespace, lambda ledger: ledger.add_user_message("s", "before"))
    first = await once(killable, database, namespace, WRITES[name])
    if restart == "server":
        await asyncio.to_thread(killable.restart, "fast")
    elif restart == "server killed":
        killable.kill()
        await asyncio.to_thread(killable.start)
    versions = []
    for _ in range(2):
        again = await once(killable, database, namespace, WRITES[name])
        assert _ids(again) == _ids(first)
        versions.append((await once(killable, database, namespace, lambda ledger: ledger.get_state("s"))).version)
    assert versions == [_last(first)] * 2


async def test_one_client_retries_across_a_restart_of_the_server(
    killable: KillableServer, database: str, namespace: str
) -> None:
    async def work(ledger: MemoryLedger) -> None:
        first = await ledger.add_user_message("s", "hello", idempotency_key="key")
        await asyncio.to_thread(killable.restart, "immediate")
        again = await ledger.add_user_message("s", "hello", idempotency_key="key")
        assert (again.entry_id, again.version) == (first.entry_id, first.version)
        with pytest.raises(IdempotencyMismatch):
            await ledger.add_user_message("s", "another text", idempotency_key="key")

    await once(killable, database, namespace, work)


async def test_another_key_is_another_write(killable: KillableServer, database: str, namespace: str) -> None:
    """Negative control: without the key's memory the same text is stored again."""

    async def twice(ledger: MemoryLedger) -> None:
        for key in ("one", "two"):
            await ledger.add_user_message("s", "x", idempotency_key=key)

    await once(killable, database, namespace, twice)
    stored = await once(killable, database, namespace, lambda ledger: ledger.get_active_entries("s"))
    assert [entry.content for entry in stored] == ["x", "x"]


def _ids(answer: Any) -> Any:
    if isinstance(answer, Context):
        assert answer.recorded is not None
        return answer.recorded.event_id, answer.text
    return [entry.entry_id for entry in _entries(answer)]


def _last(answer: Any) -> int:
    if isinstance(answer, Context):
        assert answer.recorded is not None
        return answer.recorded.version
    return int(_entries(answer)[-1].version)


def _entries(answer: Any) -> Any:
    return getattr(answer, "entries", None) or [answer]
