"""The HTTP/1.1 protocol of uvicorn, with limits it has not: slow, endless and ambiguous requests.

Ambiguous lengths (trust I-22, I-23) are refused by the parser itself. Source: trust S-7, I-18 … I-23.
"""

import asyncio
from http import HTTPStatus
from typing import Any, ClassVar, Final

from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ledger.errors import InvalidInput
from ledger.server import problems
from ledger.server.guard import too_large
from ledger.server.settings import ServiceSettings

#: For the answer 408 of the application to go out.
_LAST_WORDS_S: Final = 1.0


class GuardedProtocol(HttpToolsProtocol):
    """One connection; a request that does not arrive whole in time ends it."""

    settings: ClassVar[ServiceSettings]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._arrival: asyncio.TimerHandle | None = None
        self._in_head = True
        self._head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, unless there are too many; it has as long to speak as a request to arrive."""
        super().connection_made(transport)
        if len(self.connections) > 4 * self.settings.max_concurrency:
            transport.abort()
            return
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._arrived()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Feed the parser, as long as the head of the request keeps to its limit (trust I-21)."""
        if self._arrival is None:  # the first bytes of a further request
            self._expect()
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > self.settings.max_header_bytes + self.settings.max_path_bytes:
            self._refuse(self._what_is_too_large())

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._in_head = True

    def on_headers_complete(self) -> None:
        """Hand the request to the application; *path* is decoded there, from the bytes that came."""
        self._in_head = False
        self._head_bytes = 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """End a request: it has arrived."""
        self._arrived()
        self._in_head = True
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP request, and close (trust I-22 … I-24)."""
        self._refuse(InvalidInput("bad_request", "this is no HTTP/1.1 request that has one meaning"))

    def _what_is_too_large(self) -> InvalidInput:
        """Tell what a head in several pieces is refused for: the same as one that comes at once (trust I-21, I-38)."""
        if len(self.url or b"") > self.settings.max_path_bytes:
            return too_large("path_too_long", "path and query", self.settings.max_path_bytes)
        return too_large("headers_too_large", "headers", self.settings.max_header_bytes)

    def _expect(self) -> None:
        self._arrived()
        self._arrival = self.loop.call_later(self.settings.receive_timeout_s, self._late)

    def _arrived(self) -> None:
        if self._arrival is not None:
            self._arrival.cancel()
            self._arrival = None

    def _late(self) -> None:
        """Close what did not arrive; a body that the application still waits for, it refuses itself."""
        self._arrival = None
        if self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_complete:
            if self._in_head:  # a further request waits for its turn
                self._expect()
            else:
                self._arrival = self.loop.call_later(_LAST_WORDS_S, self.transport.close)
        elif self._in_head and self._head_bytes:
            self._refuse(InvalidInput("timeout", "the request did not arrive in time"))
        else:
            self.transport.close()

    def _refuse(self, fault: InvalidInput) -> None:
        """Answer, unless an answer is under way already, and close."""
        if self.transport.is_closing():
            return
        if self.cycle is None or not self.cycle.response_started or self.cycle.response_complete:
            self.transport.write(as_bytes(problems.answer(fault, "native")))
        self.transport.close()


def as_bytes(response: Response) -> bytes:
    """Return *response* as it goes over the wire, where no application makes it."""
    head = [
        f"HTTP/1.1 {response.status_code} {HTTPStatus(response.status_code).phrase}".encode(),
        *(name + b": " + value for name, value in response.raw_headers),
    ]
    if not any(name == b"connection" for name, _ in response.raw_headers):
        head.append(b"connection: close")
    return b"\r\n".join(head) + b"\r\n\r\n" + bytes(response.body)


def guarded_protocol(settings: ServiceSettings) -> type[GuardedProtocol]:
    """Return the protocol class with the limits of *settings*."""
    return type("GuardedProtocol", (GuardedProtocol,), {"settings": settings})
