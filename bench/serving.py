"""Workloads over HTTP, with clients and service in one process, so that all contenders have the same CPUs."""

import asyncio
import itertools
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec
import uvicorn
from fastapi import FastAPI

from bench.measure import Result, Work, at_least, at_most, interleaved, ratio
from bench.plain import PlainTable
from bench.setting import Setting, fill, fresh_namespace, ledger_over, plain_session
from ledger.ports import Store
from ledger.server.running import GracefulServer, configuration
from ledger.server.service import Service
from ledger.server.settings import load_service_settings
from ledger.settings import Settings

_ROUNDS: Final = 5
_CLIENTS: Final = 8
_EACH: Final = 50


class Connection:
    """A client with little overhead: it sends and reads over one open connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int) -> "Connection":
        """Connect."""
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def ask(self, method: str, path: str, body: object = None) -> bytes:
        """Send a request and return the body of the answer, which must be 2xx."""
        sent = b"" if body is None else msgspec.json.encode(body)
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
        if body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(sent)}"]
        self._writer.write("\r\n".join([*lines, "", ""]).encode() + sent)
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        answer = await self._reader.readexactly(int(head.partition("content-length: ")[2].partition("\r\n")[0]))
        if not head.startswith("http/1.1 2"):
            raise RuntimeError(f"{head.splitlines()[0]}: {answer[:200]!r}")
        return answer

    async def close(self) -> None:
        """Close the connection."""
        self._writer.close()
        await self._writer.wait_closed()


@asynccontextmanager
async def _listening(server: uvicorn.Server) -> AsyncIterator[int]:
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn tells it by a flag only
        await asyncio.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await serving


@asynccontextmanager
async def _serving(store: Store) -> AsyncIterator[int]:
    """Serve the ledger over *store*; yield the port."""
    chosen = load_service_settings(port=0)
    async with (
        Service.open(Settings(), chosen, store=store) as service,
        _listening(GracefulServer(configuration(service, chosen), service.stopping)) as port,
    ):
        yield port


@asynccontextmanager
async def _bare(plain: PlainTable) -> AsyncIterator[int]:
    """Serve one route that inserts a row and commits; yield the port."""
    app, places = FastAPI(), itertools.count()

    @app.post("/entries/{session_id}", status_code=201)
    async def add(session_id: str, body: dict[str, Any]) -> dict[str, int]:
        place = next(places)
        await plain.insert(plain_session(session_id), place, msgspec.json.encode(body))
        return {"place": place}

    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, ws="none", lifespan="off", loop="asyncio", log_config=None, access_log=False
    )
    async with _listening(uvicorn.Server(config)) as port:
        yield port


def _entry(setting: Setting) -> dict[str, Any]:
    return {"entries": [{"role": "user", "content": setting.draft().content}]}


async def long_sessions(setting: Setting) -> list[Result]:
    """Appending to, and reading the newest part of, short and long sessions over HTTP."""
    lengths = (10, 100, 5_000, 10_000)
    async with setting.store() as store:
        namespace = fresh_namespace()
        ledger = ledger_over(store, namespace)
        for length in lengths:
            await fill(setting, ledger, f"s{length}", length)
        await ledger.close()
        async with _serving(store) as port:
            client = await Connection.open(port)

            def route(method: str, path: str, query: str = "") -> Callable[[int], Work]:
                def of(length: int) -> Work:
                    full = path.replace("{}", f"s{length}") + f"?namespace={namespace}{query}"
                    return lambda: client.ask(method, full, _entry(setting) if method == "POST" else None)

                return of

            routes = {
                "append": route("POST", "/v1/sessions/{}/entries"),
                "newest": route("GET", "/v1/working-memory/{}", "&recent_messages_limit=5"),
                "window": route("GET", "/v1/working-memory/{}", "&context_window_max=1000"),
            }
            contenders = {f"{name} {length}": of(length) for name, of in routes.items() for length in lengths}
            medians = await interleaved(contenders, rounds=_ROUNDS, each=15)  # few: one stays short
            await client.close()
    title = "over HTTP, at length 5,000 against 10: latency"
    return [
        at_most(f"append {title}", ratio(medians, "append 5000", "append 10"), 1.3),
        at_most(f"GET {title}", ratio(medians, "newest 5000", "newest 10"), 1.3, "recent_messages_limit"),
        at_most(f"GET {title}", ratio(medians, "window 5000", "window 10"), 1.3, "context_window_max"),
        at_most(
            "append over HTTP, at length 10,000 against 100: latency", ratio(medians, "append 10000", "append 100"), 1.5
        ),
    ]


async def http_clients(setting: Setting) -> list[Result]:
    """8 clients that append at once: over HTTP, by the library, and to a bare route with one durable INSERT."""
    async with setting.store() as store, setting.plain() as plain:
        namespace = fresh_namespace()
        ledger = ledger_over(store, namespace)
        for client in range(_CLIENTS):
            await fill(setting, ledger, f"c{client}", 1)
        async with _serving(store) as port, _bare(plain) as bare_port:
            ours = [await Connection.open(port) for _ in range(_CLIENTS)]
            bare = [await Connection.open(bare_port) for _ in range(_CLIENTS)]

            async def served(client: int) -> None:
                path = f"/v1/sessions/c{client}/entries?namespace={namespace}"
                for _ in range(_EACH):
                    await ours[client].ask("POST", path, _entry(setting))

            async def route(client: int) -> None:
                for _ in range(_EACH):
                    await bare[client].ask("POST", f"/entries/c{client}", _entry(setting))

            async def library(client: int) -> None:
                for _ in range(_EACH):
                    await ledger.add_entries(f"l{client}", [setting.draft()])

            works: dict[str, Callable[[int], Awaitable[None]]] = {"http": served, "bare": route, "library": library}
            for work in works.values():
                await _all(work)  # warm
            taken = [{name: await _all(work) for name, work in works.items()} for _ in range(_ROUNDS)]
            for connection in (*ours, *bare):
                await connection.close()
        await ledger.close()
    title = f"append over HTTP, {_CLIENTS} clients: throughput"
    return [
        at_least(title, statistics.median(each["library"] / each["http"] for each in taken), None, "to the library"),
        at_least(
            title, statistics.median(each["bare"] / each["http"] for each in taken), None, "to a bare route, one INSERT"
        ),
    ]


async def _all(work: Callable[[int], Awaitable[None]]) -> float:
    started = time.perf_counter()
    await asyncio.gather(*(work(client) for client in range(_CLIENTS)))
    return time.perf_counter() - started
