"""One request and its answer: the checks of its head, body and time, and the headers of every answer.

Source: trust S-7, S-10, §9 Transport.
"""

import asyncio
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Final
from urllib.parse import unquote_to_bytes

from starlette.types import Message, Receive, Scope, Send

from ledger.errors import InvalidInput, NotFound, NotPermitted
from ledger.server.access.forwarded import check_not_forwarded
from ledger.server.service_settings import LOOPBACK, ServiceSettings
from ledger.server.traffic.observers import ObservedRequest
from ledger.server.traffic.slots import MANAGEMENT, PROBES, SLOT, SlotKind

_HOST: Final = re.compile(rb"(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
_OVERRIDES: Final = frozenset({b"x-http-method-override", b"x-http-method", b"x-method-override"})
_OWN: Final = re.compile(rb"\s*application/(json|x-protobuf)\s*(;|$)", re.IGNORECASE)  # which no page can send
_SMALL: Final = 64 * 1024
#: How long to read and drop what a client still sends, so that it gets to read the refusal.
_LINGER_S: Final = 2.0
_POLL_S: Final = 0.1
#: Set in the scope by `protocol` once the whole request has arrived, so that nothing need be waited for.
ARRIVED: Final = "ledger.arrived"
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_ADDED: Final = (
    (b"x-content-type-options", b"nosniff"),
    (
        b"content-security-policy",
        b"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)
#: The page of /docs, off by default, loads its script from the network (trust S-12).
_DOCS_POLICY: Final = (
    b"default-src 'self'; img-src 'self' data: https://fastapi.tiangolo.com; "
    b"script-src 'self' 'unsafe-inline' https://cdn.jsdelivr.net; style-src 'self' https://cdn.jsdelivr.net"
)


class Exchange:
    """One request and its answer."""

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        settings: ServiceSettings,
        observed: ObservedRequest,
        stopping: asyncio.Event,
    ) -> None:
        self.scope = scope
        self.observed = observed
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

    @property
    def kind(self) -> SlotKind:
        """The kind of place that the request needs at first."""
        if self.scope["path"] in PROBES:
            return "probe"
        return "working" if self._length == 0 or self.scope.get(ARRIVED) else "arriving"

    def check(self) -> None:
        """Refuse a request that no route should get, and decode the path once.

        Raises:
            InvalidInput, NotFound: see trust §9.
        """
        headers: list[tuple[bytes, bytes]] = self.scope["headers"]
        raw = self.scope["raw_path"]
        if len(raw) + len(self.scope["query_string"]) > self._settings.max_path_bytes:
            raise too_large("path_too_long", "path and query", self._settings.max_path_bytes)
        if sum(len(name) + len(value) + 4 for name, value in headers) > self._settings.max_header_bytes:
            raise too_large("headers_too_large", "headers", self._settings.max_header_bytes)
        if any(name in _OVERRIDES for name, _ in headers):
            raise InvalidInput("bad_request", "send the method in the request line, not in a header")
        self._check_length(headers)
        self.scope["path"] = _decoded(raw, "path")
        _decoded(self.scope["query_string"].replace(b"+", b" "), "query")
        if self._settings.management_port is not None and self.scope["server"][1] == self._settings.management_port:
            self.scope[MANAGEMENT] = True
            if self.scope["path"] not in PROBES:
                raise NotFound("this port has only /readyz, /healthz and /metrics")
            return
        self._check_host([value for name, value in headers if name == b"host"])
        if self._settings.auth_mode == "none":
            if not self._settings.allowed_hosts:
                check_not_forwarded(headers)
            if self.scope["method"] not in _SAFE:
                self._check_origin(dict(headers))

    def _check_host(self, hosts: list[bytes]) -> None:
        if self.scope["http_version"] == "1.0" and not hosts:
            return
        if len(hosts) != 1 or not _HOST.fullmatch(hosts[0]):
            raise InvalidInput("bad_host", "must be sent once, with a name or an address", field="host")
        allowed = self._settings.allowed_hosts
        name = hosts[0].decode("ascii").lower()
        hostname = name if name.endswith("]") else name.rpartition(":")[0] or name
        if allowed and hostname not in allowed and name not in allowed:
            raise InvalidInput("bad_host", "must be a name of this service", field="host")
        if not allowed and self._settings.auth_mode == "none" and hostname.strip("[]") not in LOOPBACK:
            # a page whose name was made to lead here would otherwise be served (DNS rebinding)
            raise InvalidInput("bad_host", "must be a loopback name or address without authentication", field="host")

    def _check_origin(self, headers: dict[bytes, bytes]) -> None:
        """Refuse a write that a browser sends for another page: without credentials nothing else would stop it."""
        origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site", b"none")
        own = (b"http://" + headers.get(b"host", b""), b"https://" + headers.get(b"host", b""))
        if (origin is not None and origin not in own) or site not in {b"same-origin", b"none"}:
            raise NotPermitted("foreign_origin", "a page of another origin may not write without authentication")
        # bodies are checked where they are read; a form without one must not pass either
        if self.scope["method"] == "POST" and self._length == 0 and not _OWN.match(headers.get(b"content-type", b"")):
            raise InvalidInput(
                "unsupported_media_type", "send application/json, also without a body", field="content-type"
            )

    def _check_length(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Check the length of the body; the parser has already refused lengths that contradict each other."""
        lengths = [value for name, value in headers if name == b"content-length"]
        chunked = any(name == b"transfer-encoding" for name, _ in headers)
        if chunked and (lengths or self.scope["http_version"] == "1.0"):
            raise InvalidInput("bad_request", "send a Content-Length or a Transfer-Encoding, not both")
        self._length = None if chunked else int(lengths[0]) if lengths else 0
        if self._length and self._length > self._settings.max_body_bytes:
            raise too_large("too_large", "the body", self._settings.max_body_bytes)
        if self._length != 0 and self.scope["method"] in {"GET", "HEAD", "TRACE"}:
            raise InvalidInput("body_not_allowed", "send no body with this method")

    async def receive(self) -> Message:
        """Return the next part of the request; refuse it if it is too large or too late (trust I-18, I-19)."""
        if self._whole:
            return await self._until_disconnected()
        if self.scope.get(ARRIVED):
            message = await self._receive()
        else:
            message = await self._next_part()
        if message["type"] == "http.request":
            self._received += len(message.get("body", b""))
            self._whole = not message.get("more_body", False)
            if self._received > self._settings.max_body_bytes:
                raise too_large("too_large", "the body", self._settings.max_body_bytes)
            if self._whole and self.scope[SLOT].kind == "arriving":
                self.scope[SLOT].move("working")
        else:
            self._whole = True
        return message

    async def _next_part(self) -> Message:
        try:
            async with asyncio.timeout_at(self._arrival_s):
                return await self._receive()
        except TimeoutError:
            raise InvalidInput("timeout", "the request did not arrive in time") from None

    async def _until_disconnected(self) -> Message:
        """Wait until the client disconnects or, for a stream, until the service stops."""
        disconnected = asyncio.ensure_future(self._receive())
        stopped = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({disconnected, stopped}, return_when=asyncio.FIRST_COMPLETED)
            while not (disconnected.done() or self._streams):  # other answers may finish; one may still become a stream
                await asyncio.wait({disconnected}, timeout=_POLL_S)
        finally:
            disconnected.cancel()
            stopped.cancel()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Send the answer on, with the headers that every answer has."""
        if message["type"] == "http.response.start":
            self.started = True
            self.observed.status = message["status"]
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
        """Read and drop more input for a moment: after closing at once the client could not read the answer."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LINGER_S):
                while not self._whole:
                    message = await self._receive()
                    self._whole = message["type"] != "http.request" or not message.get("more_body", False)

    async def close_stream(self) -> None:
        """End a stopped stream, so that its reader sees an end and not an error."""
        if self.started and not self._ended:
            await self.send({"type": "http.response.body", "body": b"", "more_body": False})

    def end(self) -> None:
        """Record the number of bytes received."""
        self.observed.received = self._received

    def _headers(self, message: Message) -> list[tuple[bytes, bytes]]:
        given = {name.lower(): value for name, value in message.get("headers", ())}
        self._streams = given.get(b"content-type", b"").startswith(b"text/event-stream")
        added = [header for header in _ADDED if header[0] not in given]
        if self.scope["path"].startswith("/docs"):
            added = [(name, _DOCS_POLICY if name == b"content-security-policy" else value) for name, value in added]
        added.append((b"x-request-id", self.observed.request_id.encode("ascii")))
        unread = self._length is None or self._length > _SMALL
        self._closing = not self._whole and (unread or b"connection" in given)
        if self._closing and b"connection" not in given:
            added.append((b"connection", b"close"))  # otherwise all further input would be read
        return added


def _decoded(raw: bytes, what: str) -> str:
    """Return *raw* percent-decoded, once (trust I-36, I-37).

    Raises:
        InvalidInput: ``bad_name``: it is not UTF-8, or contains a NUL.
        NotFound: the path contains an encoded slash.
    """
    if what == "path" and b"%2f" in raw.lower():
        raise NotFound("Not Found")  # http W-2
    try:
        text = (unquote_to_bytes(raw) if b"%" in raw else raw).decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput("bad_name", "must be UTF-8", field=what) from None
    if "\x00" in text:
        raise InvalidInput("bad_name", "must not contain a NUL", field=what)
    return text


def too_large(code: str, what: str, limit: int) -> InvalidInput:
    """Return the refusal of something over its *limit* in bytes."""
    return InvalidInput(code, f"{what} must have at most {limit:,} bytes", limit=limit)
