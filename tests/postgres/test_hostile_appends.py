"""Whatever arguments the application's role sends to `append`, the ledger verifies. Source: trust R-3, A-23."""

import itertools
import struct
from collections.abc import Callable, Iterator

import psycopg
import pytest

from ledger.events.ids import Stream, namespace_id
from ledger.stores.postgres import PostgresStore
from ledger.stores.postgres.append_call import _BATCH, _STREAM, AppendConnection, _batch, _one_stream
from ledger.stores.postgres.migration import migrations_dir
from ledger.verification import verify_namespace
from tests.postgres.conftest import opened
from tests.support.databases import Server
from tests.support.store_requests import a_request, a_write, an_event, append, some_events
from tests.support.vandal import without_schema

pytestmark = pytest.mark.postgres

NAMESPACE = "hostile"
ONE, OTHER, NEW = (Stream.of(NAMESPACE, name, "user-1") for name in ("one", "other", "new"))
#: Of the values of a call without its guards; the first two are no arrays. Event ids are the application's own:
#: `verify` reports a repeated one.
ARRAYS = [index for index in range(2, 26) if index != 16]
STREAM_ARRAYS = range(11, 20)
KEYS = map(str, itertools.count()).__next__
HEADER = struct.Struct("!iiIii")
LENGTH = struct.Struct("!i")

Values = list[bytes | None]


def honest() -> Values:
    """Return the values of a call with a value in every array: two requests, three writes, five events."""
    requests = [
        a_request(a_write(ONE, *some_events(2), expected=-1), a_write(NEW, an_event(item_id="x")), key=KEYS()),
        a_request(a_write(OTHER, *some_events(2)), key=KEYS()),
    ]
    return _batch(requests, retry=False)


def honest_stream() -> Values:
    """Return the values of a call for one stream."""
    values = _one_stream(a_request(a_write(ONE, *some_events(2), an_event(item_id="x")), key=KEYS()))
    assert values is not None
    return values


def elements(array: bytes) -> list[bytes | None]:
    """Return the elements of a one-dimensional array in binary form."""
    found: list[bytes | None] = []
    at = HEADER.size
    while at < len(array):
        (length,) = LENGTH.unpack_from(array, at)
        at += LENGTH.size
        found.append(None if length < 0 else array[at : at + length])
        at += max(length, 0)
    return found


def array_of(element_oid: int, parts: list[bytes | None], *, lower_bound: int = 1) -> bytes:
    """Return an array in binary form."""
    written = (b"\xff\xff\xff\xff" if part is None else LENGTH.pack(len(part)) + part for part in parts)
    header = HEADER.pack(1, None in parts, element_oid, len(parts), lower_bound)
    return header + b"".join(written) if parts else header[:0] + struct.pack("!iiI", 0, 0, element_oid)


#: What is done to one array of a call.
CHANGES: dict[str, Callable[[int, list[bytes | None]], bytes]] = {
    "one element less": lambda oid, parts: array_of(oid, parts[:-1]),
    "one element more": lambda oid, parts: array_of(oid, [*parts, parts[-1]]),
    "no element": lambda oid, parts: array_of(oid, []),
    "from 0": lambda oid, parts: array_of(oid, parts, lower_bound=0),
    "from 2": lambda oid, parts: array_of(oid, parts, lower_bound=2),
    "a null first": lambda oid, parts: array_of(oid, [None, *parts[1:]]),
    "a null last": lambda oid, parts: array_of(oid, [*parts[:-1], None]),
    "turned round": lambda oid, parts: array_of(oid, parts[::-1]),
    "one twice": lambda oid, parts: array_of(oid, [parts[-1], *parts[1:]]),
}
#: Numbers of writes, of heads and of events that no honest call has.
NUMBERS = ([-1, 4, 2], [0, 3, 2], [2, 0, 3], [5, 0, 0], [1, 1], [3, -1], [4, 1], [2, 2, 2])
COUNTED = (7, 8, 15)  # r_writes, w_head, w_events


def hostile_calls() -> Iterator[tuple[str, bytes, Values]]:
    """Yield calls, each wrong in one array."""
    for statement, call, indexes in ((_BATCH, honest, ARRAYS), (_STREAM, honest_stream, STREAM_ARRAYS)):
        for index in indexes:
            for name, change in CHANGES.items():
                values = call()
                value = values[index]
                if value is not None:
                    values[index] = change(HEADER.unpack_from(value)[2], elements(value))
                    yield f"{statement.decode()} {index}: {name}", statement, values
            values = call()
            values[index] = None
            yield f"{statement.decode()} {index}: null", statement, values
    for index in COUNTED:
        for numbers in NUMBERS:
            values = honest()
            values[index] = array_of(23, [LENGTH.pack(number) for number in numbers])
            yield f"array {index}: {numbers}", _BATCH, values


async def attack(store: PostgresStore, url: str, role: str) -> list[str]:
    """Send every hostile call and return what was found wrong with the log after one of them."""
    without_schema(store)
    await append(store, ONE, *some_events(3))
    await append(store, OTHER, an_event())
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        appender = AppendConnection(connection, role=role)
        for name, statement, values in hostile_calls():
            before = await store.events.overview(namespace_id(NAMESPACE))
            try:
                await appender._call(statement, values)
            except psycopg.Error:
                assert await store.events.overview(namespace_id(NAMESPACE)) == before, name
            report = await verify_namespace(store, NAMESPACE)
            if not report.ok:
                return [f"{name}: {finding.problem}" for finding in report.findings]
    return []


@pytest.mark.full
async def test_no_arguments_of_the_application_spoil_the_ledger(
    server: Server, fresh_database: str, fresh_store: PostgresStore, app_login: str
) -> None:
    assert await attack(fresh_store, server.url_of(app_login, fresh_database), app_login) == []
    async with opened(server.target(fresh_database)) as store:
        assert (await verify_namespace(store, NAMESPACE)).ok, "the schema is as it was"
    info = await fresh_store.events.namespace(namespace_id(NAMESPACE))
    assert info is not None
    assert info.last_position > 4, "no call was accepted: the calls are wrong in another way than they should be"


async def test_an_append_that_numbers_what_it_refuses_is_caught(
    server: Server, fresh_database: str, fresh_store: PostgresStore, app_login: str
) -> None:
    """Negative control."""
    script = (migrations_dir() / "sql" / "append.sql").read_text()
    broken = script.replace("last_position = v_last + v_count", "last_position = v_last + cardinality(e_event_id)")
    assert broken != script
    with server.superuser(fresh_database) as mighty:
        mighty.execute("SET ROLE ledger_owner")
        mighty.execute(broken.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1))
    assert await attack(fresh_store, server.url_of(app_login, fresh_database), app_login) != []
