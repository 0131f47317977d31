"""A lone caller waits a moment for the database without the event loop; nothing depends on whether the answer came."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from ledger.stores.postgres import append_call, moments
from ledger.stores.postgres.append_call import AppendConnection
from ledger.stores.postgres.moments import Moments


class Connection:
    """The part of libpq's connection that is used."""

    def __init__(self) -> None:
        self.ours, self.server = socket.socketpair()
        self.socket = self.ours.fileno()
        self.flushed, self.read = 0, b""

    def flush(self) -> int:
        self.flushed += 1
        return 0

    def consume_input(self) -> None:
        self.read += self.ours.recv(100)


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    monkeypatch.setattr(moments, "_MOMENT_MS", 1)
    opened = Connection()
    with opened.ours, opened.server:
        yield opened


def test_an_answer_that_is_there_is_read_at_once(connection: Connection) -> None:
    connection.server.send(b"answer")
    assert Moments(connection).wait()  # type: ignore[arg-type]
    assert (connection.flushed, connection.read) == (1, b"answer")


def test_a_late_answer_is_left_to_the_event_loop(connection: Connection) -> None:
    assert not Moments(connection).wait()  # type: ignore[arg-type]
    assert connection.read == b""


class Stubborn(Moments):
    """Negative control: waits each time."""

    def wait(self) -> bool:
        self._left = 0
        return super().wait()


@pytest.mark.parametrize(("kind", "rare"), [(Moments, True), (Stubborn, False)])
def test_while_answers_are_late_moments_become_rare(connection: Connection, kind: type[Moments], rare: bool) -> None:
    waits = kind(connection)  # type: ignore[arg-type]
    assert not any(waits.wait() for _ in range(100))
    assert (connection.flushed < 10) == rare


def test_one_answer_in_time_brings_them_back(connection: Connection) -> None:
    waits = Moments(connection)  # type: ignore[arg-type]
    while waits._left < 15:
        waits.wait()
    connection.server.send(b"answer")
    while not waits.wait():
        pass
    connection.server.send(b"answer")
    assert waits.wait(), "the next one is not left out"


async def test_only_a_lone_call_waits_so(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[str] = []

    class Driver:
        pgconn: Any = type("Pgconn", (), {"socket": 0})()

        async def wait(self, running: object) -> list[Any]:
            return [type("Result", (), {"status": append_call.ExecStatus.TUPLES_OK})()]

    monkeypatch.setattr(append_call.generators, "execute", lambda pgconn: None)
    monkeypatch.setattr(Moments, "wait", lambda self: waited.append("a moment"))
    connection = AppendConnection(Driver(), role="ledger_app")  # type: ignore[arg-type]
    await connection._result()
    assert waited == [], "an asynchronous program has other things to do"
    append_call.keeps_nobody_waiting.set(lambda: True)
    await connection._result()
    assert waited == ["a moment"]
