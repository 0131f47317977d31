"""Those who follow a log learn that the database was restored from an older dump of `pg_dump`, and go on.

Source: http W-67; trust K-2.
"""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import psycopg
import pytest
from psycopg import sql

from ledger.errors import LogRolledBack, Unavailable
from ledger.memory import MemoryLedger
from ledger.stores.embedded.server import bundled_binaries
from tests.postgres.conftest import opened
from tests.server.conftest import running
from tests.support.databases import Server
from tests.support.ledgers import ledger_over

pytestmark = [pytest.mark.full, pytest.mark.postgres, pytest.mark.processes]
PATHS = ["/v1/sessions/s/events/stream", "/v1/events/stream"]


@pytest.fixture
def database(server: Server) -> Iterator[str]:
    """A database of a server that the programs beside the embedded one can dump."""
    with server.superuser("postgres") as admin:
        version = admin.info.server_version // 10_000
    if version > 18:
        pytest.skip(f"the bundled pg_dump is of PostgreSQL 18, the server of {version}")
    with server.fresh() as name:
        yield name


def dump(server: Server, database: str, file: Path) -> None:
    command = [bundled_binaries() / "pg_dump", "--format=custom", f"--file={file}", server.database(database)]
    subprocess.run(command, check=True, capture_output=True)


def restore(server: Server, database: str, file: Path) -> None:
    """Replace *database* by what *file* has, as an operator does: its connections are cut."""
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(database)))
        admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(database)))
    command = [bundled_binaries() / "pg_restore", f"--dbname={server.database(database)}", "--exit-on-error", file]
    subprocess.run(command, check=True, capture_output=True)


async def say(server: Server, database: str, *texts: str) -> None:
    """Write as another process does."""
    async with opened(server.target(database)) as store:
        ledger = ledger_over(store)
        for text in texts:
            await ledger.add_user_message("s", text)


async def answered(ledger: MemoryLedger, **place: object) -> list[str]:
    """Read the feed; a first call may find its connection cut."""
    for _ in range(20):
        try:
            return [event.hash for event in await ledger.get_feed(**place)]  # type: ignore[arg-type]
        except LogRolledBack:
            raise
        except Unavailable:
            await asyncio.sleep(0.1)
    raise AssertionError("the database does not answer after the restore")


@pytest.mark.parametrize("after", [[], ["another", "and more", "and longer"]], ids=["shorter", "longer"])
async def test_a_subscriber_of_the_library_is_told_and_goes_on__K_2(
    after: list[str], server: Server, database: str, tmp_path: Path
) -> None:
    await say(server, database, "in the dump")
    dump(server, database, tmp_path / "older.dump")
    await say(server, database, "lost", "lost too")
    async with opened(server.target(database)) as store:
        ledger = ledger_over(store)
        seen = await answered(ledger)
        assert await answered(ledger, after=len(seen), after_hash=seen[-1]) == [], "negative control"
        restore(server, database, tmp_path / "older.dump")
        await say(server, database, *after)
        with pytest.raises(LogRolledBack, match="went back"):
            await answered(ledger, after=len(seen), after_hash=seen[-1])
        now = await answered(ledger)
        assert now[:2] == seen[:2], "what the dump had"
        assert len(now) == 2 + len(after)
        await ledger.add_user_message("s", "and on")
        new = await answered(ledger, after=len(now), after_hash=now[-1])
        assert len(new) == 1
        assert (await ledger.verify()).ok


class Follower:
    """Follows a stream as a browser does: it reconnects with the id of the last event until it is refused."""

    def __init__(self, client: httpx.AsyncClient, path: str, after: dict[str, int]) -> None:
        self.ids: list[str] = []
        self.refused: httpx.Response | None = None
        self._client, self._path, self._after = client, path, after
        self.task = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        while self.refused is None:
            headers = {"Last-Event-ID": self.ids[-1]} if self.ids else {}
            try:
                async with self._client.stream("GET", self._path, params=self._after, headers=headers) as answer:
                    if answer.status_code == 422:
                        await answer.aread()
                        self.refused = answer
                    elif answer.status_code == 200:
                        async for line in answer.aiter_lines():
                            self.ids += [line.removeprefix("id: ")] if line.startswith("id: ") else []
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.05)

    async def has(self, count: int) -> list[str]:
        for _ in range(500):
            if len(self.ids) >= count:
                return self.ids
            await asyncio.sleep(0.02)
        raise AssertionError(f"{count} events did not arrive, only {self.ids}")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("after", [[], ["another", "and more", "and longer"]], ids=["shorter", "longer"])
async def test_an_open_stream_ends_and_its_reader_is_told_and_goes_on__K_2(
    path: str, after: list[str], server: Server, database: str, tmp_path: Path
) -> None:
    await say(server, database, "in the dump")
    dump(server, database, tmp_path / "older.dump")
    await say(server, database, "lost", "lost too")
    with running(server.target(database)) as service:
        async with httpx.AsyncClient(base_url=service.url, timeout=20) as client:
            follower = Follower(client, path, {})
            seen = list(await follower.has(4))
            restore(server, database, tmp_path / "older.dump")
            await say(server, database, *after)
            async with asyncio.timeout(10):
                await follower.task
            assert follower.ids == seen, "nothing of the other history was sent after what was lost"
            assert follower.refused is not None
            assert follower.refused.json()["code"] == "last_event_id_ahead"
            assert "read from the start" in follower.refused.json()["detail"]
            again = Follower(client, path, {})
            assert (await again.has(2 + len(after)))[:2] == seen[:2]
            await say(server, database, "and on")
            await again.has(3 + len(after))
            again.task.cancel()


@pytest.mark.parametrize("path", PATHS)
async def test_a_stream_after_a_number_ends_too_once_the_log_went_back__K_2(
    path: str, server: Server, database: str, tmp_path: Path
) -> None:
    """It received no event whose id could tell it; the service knows what the log had there."""
    await say(server, database, "in the dump")
    dump(server, database, tmp_path / "older.dump")
    await say(server, database, "lost", "lost too")
    name = "after" if path == PATHS[1] else "after_version"
    with running(server.target(database)) as service:
        async with httpx.AsyncClient(base_url=service.url, timeout=20) as client:

            async def lines() -> AsyncIterator[str]:
                async with client.stream("GET", path, params={name: 4}) as answer:
                    async for line in answer.aiter_lines():
                        yield line

            stream = lines()
            assert await anext(stream) == ": connected"
            restore(server, database, tmp_path / "older.dump")
            await say(server, database, "another", "and more", "and longer")
            async with asyncio.timeout(10):
                assert not [line async for line in stream if line.startswith("id: ")]
