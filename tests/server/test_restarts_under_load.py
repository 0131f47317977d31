"""The service rides out restarts of its database while clients of both APIs work. Source: trust P-13, F-4."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count

import httpx
import pytest

from ledger.stores.postgres.connections import DriverConnections
from tests.faults.test_restarts import SERVES_WITHIN_S, use_and_keep
from tests.server.conftest import Running, running
from tests.support.http_client import JSON
from tests.support.killable_server import KillableServer, killable_server
from tests.support.patience import within

pytestmark = [pytest.mark.full, pytest.mark.postgres, pytest.mark.xdist_group("killed servers")]

LONGEST_S = 10.0


@pytest.fixture(scope="module")
def place() -> Iterator[tuple[KillableServer, str]]:
    with killable_server() as item:
        yield item


class Client:
    """Asks until it is cancelled; notes what it was told, and of answers accepts only 2xx and 503."""

    def __init__(self, http: httpx.AsyncClient, session: str, name: str) -> None:
        self.http = http
        self.session = session
        self.name = name
        self.served = 0
        self.refused = 0
        self.longest_s = 0.0
        self.acknowledged: dict[str, str] = {}  # the id of what was acknowledged: its hash, or nothing

    async def run(self) -> None:
        for number in count():
            await self.turn(f"{self.name}-{number}")

    async def turn(self, name: str) -> None:
        await self.ask("GET", f"/v1/sessions/{self.session}/stats")
        await self.ask("GET", f"/v1/working-memory/{self.session}", params={"recent_messages_limit": 5})

    async def ask(self, method: str, path: str, **sent: object) -> httpx.Response:
        """Ask until it is served."""
        while True:
            began = time.monotonic()
            answer = await self.http.request(method, path, **sent)  # type: ignore[arg-type]
            self.longest_s = max(self.longest_s, time.monotonic() - began)
            assert answer.is_success or answer.status_code == 503, (answer.status_code, answer.text)
            if answer.is_success:
                self.served += 1
                return answer
            assert int(answer.headers["retry-after"]) >= 1
            self.refused += 1
            await asyncio.sleep(0.02)


class Adding(Client):
    """Adds entries by the native API; a request that was refused is sent again under its key."""

    async def turn(self, name: str) -> None:
        entries = [{"role": "user", "content": name, "entry_id": f"{name}-{place}"} for place in range(2)]
        path, key = f"/v1/sessions/{self.session}/entries", {"Idempotency-Key": name}
        answer = await self.ask("POST", path, json={"entries": entries}, headers=key)
        self.acknowledged |= {entry["entry_id"]: entry["hash"] for entry in answer.json()["entries"]}


class Putting(Client):
    """Adds messages by the working-memory API: reads the newest, and writes them back with one more."""

    async def turn(self, name: str) -> None:
        path = f"/v1/working-memory/{self.session}"
        body = (await self.ask("GET", path, params={"recent_messages_limit": 5})).json()
        body["messages"].append({"role": "user", "content": name, "id": name, "created_at": "2026-01-01T00:00:00Z"})
        await self.ask("PUT", path, json=body)
        self.acknowledged[name] = ""


@asynccontextmanager
async def at_work(service: Running, seed: int) -> AsyncIterator[list[Client]]:
    """Let clients of each kind work until the context ends, and check that none had to wait too long."""
    async with httpx.AsyncClient(base_url=service.url, timeout=60) as http:
        for session in ("native", "compat"):
            assert (await http.put(f"/v1/working-memory/{session}", json={})).status_code == 200
            config = {"config": {"profile": "none"}}
            assert (await http.put(f"/v1/sessions/{session}/config", json=config)).status_code == 200
        kinds = [(Adding, "native"), (Adding, "native"), (Putting, "compat"), (Putting, "compat"), (Client, "native")]
        clients = [kind(http, session, f"{seed}-{at}") for at, (kind, session) in enumerate(kinds)]
        tasks = [asyncio.create_task(client.run()) for client in clients]
        try:
            yield clients
        finally:
            for task in tasks:
                task.cancel()
            endings = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(ending, asyncio.CancelledError) for ending in endings), endings
    assert max(client.longest_s for client in clients) < within(LONGEST_S)


async def until_served(clients: list[Client]) -> float:
    """Wait until each client was served again; return how long that took."""
    began, before = time.monotonic(), [client.served for client in clients]
    while any(client.served == served for client, served in zip(clients, before, strict=True)):
        assert time.monotonic() < began + within(SERVES_WITHIN_S), "somebody is not served after the database is back"
        await asyncio.sleep(0.01)
    return time.monotonic() - began


def assert_nothing_lost(service: Running, clients: list[Client]) -> None:
    """Assert that everything acknowledged is stored once, as it was acknowledged, and that the log proves itself."""
    with httpx.Client(base_url=service.url, timeout=60) as http:
        for session in ("native", "compat"):
            stored: list[tuple[str, str]] = []
            version, behind = 0, True
            while behind:
                page = http.get(
                    f"/v1/sessions/{session}/events", params={"after_version": version, "limit": 1000}
                ).json()
                added = [event for event in page["events"] if event["type"] == "entry.added"]
                stored += [(event["payload"]["entry_id"], event["hash"]) for event in added]
                behind = bool(page["events"]) and page["next_after"] is not None
                version = page["next_after"] or version
            assert len(dict(stored)) == len(stored), "something is stored twice"
            for client in (client for client in clients if client.session == session):
                for name, proof in client.acknowledged.items():
                    assert name in dict(stored), "something that was acknowledged is lost"
                    assert proof in {"", dict(stored)[name]}
            assert http.post(f"/v1/sessions/{session}/verify", headers=JSON).json()["verdict"].startswith("OK")


async def restarted(place: tuple[KillableServer, str], seed: int, *, times: int) -> None:
    """Restart the server under load, as hard as PostgreSQL does it, and check what clients saw of it."""
    killable, _ = place
    with killable.server.fresh() as database, running(killable.target(database), worker=False) as service:
        recoveries = []
        async with at_work(service, seed) as clients:
            await until_served(clients)
            for _ in range(times):
                await asyncio.sleep(0.4)
                await asyncio.to_thread(killable.restart, "immediate")
                recoveries.append(await until_served(clients))
        assert_nothing_lost(service, clients)
    answers = sum(len(client.acknowledged) for client in clients)
    longest = max(client.longest_s for client in clients)
    print(
        f"{times} restarts: {answers} acknowledged, {sum(client.served for client in clients)} answers of class 2xx, "
        f"{sum(client.refused for client in clients)} of 503, longest {longest:.1f} s, "
        f"served again after {max(recoveries):.2f} s at most"
    )


async def test_clients_see_two_restarts_as_delays(place: tuple[KillableServer, str], seed: int) -> None:
    await restarted(place, seed, times=2)


@pytest.mark.slow
async def test_clients_see_twenty_restarts_as_delays(place: tuple[KillableServer, str], seed: int) -> None:
    await restarted(place, seed, times=20)


async def test_a_pool_that_keeps_dead_connections_is_caught(
    place: tuple[KillableServer, str], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control."""
    monkeypatch.setattr(DriverConnections, "use", use_and_keep)
    # more patience on a busy machine would change nothing
    monkeypatch.setattr("tests.support.patience.os.getloadavg", lambda: (0.0, 0.0, 0.0))
    with pytest.raises(AssertionError, match="somebody is not served"):
        await restarted(place, seed, times=1)
