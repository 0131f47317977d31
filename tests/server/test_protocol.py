"""Connections of the service."""

import asyncio
import socket

import uvicorn
from uvicorn.server import ServerState

from ledger.server.http.protocol import DeadlineProtocol, JoinedWrites, deadline_protocol
from ledger.server.service_settings import load_service_settings


async def delays(protocol: type[DeadlineProtocol]) -> list[bool]:
    """Return, for a connection, whether small pieces of an answer wait for each other."""
    seen: list[bool] = []

    class Watched(protocol):  # type: ignore[misc, valid-type]
        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            connection = transport.get_extra_info("socket")
            seen.append(not connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    async def app(scope: object, receive: object, send: object) -> None:
        """Never called."""

    config = uvicorn.Config(app, lifespan="off", log_config=None)
    config.load()
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = await loop.create_server(lambda: Watched(config, ServerState(), {}), sock=listener)
        _, writer = await asyncio.open_connection(*listener.getsockname())
        while not seen:
            await asyncio.sleep(0.01)
        writer.close()
        server.close()
        await server.wait_closed()
    return seen


async def test_a_connection_sends_small_pieces_at_once() -> None:
    """With the protocol of uvicorn alone, as the negative control, each piece waits for an acknowledgement."""
    assert await delays(deadline_protocol(load_service_settings())) == [False]
    unguarded = DeadlineProtocol.__mro__[1]
    assert await delays(unguarded) == [True]


class Recorded(asyncio.Transport):
    """A transport that records what is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent.append(bytes(data))

    def close(self) -> None:
        self.sent.append(b"closed")


async def test_the_head_of_an_answer_and_its_body_are_sent_together() -> None:
    """The transport alone, as the negative control, sends each by itself."""
    transport = Recorded()
    for place in (transport, JoinedWrites(transport, asyncio.get_running_loop())):
        place.write(b"head")
        place.write(b"body")
        await asyncio.sleep(0)
    assert transport.sent == [b"head", b"body", b"headbody"]


async def test_what_was_written_is_sent_before_the_end() -> None:
    transport = Recorded()
    joined = JoinedWrites(transport, asyncio.get_running_loop())
    joined.write(b"last")
    joined.close()
    await asyncio.sleep(0)
    assert transport.sent == [b"last", b"closed"]


async def test_long_pieces_are_sent_at_once_so_that_a_slow_reader_stops_the_writer() -> None:
    transport = Recorded()
    joined = JoinedWrites(transport, asyncio.get_running_loop())
    for _ in range(4):
        joined.write(bytes(10_000))
    assert [len(piece) for piece in transport.sent] == [20_000, 20_000]
