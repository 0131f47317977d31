"""What every request passes before a route sees it: sizes, times, hosts, paths.

Source: trust S-7, S-10, §9 Transport.
"""

import asyncio
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Final
from urllib.parse import unquote_to_bytes

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ledger.errors import InvalidInput, LedgerError, NotFound, Unavailable
from ledger.server import problems
from ledger.server.observers import ObservedRequest, Observer
from ledger.server.settings import ServiceSettings

_HOST: Final = re.compile(rb"(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
_OVERRIDES: Final = frozenset({b"x-http-method-override", b"x-http-method", b"x-method-override"})
_SMALL: Final = 64 * 1024
#: How long what a client still sends is read and dropped, so that it gets to read why nobody wants it.
_LINGER_S: Final = 2.0
_CHECK_AGAIN_S: Final = 0.1
_SECURITY: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'self'"),
    (b"referrer-policy", b"no-referrer"),
)
#: The page of /docs, off by default, loads its script from the network (trust S-12).
_DOCS_POLICY: Final = (
    b"default-src 'self'; img-src 'self' data: https://fastapi.tiangolo.com; "
    b"script-src 'self' 'unsafe-inline' https://cdn.jsdelivr.net; style-src 'self' https://cdn.jsdelivr.net"
)


class RequestGuard:
    """Wraps the application; also tells *observer* how each request ended."""

    def __init__(self, app: ASGIApp, settings: ServiceSettings, observer: Observer, stopping: asyncio.Event) -> None:
        self._app = app
        self._settings = settings
        self._observer = observer
        self._stopping = stopping
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Carry out one request."""
        if scope["type"] != "http":
            return
        seen = self._observer.begin(scope)
        exchange = Exchange(scope, receive, send, self._settings, seen, self._stopping)
        try:
            await self._answer(exchange)
        finally:
            exchange.end()
            self._observer.end(seen)

    async def _answer(self, exchange: "Exchange") -> None:
        dialect = problems.dialect_of(exchange.scope["path"])
        try:
            exchange.check()
            if self._under_way >= self._settings.max_concurrency:
                raise Unavailable("the service has as much to do as it can; try again")
            self._under_way += 1
            try:
                async with asyncio.timeout(self._settings.request_timeout_s) as deadline:
                    exchange.deadline = deadline
                    await self._app(exchange.scope, exchange.receive, exchange.send)
            finally:
                self._under_way -= 1
            await exchange.close_stream()
        except TimeoutError as fault:
            if exchange.deadline is None or not exchange.deadline.expired():
                self._observer.crashed(exchange.seen, fault)
            await self._refuse(exchange, Unavailable("no answer in time; what was asked may have been done"), dialect)
        except LedgerError as fault:
            await self._refuse(exchange, fault, dialect)
        except Exception as fault:  # noqa: BLE001 - told by its type only, for its text may hold content (trust P-16)
            self._observer.crashed(exchange.seen, fault)
            await self._refuse(exchange, LedgerError(), dialect)

    async def _refuse(self, exchange: "Exchange", fault: LedgerError, dialect: problems.Dialect) -> None:
        exchange.seen.code = fault.code
        if exchange.started:
            return  # half an answer cannot be taken back: uvicorn closes the connection
        await problems.answer(fault, dialect)(exchange.scope, exchange.receive, exchange.send)


class Exchange:
    """One request and its answer."""

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        settings: ServiceSettings,
        seen: ObservedRequest,
        stopping: asyncio.Event,
    ) -> None:
        self.scope = scope
        self.seen = seen
        self.started = False
        self.deadline: asyncio.Timeout | None = None
        self._receive = receive
        self._send = send
        self._settings = settings
        self._stopping = stopping
        self._arrival_s = asyncio.get_running_loop().time() + settings.receive_timeout_s
        self._length: int | None = 0
        self._received = 0
        self._whole = False
        self._streams = False
        self._ended = False
        self._closing = False

    def check(self) -> None:
        """Refuse what no route should see, and decode the path once.

        Raises:
            InvalidInput: as trust §9 says.
        """
        headers: list[tuple[bytes, bytes]] = self.scope["headers"]
        raw = self.scope["raw_path"]
        if len(raw) + len(self.scope["query_string"]) > self._settings.max_path_bytes:
            raise too_large("path_too_long", "path and query", self._settings.max_path_bytes)
        if sum(len(name) + len(value) + 4 for name, value in headers) > self._settings.max_header_bytes:
            raise too_large("headers_too_large", "headers", self._settings.max_header_bytes)
        if any(name in _OVERRIDES for name, _ in headers):
            raise InvalidInput("bad_request", "send the method as the method")
        self._check_host([value for name, value in headers if name == b"host"])
        self._check_length(headers)
        self.scope["path"] = _decoded(raw, "path")
        _decoded(self.scope["query_string"].replace(b"+", b" "), "query")

    def _check_host(self, hosts: list[bytes]) -> None:
        if self.scope["http_version"] == "1.0" and not hosts:
            return
        if len(hosts) != 1 or not _HOST.fullmatch(hosts[0]):
            raise InvalidInput("bad_host", "send one Host header, a name or an address", field="host")
        allowed = self._settings.allowed_hosts
        name = hosts[0].decode("ascii").lower()
        bare = name if name.endswith("]") else name.rpartition(":")[0] or name
        if allowed and bare not in allowed and name not in allowed:
            raise InvalidInput("bad_host", "this service does not go by that name", field="host")

    def _check_length(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Note how much is to come; the parser has refused lengths that contradict each other already."""
        lengths = [value for name, value in headers if name == b"content-length"]
        chunked = any(name == b"transfer-encoding" for name, _ in headers)
        if chunked and (lengths or self.scope["http_version"] == "1.0"):
            raise InvalidInput("bad_request", "send a Content-Length or a Transfer-Encoding, not both")
        self._length = None if chunked else int(lengths[0]) if lengths else 0
        if self._length and self._length > self._settings.max_body_bytes:
            raise too_large("too_large", "the body", self._settings.max_body_bytes)
        if self._length != 0 and self.scope["method"] in {"GET", "HEAD", "TRACE"}:
            raise InvalidInput("body_not_allowed", "this method takes no body")

    async def receive(self) -> Message:
        """Hand on what came, counted, until it is too much or too late (trust I-18, I-19)."""
        if self._whole:
            return await self._until_disconnected()
        try:
            async with asyncio.timeout_at(self._arrival_s):
                message = await self._receive()
        except TimeoutError:
            raise InvalidInput("timeout", "the request did not arrive in time") from None
        if message["type"] == "http.request":
            self._received += len(message.get("body", b""))
            self._whole = not message.get("more_body", False)
            if self._received > self._settings.max_body_bytes:
                raise too_large("too_large", "the body", self._settings.max_body_bytes)
        else:
            self._whole = True
        return message

    async def _until_disconnected(self) -> Message:
        """Wait until the client goes, or, for a stream, the service stops."""
        removed = asyncio.ensure_future(self._receive())
        stopped = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({removed, stopped}, return_when=asyncio.FIRST_COMPLETED)
            while not (removed.done() or self._streams):  # what is no stream may finish; it may still become one
                await asyncio.wait({removed}, timeout=_CHECK_AGAIN_S)
        finally:
            removed.cancel()
            stopped.cancel()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Hand the answer on, with the headers every answer has."""
        if message["type"] == "http.response.start":
            self.started = True
            self.seen.status = message["status"]
            message = {**message, "headers": [*message.get("headers", ()), *self._headers(message)]}
            if self.deadline is not None and not self.deadline.expired():
                self.deadline.reschedule(None)
        elif message["type"] == "http.response.body":
            self._ended = not message.get("more_body", False)
            if self._ended and self._closing:
                await self._send({**message, "more_body": True})
                await self._linger()
                message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self._send(message)

    async def _linger(self) -> None:
        """Drop what still comes, for a moment: closing at once would take the answer from the client's hands."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LINGER_S):
                while not self._whole:
                    message = await self._receive()
                    self._whole = message["type"] != "http.request" or not message.get("more_body", False)

    async def close_stream(self) -> None:
        """End a stream that was stopped, so that its reader sees an end and no fault."""
        if self.started and not self._ended:
            await self.send({"type": "http.response.body", "body": b"", "more_body": False})

    def end(self) -> None:
        """Note how much came."""
        self.seen.received = self._received

    def _headers(self, message: Message) -> list[tuple[bytes, bytes]]:
        given = {name.lower(): value for name, value in message.get("headers", ())}
        self._streams = given.get(b"content-type", b"").startswith(b"text/event-stream")
        added = [(name, value) for name, value in _SECURITY if name not in given]
        if self.scope["path"].startswith("/docs"):
            added = [(name, _DOCS_POLICY if name == b"content-security-policy" else value) for name, value in added]
        if b"cache-control" not in given:
            added.append((b"cache-control", b"no-store"))
        added.append((b"x-request-id", self.seen.request_id.encode("ascii")))
        unread = self._length is None or self._length > _SMALL
        self._closing = not self._whole and (unread or b"connection" in given)
        if self._closing and b"connection" not in given:
            added.append((b"connection", b"close"))  # else whatever still comes would be read to its end
        return added


def _decoded(raw: bytes, what: str) -> str:
    """Return *raw* percent-decoded, once (trust I-36, I-37).

    Raises:
        InvalidInput: ``bad_name``: it is not UTF-8, or holds a NUL or a slash that is none.
    """
    if what == "path" and b"%2f" in raw.lower():
        raise NotFound("Not Found")  # http W-2
    try:
        text = unquote_to_bytes(raw).decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput("bad_name", "is not UTF-8", field=what) from None
    if "\x00" in text:
        raise InvalidInput("bad_name", "holds a NUL", field=what)
    return text


def too_large(code: str, what: str, limit: int) -> InvalidInput:
    """Return the refusal of something over its *limit* in bytes."""
    return InvalidInput(code, f"{what}: at most {limit:,} bytes", limit=limit)
