"""Readers that need the same catch-up share it; one process folds, and nobody waits without an answer (style §4)."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from uuid import UUID

import pytest

from ledger.application.namespace_reads import live_sessions
from ledger.application.services import Services
from ledger.errors import IndexBehind
from ledger.events.ids import namespace_id
from ledger.indexes.stored_projections import builds
from ledger.indexes.stored_projections.catch_ups import CatchUps
from ledger.indexes.stored_projections.session_indexes import SessionIndexes
from ledger.indexes.stored_projections.session_list import SessionIndex
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.ports.projection_store import Place
from tests.support.counting_store import CountingStore
from tests.support.ledgers import ledger_over

SESSIONS = 20
PAGE = 8
PAGES = 2 * SESSIONS // PAGE


@pytest.fixture(autouse=True)
def _short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builds, "PAGE", PAGE)
    monkeypatch.setattr(builds, "_POLL_S", 0.01)


async def talk(store: Store, namespace: str) -> None:
    writer = ledger_over(store, namespace=namespace)
    for number in range(SESSIONS):
        await writer.add_user_message(f"s{number}", "hello")


@pytest.fixture
def _side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a page take so long that all who may fold it have begun."""
    advance = SessionIndex.advance

    async def slow(self: SessionIndex, build: int, *, after: int, limit: int) -> int | None:
        await asyncio.sleep(0.05)
        return await advance(self, build, after=after, limit=limit)

    monkeypatch.setattr(SessionIndex, "advance", slow)


def pages_folded(stores: list[CountingStore]) -> int:
    return sum(store.calls.count("read_namespace") for store in stores)


@pytest.mark.usefixtures("_side_by_side")
async def test_of_several_processes_one_folds_and_the_others_use_its_result(store: Store, namespace: str) -> None:
    await talk(store, namespace)
    stores = [CountingStore(store) for _ in range(4)]
    readers = [ledger_over(each, namespace=namespace) for each in stores]
    listed = await asyncio.gather(*(reader.list_sessions() for reader in readers))
    assert all(len(rows) == SESSIONS for rows in listed)
    assert pages_folded(stores) == PAGES, "no page is folded twice"


@pytest.mark.usefixtures("_side_by_side")
async def test_of_several_processes_one_folds_what_a_few_writes_left(store: Store, namespace: str) -> None:
    await talk(store, namespace)
    stores = [CountingStore(store) for _ in range(4)]
    readers = [ledger_over(each, namespace=namespace) for each in stores]
    await readers[0].list_sessions()
    await ledger_over(store, namespace=namespace).add_user_message("new", "hello")
    for each in stores:
        each.reset()
    listed = await asyncio.gather(*(reader.list_sessions() for reader in readers))
    assert all(len(rows) == SESSIONS + 1 for rows in listed)
    assert pages_folded(stores) == 1


@pytest.mark.usefixtures("_side_by_side")
async def test_a_claim_ends_with_the_catch_up(store: Store, namespace: str) -> None:
    """Otherwise the next long one, in another process, would wait until it runs out."""
    await talk(store, namespace)
    reader = ledger_over(store, namespace=namespace)
    await reader.list_sessions()
    _, (build,) = await reader._handle.indexes.builds.checkpoints()
    claim = store.projections.claim
    own, at = (namespace_id(namespace), build.projection, build.build), build.position
    assert await claim(*own, after=at, by="another", lease_s=60)
    assert not await claim(*own, after=at, by="a third", lease_s=60)


