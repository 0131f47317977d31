"""A real service: uvicorn on a loopback port, over the PostgreSQL fixture, one for each test session."""

import asyncio
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx
import pytest
import uvicorn

from ledger.application.handle import NamespaceHandle
from ledger.memory import MemoryLedger
from ledger.ports import Clock, Store
from ledger.server.service import Service
from ledger.server.service_settings import ServiceSettings, load_service_settings
from ledger.server.serving import GracefulServer, configuration
from ledger.settings import Settings
from ledger.stores.postgres import PostgresStore, Target
from tests.support.databases import Server
from tests.support.http_client import JSON
from tests.support.probe_routes import ROUTERS


@dataclass(frozen=True)
class Running:
    """A service that answers at *url*; *on_loop* runs a coroutine function beside it and returns its result."""

    url: str
    service: Service
    loop: asyncio.AbstractEventLoop

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.url.rpartition(":")[2])


@contextmanager
def running(
    place: Target | Store,
    *,
    settings: Settings | None = None,
    clock: Clock | None = None,
    change: Callable[[uvicorn.Config], object] = lambda config: None,
    **service_settings: object,
) -> Iterator[Running]:
    """Run a service over a store in a thread, with settings as `load_service_settings` takes them."""
    chosen: ServiceSettings = load_service_settings(**{"port": 0, **service_settings})
    started, found, stop = threading.Event(), [], []

    async def work() -> None:
        store = await PostgresStore.open(place) if isinstance(place, Target) else place
        try:
            async with Service.open(settings or Settings(), chosen, store=store, clock=clock) as service:
                config = configuration(service, chosen)
                for router in ROUTERS:
                    config.app._app.routes.extend(router.routes)  # type: ignore[union-attr]
                change(config)
                server = GracefulServer(config, service)
                serving = asyncio.create_task(server.serve())
                while not server.started and not serving.done():
                    await asyncio.sleep(0.005)
                if serving.done():
                    await serving
                port = server.servers[0].sockets[0].getsockname()[1]
                found.append(Running(f"http://127.0.0.1:{port}", service, asyncio.get_running_loop()))
                stop.append(lambda: setattr(server, "should_exit", True))
                started.set()
                await serving
        finally:
            await store.close()
            started.set()

    failures: list[BaseException] = []

    def main() -> None:
        try:
            asyncio.run(work())
        except BaseException as fault:  # noqa: BLE001 - told to the test
            failures.append(fault)
            started.set()

    thread = threading.Thread(target=main, daemon=True)
    thread.start()
    started.wait(60)
    if not found:
        thread.join(5)
        raise RuntimeError("the service did not start") from (failures[0] if failures else None)
    try:
        yield found[0]
    finally:
        stop[0]()
        thread.join(60)
        assert not thread.is_alive(), "the service did not stop"
        if failures:
            raise failures[0]


Transcript = Callable[[str], list[tuple[str, str]]]


@pytest.fixture(scope="session")
def shared_database(server: Server) -> Iterator[str]:
    """A database for these tests alone: some list the sessions of every namespace there is."""
    with server.fresh() as name:
        yield name


@pytest.fixture(scope="session")
def service(server: Server, shared_database: str) -> Iterator[Running]:
    """One service for all tests that keep to namespaces of their own; without authentication."""
    with running(server.target(shared_database)) as item:
        yield item


@pytest.fixture
def api(service: Running, namespace: str) -> Iterator[httpx.Client]:
    """A client of the service whose requests name this test's namespace."""
    with httpx.Client(base_url=service.url, params={"namespace": namespace}, timeout=30, headers=JSON) as client:
        yield client


@pytest.fixture
def session() -> str:
    """A session id of this test's own."""
    return f"s-{secrets.token_hex(4)}"


@pytest.fixture
def shown(service: Running, namespace: str) -> Transcript:
    """The transcript of a session, without what is hidden: kind or role, and text; empty if there is none."""
    ledger = MemoryLedger(NamespaceHandle(service.service.services, namespace, "reader"))

    def entries(session: str) -> list[tuple[str, str]]:
        reading = asyncio.run_coroutine_threadsafe(ledger.get_transcript(session), service.loop)
        found = reading.result(30)
        return [(each.role if each.kind == "message" else each.kind, each.content) for each in found]

    return entries
