"""A stored projection is rebuilt beside the build that readers use, and replaces it at once.

Source: style §4, trust P-8.
"""

import asyncio
import random
import signal
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from ledger.errors import Conflict, InvalidInput
from ledger.events.clock import SystemClock
from ledger.events.ids import Stream, namespace_id
from ledger.indexes.stored_projections import builds
from ledger.indexes.stored_projections.build_choice import Build, next_build, replaced_builds
from ledger.indexes.stored_projections.session_list import SessionIndex
from ledger.indexes.stored_projections.session_rows import row_of
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.ports.projection_store import Checkpoint
from ledger.ports.session_index import IndexedSession
from ledger.stores.postgres import PostgresStore
from tests.support.databases import Server
from tests.support.ledgers import ledger_over

ROOT = Path(__file__).parents[2]
#: The version of the projection that this release has, and the one a later release will have.
NOW, LATER = SessionIndex.version, SessionIndex.version + 1


async def talk(ledger: MemoryLedger, sessions: int, chance: random.Random, entries: int = 30) -> None:
    for number in range(entries):
        await ledger.add_user_message(f"session-{chance.randrange(sessions)}", f"message {number}")


async def from_the_log(ledger: MemoryLedger, listed: list[IndexedSession]) -> list[IndexedSession]:
    """Return the rows that the sessions' histories give, read by a ledger that has cached nothing."""
    fresh = ledger_over(ledger._handle.services.store, namespace=ledger._handle.namespace)
    return [
        row_of(
            Stream.of(ledger._handle.namespace, row.session_id, row.user_id),
            await fresh.get_state(row.session_id, user_id=row.user_id),
        )
        for row in listed
    ]


async def statuses(ledger: MemoryLedger) -> list[tuple[int, int, str]]:
    return [(event.version, event.build, event.status) for event in await own(ledger)]


async def own(ledger: MemoryLedger) -> list:
    return [build_status for build_status in await ledger.projection_builds() if build_status.name == "session_index"]


@pytest.fixture
def chance(seed: int) -> random.Random:
    return random.Random(seed)


async def test_a_rebuild_equals_the_log_and_replaces_the_old_rows(
    store: Store, namespace: str, chance: random.Random
) -> None:
    ledger = ledger_over(store, namespace=namespace)
    assert await ledger.rebuild_projections("session_index") != []
    assert await ledger.projection_builds() == [], "nothing was ever appended"
    await talk(ledger, 5, chance)
    before = await ledger.list_sessions()
    assert await statuses(ledger) == [(NOW, 1, "live")]
    progress: list[tuple[str, int, int]] = []
    (done,) = await ledger.rebuild_projections("session_index", progress=lambda *answers: progress.append(answers))
    last = (await own(ledger))[0].last_position
    assert (done.build, done.position, done.resumed_at, done.replaced) == (2, last, 0, (1,))
    assert progress[-1] == ("session_index", last, last)
    assert await statuses(ledger) == [(NOW, 2, "live")]
    assert await ledger.list_sessions() == before == await from_the_log(ledger, before)


async def test_rows_that_were_spoiled_are_right_again_after_a_rebuild(store: Store, namespace: str) -> None:
    """The control: without a rebuild a reader believes the row."""
    ledger = ledger_over(store, namespace=namespace)
    await ledger.add_user_message("s", "hello")
    (row,) = await ledger.list_sessions()
    spoiled = replace(row, entries=99)
    own = namespace_id(namespace)
    assert await store.session_index.save(own, Build(NOW, 1).key, [spoiled], after=2, position=2) == 2
    assert await ledger.list_sessions() == [spoiled]
    await ledger.rebuild_projections()
    assert await ledger.list_sessions() == [row]


