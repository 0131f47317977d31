"""Bytes over a socket, for requests that no client would send."""

import json
import socket
from dataclasses import dataclass
from typing import Any

from tests.server.conftest import Running


@dataclass(frozen=True)
class Answer:
    """What came back; *closed* tells whether the server closed the connection then."""

    status: int
    headers: dict[str, str]
    body: bytes
    closed: bool

    @property
    def code(self) -> str:
        """The code of a problem."""
        return str(self.json.get("code", ""))

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)


def head(method: str, path: str, *lines: str, host: str | None = "localhost") -> bytes:
    """Return the head of a request."""
    hosts = [] if host is None else [f"Host: {host}"]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *hosts, *lines, "", ""]).encode("latin-1")


def exchange(service: Running, *pieces: bytes, patience_s: float = 10, half_close: bool = False) -> Answer:
    """Send *pieces*, ignoring a server that no longer listens, and return what it answered."""
    with connected(service, patience_s) as sock:
        try:
            for piece in pieces:
                sock.sendall(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass
        if half_close:
            sock.shutdown(socket.SHUT_WR)
        return receive(sock)


def connected(service: Running, patience_s: float = 10) -> socket.socket:
    """Return a connection."""
    sock = socket.create_connection(("127.0.0.1", service.port), timeout=patience_s)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def receive(sock: socket.socket) -> Answer:
    """Read one answer with a Content-Length, or none."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = sock.recv(65536)
        if not piece:
            return Answer(0, {}, data, closed=True)
        data += piece
    top, _, body = data.partition(b"\r\n\r\n")
    first, *lines = top.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length = int(headers.get("content-length", 0))
    while len(body) < length:
        piece = sock.recv(65536)
        if not piece:
            break
        body += piece
    return Answer(int(first.split(" ")[1]), headers, body, closed=headers.get("connection") == "close" and _ended(sock))


def _ended(sock: socket.socket) -> bool:
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
