"""Answer requests that take much of the processor in a process of their own, so that the others do not wait for them.

A thread would share the interpreter's lock, its garbage collection and the conversion of large answers to JSON with
all other requests. Source: trust S-17.
"""

import asyncio
import gc
import re
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from fastapi import FastAPI, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ledger.errors import Busy, LedgerError, RateLimited, TookTooLong
from ledger.server.access.callers import caller
from ledger.server.application import create_app
from ledger.server.helper_process import HelperProcess
from ledger.server.helper_work import Known
from ledger.server.http import problems
from ledger.server.http.compressed_bodies import is_compressed, unpacked_size
from ledger.server.mcp_routes import MCP_PATH, calls_heavy_tool
from ledger.server.service import Service
from ledger.server.service_settings import ServiceSettings
from ledger.server.traffic import logs
from ledger.server.traffic.observers import Observers
from ledger.settings import Settings
from ledger.stores.factory import open_store

_HEAVY: Final = re.compile(
    r"/v1/sessions/[^/]+/(?:diff|verify|restore|export|import|windows|config/check)|/v1/config/check"
)
#: What a page tries and may give up: it does not wait for the turn of its caller, and ends when the client has gone.
_TRIED: Final = re.compile(r"(?:/v1/sessions/[^/]+/(?P<timed>what-if|trials)|/v1(?:/sessions/[^/]+)?/verify-stream)")
#: Each word of a search is looked up and weighed; so many bytes of a body are some hundred words.
_SEARCH: Final = re.compile(r"/v1/(?:search|long-term-memory/search)")
LONG_SEARCH_B: Final = 2 * 1024
#: How long a what-if or trials may take.
TRY_S: Final = 20.0
#: How long the next request waits for the end of the one before.
_ENDING_S: Final = 1.0
#: The body of a large PUT: about a thousand messages.
LARGE_B: Final = 256 * 1024
#: Exporters of OpenTelemetry give up after 10 s, so what they send does not wait until the helper has started.
OTLP_PATH: Final = "/v1/otlp/"
#: How many requests of one caller may wait for their turn.
MOST_WAITING: Final = 16
_SENT: Final = ("type", "asgi", "http_version", "method", "scheme", "path", "raw_path", "query_string", "root_path")
#: Where the helper says which calls of models it made since the last request.
_CALLS: Final = "model_calls"
_ADDRESSES: Final = ("headers", "client", "server")