async def test_readers_see_the_old_build_until_the_new_one_is_live(
    store: Store, namespace: str, chance: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers look, and writers write, between the pages of a rebuild; nobody ever sees a part of it."""
    ledger = ledger_over(store, namespace=namespace)
    reader = ledger_over(store, namespace=namespace)
    await talk(ledger, 4, chance)
    (marked,) = await mark(reader, namespace)
    looked = []

    async def read(self: SessionIndex, build: int, *, after: int, limit: int) -> int | None:
        reached = await SessionIndex.advance(self, build, after=after, limit=limit)
        looked.append({row.session_id: row for row in await reader.list_sessions()})
        await reader.add_user_message(f"new-{len(looked)}", "written meanwhile")
        return reached

    monkeypatch.setattr(builds, "PAGE", 3)
    services, own_builds = ledger._handle.services, ledger._handle.indexes.builds
    projection = SessionIndex(store, services.states, own_builds, namespace=namespace, reads=services.reads)
    monkeypatch.setattr(SessionIndex, "name", "session_index")
    monkeypatch.setattr(projection, "advance", read.__get__(projection))
    await own_builds.rebuild(projection, page=3)
    assert len(looked) > 5
    for number, listed in enumerate(looked):
        assert listed[marked].entries == 99, "the old build is read until the end"
        assert len(listed) == 4 + number, "and is as new as the log"
    after = await reader.list_sessions()
    assert {row.session_id: row for row in after}[marked].entries != 99
    assert len(after) == 4 + len(looked), "what was written during the rebuild is there too"
    assert after == await from_the_log(reader, after)


async def mark(ledger: MemoryLedger, namespace: str) -> list[str]:
    """Spoil the row of one session, so that the old build can be told from the new one."""
    row = (await ledger.list_sessions())[0]
    store, key = ledger._handle.services.store, Build(NOW, 1).key
    (position,) = (known.position for known in (await ledger._handle.indexes.builds.checkpoints())[1])
    spoiled = [replace(row, entries=99)]
    assert await store.session_index.save(namespace_id(namespace), key, spoiled, after=position, position=position)
    return [row.session_id]


async def test_a_rebuild_that_reads_where_it_writes_is_noticed(
    store: Store, namespace: str, chance: random.Random
) -> None:
    """The control: rebuilding in place shows readers half of it."""
    ledger = ledger_over(store, namespace=namespace)
    await talk(ledger, 4, chance)
    whole = len(await ledger.list_sessions())
    namespace_uuid, build = namespace_id(namespace), Build(NOW, 1).key
    await store.projections.go_live(namespace_uuid, "session_index", build, replaces=[build])
    await store.session_index.prune(namespace_uuid)
    await store.projections.begin_build(
        namespace_uuid, "session_index", build, ledger._handle.indexes.sessions.code_digest
    )
    await ledger._handle.indexes.sessions.advance(build, after=0, limit=1)
    assert len(await store.session_index.page(namespace_uuid, build)) < whole


@pytest.mark.full
@pytest.mark.postgres
async def test_a_rebuild_continues_where_it_was_killed(
    server: Server, shared_database: str, postgres_store: PostgresStore, namespace: str, chance: random.Random
) -> None:
    ledger = ledger_over(postgres_store, namespace=namespace)
    await talk(ledger, 6, chance)
    before = await ledger.list_sessions()
    arguments = ["-m", "tests.support.rebuilding_process", server.database(shared_database), namespace]
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            while int(await process.stdout.readline()) < 10:
                assert await ledger.list_sessions() == before, "readers are not disturbed"
    finally:
        process.send_signal(signal.SIGKILL)
        assert await process.wait() == -signal.SIGKILL
    assert await statuses(ledger) == [(NOW, 1, "live"), (NOW, 2, "building")]
    assert await ledger.list_sessions() == before
    left = (await own(ledger))[1]
    assert 10 <= left.position < left.last_position
    await ledger.add_user_message("session-0", "after the kill")
    newer = await ledger.list_sessions()
    (done,) = await ledger.rebuild_projections("session_index")
    assert (done.build, done.resumed_at) == (2, left.position)
    assert await statuses(ledger) == [(NOW, 2, "live")]
    assert await ledger.list_sessions() == newer == await from_the_log(ledger, newer)


async def test_a_build_that_other_code_started_is_not_continued(
    store: Store, namespace: str, chance: random.Random
) -> None:
    ledger = ledger_over(store, namespace=namespace)
    await talk(ledger, 3, chance)
    namespace_uuid = namespace_id(namespace)
    before = await ledger.list_sessions()
    await store.projections.begin_build(namespace_uuid, "session_index", Build(NOW, 2).key, bytes(32))
    await store.session_index.save(
        namespace_uuid, Build(NOW, 2).key, [replace(before[0], entries=99)], after=0, position=7
    )
    known = [(event.build, event.same_code, event.current) for event in await own(ledger)]
    assert known == [(1, True, True), (2, False, False)]
    (done,) = await ledger.rebuild_projections("session_index")
    assert (done.build, done.resumed_at, done.replaced) == (3, 0, (1, 2))
    assert await ledger.list_sessions() == before


async def test_a_raised_version_is_built_beside_the_old_one_which_its_readers_keep(
    store: Store, namespace: str, chance: random.Random
) -> None:
    old, new = ledger_over(store, namespace=namespace), ledger_over(store, namespace=namespace)
    new._handle.indexes.sessions.version = LATER  # type: ignore[misc]  # as a later release has it
    await talk(old, 3, chance)
    assert await old.list_sessions() == await new.list_sessions()
    assert await statuses(old) == [(NOW, 1, "live"), (LATER, 1, "live")]
    await talk(old, 3, chance)
    assert await old.list_sessions() == await new.list_sessions()
    await new.rebuild_projections()
    assert await statuses(old) == [(NOW, 1, "live"), (LATER, 2, "live")]
    assert [event.current for event in await own(new)] == [False, True]


async def test_readers_that_come_first_all_make_the_same_build(
    store: Store, namespace: str, chance: random.Random
) -> None:
    await talk(ledger_over(store, namespace=namespace), 4, chance)
    readers = [ledger_over(store, namespace=namespace) for _ in range(8)]
    listed = await asyncio.gather(*(reader.list_sessions() for reader in readers))
    assert all(item == listed[0] for item in listed)
    assert await statuses(readers[0]) == [(NOW, 1, "live")]


async def test_rebuilds_readers_and_writers_at_once_agree_in_the_end(
    store: Store, namespace: str, chance: random.Random
) -> None:
    ledgers = [ledger_over(store, namespace=namespace) for _ in range(4)]
    await talk(ledgers[0], 4, chance)

    async def rebuild(ledger: MemoryLedger) -> None:
        for _ in range(4):
            with suppress(Conflict):  # the other one was ahead
                await ledger.rebuild_projections()

    async def read(ledger: MemoryLedger) -> None:
        for _ in range(20):
            assert len(await ledger.list_sessions()) == 4

    await asyncio.gather(rebuild(ledgers[0]), rebuild(ledgers[1]), read(ledgers[2]), talk(ledgers[3], 4, chance))
    listed = await ledgers[2].list_sessions()
    assert listed == await from_the_log(ledgers[2], listed)
    assert len(await own(ledgers[0])) == 1


async def test_an_unknown_projection_is_refused_and_the_known_ones_are_named(ledger: MemoryLedger) -> None:
    with pytest.raises(InvalidInput, match="session_index"):
        await ledger.rebuild_projections("sessions")


def a_checkpoint(build: Build, *, days: int = 0, digest: bytes = b"", status: str = "live") -> Checkpoint:
    updated_at = SystemClock().now() - timedelta(days=days)
    return Checkpoint(
        projection="session_index",
        build=build.key,
        position=1,
        status=status,  # type: ignore[arg-type]
        code_digest=digest,
        updated_at=updated_at,
    )


def test_build_numbers_start_again_and_an_old_version_is_removed_after_a_week(ledger_index: SessionIndex) -> None:
    taken = [a_checkpoint(Build(NOW, 999)), a_checkpoint(Build(NOW, 1)), a_checkpoint(Build(LATER, 5))]
    assert next_build(ledger_index, taken) == Build(NOW, 2)
    assert next_build(ledger_index, []) == Build(NOW, 1)
    assert Build.of(Build(3, 17).key) == Build(3, 17)
    ledger_index.version = LATER  # type: ignore[misc]
    old = [a_checkpoint(Build(NOW, 1), days=8), a_checkpoint(Build(NOW, 2), days=6), a_checkpoint(Build(LATER, 1))]
    assert replaced_builds(ledger_index, old, Build(LATER, 2).key, now=SystemClock().now()) == [
        Build(LATER, 1).key,
        Build(NOW, 1).key,
    ]


@pytest.fixture
def ledger_index(ledger: MemoryLedger) -> SessionIndex:
    return ledger._handle.indexes.sessions
