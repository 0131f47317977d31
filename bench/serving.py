"""Workloads over HTTP: clients with open connections, and services in processes of their own."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, Final

from bench.filling import fill
from bench.http import Connection, bare_route, memory_ledger
from bench.measure import Work, latencies, ratio
from bench.rows import Figures
from bench.setting import Setting, fresh_namespace, ledger_over

_CLIENTS: Final = 8
_EACH: Final = 30


async def clients(setting: Setting) -> Figures:
    """8 clients that append at once: over HTTP, to a bare route with one durable INSERT, and by the library."""
    namespace, each = fresh_namespace(), setting.times(_EACH)
    async with AsyncExitStack() as opened:
        store = await opened.enter_async_context(setting.store())
        ledger = ledger_over(store, namespace)
        for client in range(_CLIENTS):
            await fill(setting, ledger, f"c{client}", 1)
        port = await opened.enter_async_context(memory_ledger(setting.app_url))
        bare_port = await opened.enter_async_context(bare_route(setting.url))
        ours, bare = await _connected(opened, port), await _connected(opened, bare_port)

        def over_http(connections: list[Connection], path: str) -> Work:
            async def add(client: int) -> None:
                for _ in range(each):
                    await connections[client].ask("POST", path.format(client), _entry(setting))

            return lambda: _all(add)

        async def by_library(client: int) -> None:
            for _ in range(each):
                await ledger.add_entries(f"l{client}", [setting.draft()])

        contenders: dict[str, Work] = {
            "ours": over_http(ours, f"/v1/sessions/c{{}}/entries?namespace={namespace}"),
            "bare": over_http(bare, "/entries/c{}"),
            "library": lambda: _all(by_library),
        }
        taken = await latencies(contenders, rounds=setting.times(9), each=1)
        await ledger.close()
    return {
        "http": {"ratio": ratio(taken, "bare", "ours")},
        "http library": {"ratio": ratio(taken, "library", "ours")},
    }


async def long_sessions(setting: Setting) -> Figures:
    """Appending to, and reading the newest part of, sessions of 100 and 10,000 entries over HTTP."""
    lengths = {"short": 100, "long": setting.size(10_000)}
    namespace = fresh_namespace()
    async with AsyncExitStack() as opened:
        store = await opened.enter_async_context(setting.store())
        ledger = ledger_over(store, namespace)
        for name, length in lengths.items():
            await fill(setting, ledger, name, length)
        await ledger.close()
        port = await opened.enter_async_context(memory_ledger(setting.app_url))
        client = (await _connected(opened, port, 1))[0]

        def asking(method: str, path: str, query: str = "") -> Callable[[str], Work]:
            def about(name: str) -> Work:
                full = f"{path.format(name)}?namespace={namespace}{query}"
                return lambda: client.ask(method, full, _entry(setting) if method == "POST" else None)

            return about

        routes = {
            "append": asking("POST", "/v1/sessions/{}/entries"),
            "recent_messages_limit": asking("GET", "/v1/working-memory/{}", "&recent_messages_limit=5"),
            "context_window_max": asking("GET", "/v1/working-memory/{}", "&context_window_max=1000"),
        }
        contenders = {f"{route} {name}": about(name) for route, about in routes.items() for name in lengths}
        taken = await latencies(contenders, rounds=setting.times(5), each=setting.times(15))
    return {"http growing": {route: ratio(taken, f"{route} long", f"{route} short") for route in routes}}


def _entry(setting: Setting) -> dict[str, Any]:
    return {"entries": [{"role": "user", "content": setting.text()}]}


async def _connected(opened: AsyncExitStack, port: int, number: int = _CLIENTS) -> list[Connection]:
    connections = [await Connection.open(port) for _ in range(number)]
    for connection in connections:
        opened.push_async_callback(connection.close)
    return connections


async def _all(work: Callable[[int], Awaitable[None]]) -> None:
    await asyncio.gather(*(work(client) for client in range(_CLIENTS)))
