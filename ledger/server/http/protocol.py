"""The HTTP/1.1 protocol of uvicorn with further limits: for slow, endless and ambiguous requests.

The parser itself refuses ambiguous lengths (trust I-22, I-23). Source: trust S-7, I-18 … I-23.
"""

import asyncio
import socket
from http import HTTPStatus
from typing import Any, ClassVar, Final, cast

from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ledger.errors import InvalidInput
from ledger.server.http import problems
from ledger.server.http.exchange import ARRIVED, too_large
from ledger.server.service_settings import ServiceSettings

#: How long the application has to send its answer 408.
_LAST_ANSWER_S: Final = 1.0
_MOST_JOINED: Final = 16 * 1024


class JoinedWrites:
    """A transport that sends what is written in one step of the event loop together, if it is short.

    The head of an answer and its body are then one call of the system and one packet.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Send *data* soon, in order."""
        if not self._pieces:
            self._loop.call_soon(self.flush)
        self._pieces.append(data)
        self._size += len(data)
        if self._size > _MOST_JOINED:  # at once, so that the flow control sees it
            self.flush()

    def flush(self) -> None:
        """Send what was written."""
        if self._pieces:
            data = b"".join(self._pieces)
            self._pieces.clear()
            self._size = 0
            self._transport.write(data)

    def close(self) -> None:
        """Close the connection once everything is sent."""
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class DeadlineProtocol(HttpToolsProtocol):
    """One connection; it is closed if a request does not arrive completely in time."""

    settings: ClassVar[ServiceSettings]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._arrival: asyncio.TimerHandle | None = None
        self._in_head = True
        self._complete = False
        self._head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection, unless there are too many; its first request must arrive in time."""
        super().connection_made(transport)
        # asyncio sets it only on sockets that were made with the number of the protocol: without it, the second piece
        # of an answer waits until the client has acknowledged the first
        connection = transport.get_extra_info("socket")
        if connection is not None and connection.family in {socket.AF_INET, socket.AF_INET6}:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.transport = cast(asyncio.Transport, JoinedWrites(transport, self.loop))
        crowded = len(self.connections) > 4 * self.settings.max_concurrency
        if crowded and self.server is not None and self.server[1] != self.settings.management_port:
            transport.abort()
            return
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._arrived()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Feed the parser; refuse a head that is over its limit (trust I-21)."""
        self._complete = False
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if not self._complete and self._arrival is None:  # a part of a further request; most come whole
            self._expect()
        if self._in_head and self._head_bytes > self.settings.max_header_bytes + self.settings.max_path_bytes:
            self._refuse(self._head_refusal())

    def on_message_begin(self) -> None:
        """Start a request."""
        super().on_message_begin()
        self._in_head = True
        self._complete = False

    def on_headers_complete(self) -> None:
        """Give the request to the application, which decodes the path from its bytes."""
        self._in_head = False
        self._head_bytes = 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """End a request: it has arrived."""
        self.scope[ARRIVED] = True  # type: ignore[typeddict-unknown-key]
        self._arrived()
        self._in_head = True
        self._complete = True
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not an HTTP request, and close (trust I-22 … I-24)."""
        self._refuse(InvalidInput("bad_request", "this is not a valid HTTP/1.1 request"))

    def _head_refusal(self) -> InvalidInput:
        """Return the refusal of a large head: the same in several pieces as in one (trust I-21, I-38)."""
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
        """Close the connection; if the application still waits for a body, it refuses the request itself."""
        self._arrival = None
        if self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_complete:
            if self._in_head:  # a further request waits for its turn
                self._expect()
            else:
                self._arrival = self.loop.call_later(_LAST_ANSWER_S, self.transport.close)
        elif self._in_head and self._head_bytes:
            self._refuse(InvalidInput("timeout", "the request did not arrive in time"))
        else:
            self.transport.close()

    def _refuse(self, fault: InvalidInput) -> None:
        """Answer, unless an answer has started, and close."""
        if self.transport.is_closing():
            return
        if self.cycle is None or not self.cycle.response_started or self.cycle.response_complete:
            self.transport.write(as_bytes(problems.answer(fault, "native")))
        self.transport.close()


def as_bytes(response: Response) -> bytes:
    """Return *response* as bytes on the wire."""
    head = [
        f"HTTP/1.1 {response.status_code} {HTTPStatus(response.status_code).phrase}".encode(),
        *(name + b": " + value for name, value in response.raw_headers),
    ]
    if not any(name == b"connection" for name, _ in response.raw_headers):
        head.append(b"connection: close")
    return b"\r\n".join(head) + b"\r\n\r\n" + bytes(response.body)


def deadline_protocol(settings: ServiceSettings) -> type[DeadlineProtocol]:
    """Return the protocol class with the limits of *settings*."""
    return type("DeadlineProtocol", (DeadlineProtocol,), {"settings": settings})
