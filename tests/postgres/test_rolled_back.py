"""A process notices that the log went back under it, as after a failover or from a backup. Source: trust K-2, A-22."""

import asyncio
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace

from ledger.errors import LogRolledBack
from ledger.events.ids import namespace_id
from ledger.memory import MemoryLedger
from ledger.ports import Store
from tests.postgres.conftest import opened
from tests.support.attacked_log import without_guards
from tests.support.command_process import COMMAND, environment
from tests.support.databases import Server
from tests.support.ledgers import ledger_over

pytestmark = pytest.mark.postgres

#: What a restored backup of an earlier moment looks like: events after a position are gone, all else fits.
_GO_BACK = """
    DELETE FROM ledger.events WHERE namespace_id = %(ns)s AND position > %(to)s;
    UPDATE ledger.streams s SET version = e.version, head_hash = e.hash FROM (
        SELECT DISTINCT ON (stream_id) * FROM ledger.events WHERE namespace_id = %(ns)s ORDER BY stream_id, version DESC
    ) e WHERE s.namespace_id = %(ns)s AND s.stream_id = e.stream_id;
    DELETE FROM ledger.streams s WHERE namespace_id = %(ns)s AND NOT EXISTS (
        SELECT FROM ledger.events e WHERE e.namespace_id = s.namespace_id AND e.stream_id = s.stream_id);
    UPDATE ledger.namespaces SET last_position = %(to)s WHERE namespace_id = %(ns)s;
"""


class Scene:
    """A process that goes on, another one, and a way back."""

    def __init__(self, store: Store, namespace: str, mighty: psycopg.Connection[Any]) -> None:
        self.running, self.other = (ledger_over(store, namespace=namespace) for _ in range(2))
        self._namespace, self._mighty = namespace, mighty

    def go_back(self, to: int) -> None:
        """Let the log end at position *to*."""
        with without_guards(self._mighty):
            values = {"ns": namespace_id(self._namespace), "to": to}
            psycopg.ClientCursor(self._mighty).execute(_GO_BACK, values)


@pytest.fixture
async def scene(server: Server, quiet_database: str, namespace: str) -> AsyncIterator[Scene]:
    """Four events, all known to the running process."""
    with server.superuser(quiet_database) as mighty:
        async with opened(server.target(quiet_database)) as store:
            scene = Scene(store, namespace, mighty)
            for text in ("one", "two", "three"):
                await scene.running.add_user_message("s", text)
            yield scene


async def texts(ledger: MemoryLedger) -> list[str]:
    return [entry.content for entry in await ledger.get_active_entries("s")]


async def test_a_reader_is_told_once_and_then_reads_the_log_as_it_is(scene: Scene) -> None:
    scene.go_back(3)
    with pytest.raises(LogRolledBack, match="went back"):
        await texts(scene.running)
    assert await texts(scene.running) == ["one", "two"]
    await scene.running.add_user_message("s", "another three")
    assert await texts(scene.running) == await texts(scene.other) == ["one", "two", "another three"]


async def test_a_reader_is_told_also_if_the_log_is_as_long_again(scene: Scene) -> None:
    scene.go_back(3)
    await scene.other.add_user_message("s", "another three")
    with pytest.raises(LogRolledBack):
        await texts(scene.running)
    assert await texts(scene.running) == ["one", "two", "another three"]


async def test_without_the_hash_it_would_not_notice(scene: Scene) -> None:
    """Negative control."""
    scene.go_back(3)
    await scene.other.add_user_message("s", "another three")
    cache = scene.running._handle.services.states._cache._cached
    for key, cached in cache.items():
        cache[key] = replace(cached, digest=None)
    assert await texts(scene.running) == ["one", "two", "three"], "which is no longer in the log"


@pytest.mark.parametrize("regrown", [0, 1, 2])
async def test_a_writer_is_stored_and_its_state_is_that_of_the_log(scene: Scene, regrown: int) -> None:
    scene.go_back(3)
    for number in range(regrown):
        await scene.other.add_user_message("s", f"regrown {number}")
    added = await scene.running.add_user_message("s", "and on")
    assert added.version == 4 + regrown
    expected = ["one", "two", *(f"regrown {number}" for number in range(regrown)), "and on"]
    assert await texts(scene.running) == await texts(scene.other) == expected


async def test_a_session_that_is_no_longer_there_is_told_too(scene: Scene) -> None:
    await scene.running.add_user_message("new", "hello")
    scene.go_back(4)
    with pytest.raises(LogRolledBack):
        await scene.running.get_active_entries("new")
    assert (await scene.running.add_user_message("new", "hello again")).version == 2


@pytest.mark.full
@pytest.mark.processes
@pytest.mark.parametrize("after", [[], ["another three", "four"]], ids=["shorter", "longer"])
async def test_a_timeline_that_is_followed_says_so(
    after: list[str], scene: Scene, server: Server, quiet_database: str, namespace: str
) -> None:
    with server.login("ledger_app") as login:
        own = environment(
            MEMORY_LEDGER_DATABASE_URL=server.url_of(login, quiet_database), MEMORY_LEDGER_NAMESPACE=namespace
        )
        process = await asyncio.create_subprocess_exec(
            COMMAND, "timeline", "s", "--follow", stdout=PIPE, stderr=PIPE, env=own
        )
        assert process.stdout is not None
        lines = [await asyncio.wait_for(process.stdout.readline(), 30) for _ in range(4)]
        assert b"three" in lines[-1]
        scene.go_back(3)
        for text in after:
            await scene.other.add_user_message("s", text)
        rest, errors = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode
    assert b"the log went back" in errors
    assert b"four" not in rest