class HeavyRequests:
    """Gives heavy requests to a helper, one of each caller at a time, and all others to *app*."""

    def __init__(self, app: FastAPI, service: Service, helper: HelperProcess) -> None:
        self._app = app
        self._service = service
        self._helper = helper
        self._turns: dict[str, list[asyncio.Event]] = {}
        self._trying: dict[str, asyncio.Event] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Carry out one request.

        Raises:
            NotAuthenticated, Unavailable: see `callers.caller` and `HelperProcess.answer`.
            RateLimited: too many heavy requests of the caller wait.
            Busy, TookTooLong: see `_alone`.
        """
        length, encoding = _length_of_body(scope), _encoding_of(scope)
        tried = _TRIED.fullmatch(scope["path"])
        heavy = tried is not None or _HEAVY.fullmatch(scope["path"]) is not None
        if _SEARCH.fullmatch(scope["path"]) is not None:
            heavy = length is None or length > LONG_SEARCH_B
        tool = scope["path"] == MCP_PATH
        if not heavy and not tool and encoding is None and length is not None and length <= LARGE_B:
            await self._app(scope, receive, send)
            return
        scope["app"] = self._app
        scope.setdefault("state", {})
        known = await caller(Request(scope))
        body = await _whole(receive)
        large = await self._unpacked_size(body, encoding, known.key) > LARGE_B
        heavy = heavy or (tool and calls_heavy_tool(body))
        if not heavy and not large:
            await self._app(scope, _again(body, receive), send)
            return
        if large:
            self._service.quotas.admit_write(known.key)
        if large and encoding is None and scope["path"].startswith(OTLP_PATH) and not self._helper.running:
            async with self._turn(f"{known.key} {OTLP_PATH}"):  # others of the caller may wait until it has started
                await self._app(scope, _again(body, receive), send)
            self._helper.start()  # not before: it would take the processor from this request
            return
        sent = {name: scope[name] for name in (*_SENT, *_ADDRESSES) if name in scope}
        asked = {**sent, "state": {"caller": known}}
        async with self._turn(known.key) if tried is None else self._alone(known.key, timed=bool(tried["timed"])):
            answering = self._helper.answer(asked, body, send)
            found = await (answering if tried is None else _unless_gone(receive, answering))
            self._service.services.models.add(found.pop(_CALLS, "[[], []]"))
            scope["state"].update(found)
        if scope["method"] != "GET":
            self._service.notifier.notify_all()  # it may have written

    async def _unpacked_size(self, body: bytes, encoding: str | None, key: str) -> int:
        """Return the size of *body* when it is unpacked, for which the caller *key* is charged.

        Raises:
            RateLimited: the caller has no allowance for bytes left, so nothing is unpacked.
        """
        if encoding is None:
            return len(body)
        self._service.quotas.admit_write(key)
        most_bytes = self._service.settings.max_body_bytes
        size = await asyncio.to_thread(unpacked_size, body, encoding, most_bytes)
        self._service.quotas.spend_bytes(key, size - len(body))  # what arrived is charged as of all requests
        return size

    @asynccontextmanager
    async def _alone(self, key: str, *, timed: bool) -> AsyncIterator[None]:
        """Refuse a second request of the caller *key*, and one that takes too long if it is *timed*."""
        if key in self._trying:  # the client may have the end of the last answer, or have given it up, just now
            with suppress(TimeoutError):
                await asyncio.wait_for(self._trying[key].wait(), _ENDING_S)
        if key in self._trying:
            raise Busy
        ended = self._trying[key] = asyncio.Event()
        try:
            async with asyncio.timeout(TRY_S if timed else None) as deadline:
                yield
        except TimeoutError:
            if deadline.expired():
                raise TookTooLong(TRY_S) from None
            raise
        finally:
            del self._trying[key]
            ended.set()

    @asynccontextmanager
    async def _turn(self, key: str) -> AsyncIterator[None]:
        """Wait until it is the turn of a request of the caller *key*; they take turns in the order they came."""
        queue = self._turns.setdefault(key, [])
        if len(queue) > MOST_WAITING:
            raise RateLimited(1, "large requests at once")
        mine = asyncio.Event()
        queue.append(mine)
        queue[0].set()
        try:
            await mine.wait()
            yield
        finally:
            queue.remove(mine)
            if queue:
                queue[0].set()
            else:
                del self._turns[key]


async def _unless_gone(receive: Receive, answering: Coroutine[Any, Any, Known]) -> Known:
    """Return what *answering* returns, and stop it when the client has gone."""
    work, gone = asyncio.ensure_future(answering), asyncio.ensure_future(receive())
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        return work.result() if work.done() else {}
    finally:
        work.cancel()
        gone.cancel()
        await asyncio.gather(work, gone, return_exceptions=True)


def _length_of_body(scope: Scope) -> int | None:
    """Return the length of the body; None if it is known only when it has arrived."""
    headers = dict(scope["headers"])
    return None if b"transfer-encoding" in headers else int(headers.get(b"content-length", 0))


def _encoding_of(scope: Scope) -> str | None:
    """Return the encoding of a compressed body that is accepted; None without one."""
    found = dict(scope["headers"]).get(b"content-encoding", b"").decode("latin-1")
    return found if scope["path"].startswith(OTLP_PATH) and is_compressed(found) else None


async def _whole(receive: Receive) -> bytes:
    parts: list[bytes] = []
    more = True
    while more:
        message = await receive()
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(parts)


def _again(body: bytes, receive: Receive) -> Receive:
    """Return *receive* as it was before *body* was read from it."""
    unread = [body]

    async def first() -> Message:
        return {"type": "http.request", "body": unread.pop(), "more_body": False} if unread else await receive()

    return first


@asynccontextmanager
async def helper(settings: Settings, service_settings: ServiceSettings) -> AsyncIterator[HelperProcess]:
    """Yield a helper over the database that *settings* name."""
    process = HelperProcess(open_app, settings, service_settings.model_copy(update={"metrics": False}))
    try:
        yield process
    finally:
        await process.close()


@asynccontextmanager
async def open_app(settings: Settings, service_settings: ServiceSettings) -> AsyncIterator[ASGIApp]:
    """Open the application in the helper: the caller is known, and the guard around the request is not here."""
    logs.configure(service_settings.log_level)
    store = await open_store(settings, served=True, start=False)
    try:
        async with Service.open(settings, service_settings, store=store) as service:
            app, observers = create_app(service, service_settings), Observers(service.clock, service.quotas)

            async def answer(scope: Scope, receive: Receive, send: Send) -> None:
                observed = observers.begin(scope)
                try:
                    await app(scope, receive, send)
                except LedgerError as fault:
                    await problems.answer(fault, problems.dialect_of(scope["path"]))(scope, receive, send)
                finally:
                    observers.end(observed)
                    scope["state"][_CALLS] = service.services.models.take()

            gc.freeze()  # as in `running.serve_from`
            yield answer
    finally:
        await store.close()