async def test_without_claims_all_processes_fold_all_pages(
    store: Store, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: it is right, and wastes work."""
    await talk(store, namespace)
    stores = [CountingStore(store) for _ in range(4)]

    async def always(*_: object, **__: object) -> bool:
        await asyncio.sleep(0.02)  # all arrive before one goes on
        return True

    for each in stores:
        monkeypatch.setattr(each.projections, "claim", always, raising=False)
    readers = [ledger_over(each, namespace=namespace) for each in stores]
    listed = await asyncio.gather(*(reader.list_sessions() for reader in readers))
    assert all(rows == listed[0] for rows in listed)
    assert pages_folded(stores) > PAGES + len(readers)


async def test_the_first_build_of_a_short_log_is_live_at_once(store: Store, namespace: str) -> None:
    """A longer one is made beside nothing that readers could see, and replaces nothing before it is whole."""
    counting = CountingStore(store)
    await ledger_over(store, namespace=f"{namespace}-short").add_user_message("s", "hello")
    assert len(await ledger_over(counting, namespace=f"{namespace}-short").list_sessions()) == 1
    assert "go_live" not in counting.calls
    await talk(store, namespace)
    await ledger_over(counting, namespace=namespace).list_sessions()
    assert "go_live" in counting.calls


async def test_readers_of_one_process_share_a_catch_up(store: Store, namespace: str) -> None:
    await talk(store, namespace)
    counting = CountingStore(store)
    reader = ledger_over(counting, namespace=namespace)
    listed = await asyncio.gather(*(reader.list_sessions() for _ in range(10)))
    assert all(len(rows) == SESSIONS for rows in listed)
    assert counting.calls.count("read_namespace") == PAGES


async def test_a_reader_sees_what_was_written_before_it_asked(store: Store, namespace: str) -> None:
    """Also if it joins a catch-up that began before."""
    await talk(store, namespace)
    reader, writer = ledger_over(store, namespace=namespace), ledger_over(store, namespace=namespace)

    async def write_then_list(number: int) -> bool:
        await asyncio.sleep(number / 500)
        await writer.add_user_message(f"new-{number}", "hello")
        return f"new-{number}" in {row.session_id for row in await reader.list_sessions()}

    assert all(await asyncio.gather(*(write_then_list(number) for number in range(20))))


async def test_the_work_of_a_process_that_was_killed_goes_on(
    store: Store, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builds, "_CLAIM_S", 0.3)
    await talk(store, namespace)
    killed, reader = ledger_over(store, namespace=namespace), ledger_over(store, namespace=namespace)
    advance = SessionIndex.advance
    hangs = asyncio.Event()

    async def hang(self: SessionIndex, build: int, *, after: int, limit: int) -> int | None:
        if self is killed._handle.indexes.sessions and after:
            hangs.set()
            await asyncio.sleep(60)
        return await advance(self, build, after=after, limit=limit)

    monkeypatch.setattr(SessionIndex, "advance", hang)
    dead = asyncio.create_task(killed.list_sessions())
    await hangs.wait()
    assert len(await reader.list_sessions()) == SESSIONS
    dead.cancel()
    await killed._handle.services.catch_ups.close()
    with suppress(asyncio.CancelledError):
        await dead


async def test_a_reader_who_may_not_wait_is_told_and_the_catch_up_goes_on(
    store: Store, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await talk(store, namespace)
    reader = ledger_over(store, namespace=namespace, index_patience_s=0.02)
    advance = SessionIndex.advance

    async def slow(self: SessionIndex, build: int, *, after: int, limit: int) -> int | None:
        await asyncio.sleep(0.03)
        return await advance(self, build, after=after, limit=limit)

    monkeypatch.setattr(SessionIndex, "advance", slow)
    refused = 0
    async with asyncio.timeout(30):
        while True:
            try:
                listed = await reader.list_sessions()
                break
            except IndexBehind:
                refused += 1
                await asyncio.sleep(0.02)
    assert refused
    assert len(listed) == SESSIONS


async def test_a_reader_of_many_namespaces_may_not_wait_for_all_of_them(
    store: Store, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"{namespace}-{number}" for number in range(12)]
    for name in names:
        await ledger_over(store, namespace=name).add_user_message("s", "hello")
    services = Services(store, index_patience_s=0.05)
    advance_all = SessionIndexes.advance_all

    async def slow(self: SessionIndexes, places: Mapping[UUID, Place]) -> Mapping[UUID, int | None]:
        await asyncio.sleep(0.1)
        return await advance_all(self, places)

    monkeypatch.setattr(SessionIndexes, "advance_all", slow)
    refused = 0
    async with asyncio.timeout(30):
        while True:
            try:
                total, _ = await live_sessions(services, names, user_id=None, limit=10)
                break
            except IndexBehind:
                refused += 1
                await asyncio.sleep(0.02)
    assert refused
    assert total == len(names)
    await services.close()


async def test_progress_is_shown_and_a_long_catch_up_is_logged_once(
    store: Store, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    await talk(store, namespace)
    shown: list[tuple[int, int]] = []
    with caplog.at_level(logging.INFO, logger="ledger"):
        async with MemoryLedger.open(namespace=namespace, store=store) as reader:
            await reader.list_sessions(progress=lambda done, total: shown.append((done, total)))
            await reader.list_sessions(progress=lambda done, total: shown.append((done, total)))
    assert shown == [(done, 2 * SESSIONS) for done in range(PAGE, 2 * SESSIONS + 1, PAGE)]
    assert [record.message for record in caplog.records if "brought up to date" in record.message] == [
        "session_index is being brought up to date with 40 events; its readers wait"
    ]


async def test_closing_cancels_what_runs() -> None:
    catch_ups = CatchUps()

    async def endless(progress: object) -> None:
        await asyncio.sleep(60)

    waiting = asyncio.create_task(catch_ups.join("key", endless))
    await asyncio.sleep(0)
    await catch_ups.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_a_fault_reaches_all_who_wait_and_the_next_one_tries_again() -> None:
    catch_ups, tries = CatchUps(), []

    async def breaks(progress: object) -> None:
        tries.append(1)
        await asyncio.sleep(0.01)
        raise OSError("the line is down")

    answers = await asyncio.gather(*(catch_ups.join("key", breaks) for _ in range(3)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [OSError] * 3
    assert len(tries) == 1
    with pytest.raises(OSError, match="line is down"):
        await catch_ups.join("key", breaks)
    assert len(tries) == 2
