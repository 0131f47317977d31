"""The call of ``ledger.append``: requests to parameters, rows to answers.

It uses the driver's connection directly (design §5): one prepared statement, binary parameters, one round trip. A
connection that must not prepare statements sends the text each time. The statement has guards (trust D-8, D-9,
D-11): if the connection no longer has the role it was opened with, or does not commit synchronously, the namespace
is null and the function refuses.
"""

import struct
from collections.abc import Generator, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

from psycopg import AsyncConnection, generators
from psycopg.errors import InvalidSqlStatementName, error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from ledger.chain import place
from ledger.errors import (
    IdempotencyMismatch,
    InvalidInput,
    LedgerError,
    LogCorrupted,
    StreamClosed,
    StreamNameMismatch,
    VersionConflict,
    VersionNotFound,
)
from ledger.events import NewEvent
from ledger.limits import EVENTS_PER_APPEND
from ledger.ports import Appended, AppendRequest, Receipt
from ledger.stores.postgres import arrays

_NAME: Final = b"ledger_append"
_STATEMENT: Final = b"""
SELECT a.request, a.event, a.code, a.replayed, a.version, a.position, a.event_id, a.recorded_us, a.previous_hash,
    a.hash, a.stream_id
FROM ledger.append(
    CASE
        WHEN current_user = $2 AND (current_setting('synchronous_commit') <> 'off' OR $3)
        THEN set_config('ledger.namespace', $1, true)::uuid
    END,
    $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26,
    $27, $28, $29, $30, $31
) AS a
"""
_OIDS: Final = [
    *(25, 25, 16),  # namespace id as text, role, whether unsafe settings were allowed
    *(2951, 1009, 1009),  # heads: uuid, text, text
    *(2951, 1001, 1000, 1007),  # requests: uuid, bytea, bool, int4
    *(1007, 1016, 1001, 1185, 1000, 2951, 1016, 1007),  # writes: int4, int8, bytea, timestamptz, bool, uuid, int8, int4
    *(1007, 2951, 1009, 1005, 1005, 1185, 1009, 1009, 2951, 1001, 1001, 1009, 1001),  # events
]
_FORMATS: Final = [1] * len(_OIDS)
_INT4 = struct.Struct("!i").unpack
_INT8 = struct.Struct("!q").unpack


class _Row(NamedTuple):
    """An undecoded row of the answer."""

    request: bytes | None
    event: bytes | None
    code: bytes | None
    replayed: Any
    version: Any
    position: Any
    event_id: Any
    recorded_us: Any
    previous_hash: Any
    hash: Any
    stream_id: Any


class AppendConnection:
    """A database connection that appends; used by one caller at a time."""

    def __init__(self, connection: AsyncConnection[Any], *, role: str, allow_unsafe: bool = False) -> None:
        self.connection = connection
        self._role = role.encode()
        self._allow_unsafe = allow_unsafe
        self._prepared = False

    async def append(self, requests: Sequence[AppendRequest], *, retry: bool = False) -> list[Appended | LedgerError]:
        """Execute *requests* in one call and return an answer for each: receipts, or the error.

        With *retry* the database checks whether an earlier attempt, whose answer was lost, was committed. All
        requests must have events, belong to one namespace and have different request ids.

        Raises:
            psycopg.Error: the call as a whole failed; nothing was written.
            LogCorrupted: the database computed another hash than this process.
        """
        pgconn = self.connection.pgconn
        prepares = self.connection.prepare_threshold is not None
        if prepares and not self._prepared:
            pgconn.send_prepare(_NAME, _STATEMENT, _OIDS)
            await self._result()
            self._prepared = True
        parameters = _parameters(requests, retry=retry)
        guard = [parameters[0], self._role, arrays.TRUE if self._allow_unsafe else arrays.FALSE]
        values = [*guard, *parameters[1:]]
        if prepares:
            pgconn.send_query_prepared(_NAME, values, _FORMATS, 1)
        else:
            pgconn.send_query_params(_STATEMENT, values, _OIDS, _FORMATS, 1)
        try:
            return _answers(requests, await self._result())
        except InvalidSqlStatementName:
            self._prepared = False  # the driver drops all statements of a connection after a rollback
            raise

    async def _result(self) -> PGresult:
        running: Generator[Any, Any, list[PGresult]] = generators.execute(self.connection.pgconn)
        result = (await self.connection.wait(running))[-1]
        if result.status not in {ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK}:
            raise error_from_result(result)
        return result


def _parameters(requests: Sequence[AppendRequest], *, retry: bool) -> list[bytes | None]:
    """Return the namespace id and the arrays, in the order of the parameters of ``ledger.append``."""
    guarded = [
        [write for write in request.writes if write.events or write.expected_version is not None]
        for request in requests
    ]
    writes = [write for request in guarded for write in request]
    streams = {write.stream.stream_id: write.stream for write in writes}
    heads = sorted(streams)
    place_of = {stream_id: arrays.int4(index) for index, stream_id in enumerate(heads, start=1)}
    expected = [0 if write.forked_from else write.expected_version for write in writes]
    forks = [write.forked_from for write in writes]
    return [
        str(writes[0].stream.namespace_id).encode(),
        arrays.UUID.dump([stream_id.bytes for stream_id in heads]),
        arrays.TEXT.dump([streams[stream_id].user_id.encode() for stream_id in heads]),
        arrays.TEXT.dump([streams[stream_id].session_id.encode() for stream_id in heads]),
        arrays.UUID.dump_sparse(
            [None if request.request_id is None else request.request_id.bytes for request in requests]
        ),
        arrays.BYTEA.dump_sparse([request.request_hash for request in requests]),
        arrays.BOOL.dump([arrays.TRUE] * len(requests)) if retry else None,
        arrays.INT4.dump([arrays.int4(len(request)) for request in guarded]),
        arrays.INT4.dump([place_of[write.stream.stream_id] for write in writes]),
        arrays.INT8.dump_sparse([None if at is None else arrays.int8(at) for at in expected]),
        arrays.BYTEA.dump_sparse([write.config_digest for write in writes]),
        None,  # expires_at: set by the service
        arrays.BOOL.dump_sparse([None if write.ended is None else bytes([write.ended]) for write in writes]),
        arrays.UUID.dump_sparse([None if fork is None else fork[0].stream_id.bytes for fork in forks]),
        arrays.INT8.dump_sparse([None if fork is None else arrays.int8(fork[1]) for fork in forks]),
        arrays.INT4.dump([arrays.int4(len(write.events)) for write in writes]),
        arrays.INT4.dump([place_of[write.stream.stream_id] for write in writes for _ in write.events]),
        *_event_arrays([event for write in writes for event in write.events]),
    ]


def _event_arrays(events: Sequence[NewEvent]) -> list[bytes | None]:
    return [
        arrays.UUID.dump([event.event_id.bytes for event in events]),
        arrays.TEXT.dump([event.type.encode() for event in events]),
        arrays.INT2.dump([arrays.int2(event.schema_version) for event in events]),
        arrays.INT2.dump([arrays.int2(event.codec) for event in events]),
        arrays.TIMESTAMPTZ.dump([arrays.timestamptz(event.occurred_us) for event in events]),
        arrays.TEXT.dump([event.actor.encode() for event in events]),
        arrays.TEXT.dump_sparse([None if event.item_id is None else event.item_id.encode() for event in events]),
        arrays.UUID.dump_sparse([None if event.key_id is None else event.key_id.bytes for event in events]),
        arrays.BYTEA.dump_sparse([event.key_commitment for event in events]),
        None,  # mac: second stage
        None,  # trace: set by the service
        arrays.BYTEA.dump([event.payload for event in events]),
    ]


def _answers(requests: Sequence[AppendRequest], result: PGresult) -> list[Appended | LedgerError]:
    """Return one answer for each request, from rows that name a request or an event (both from 1)."""
    owners = [index for index, request in enumerate(requests) for write in request.writes for _ in write.events]
    rows: list[list[_Row]] = [[] for _ in requests]
    for number in range(result.ntuples):
        row = _Row(*(result.get_value(number, column) for column in range(11)))
        owner = owners[_INT4(row.event)[0] - 1] if row.event is not None else _INT4(row.request or b"")[0] - 1
        rows[owner].append(row)
    return [_answer(request, own) for request, own in zip(requests, rows, strict=True)]


def _answer(request: AppendRequest, rows: list[_Row]) -> Appended | LedgerError:
    if len(rows) == 1 and rows[0].code is not None:
        return _refusal(rows[0].code.decode(), rows[0])
    if rows and rows[0].replayed == arrays.TRUE:
        return _first_answer(request, rows)
    events = [(write.stream, event) for write in request.writes for event in write.events]
    if len(rows) != len(events):
        return LogCorrupted("an append returned a wrong number of events; run `memory-ledger verify`")
    receipts = []
    for row, (stream, new) in zip(rows, events, strict=True):
        version, position = _INT8(row.version)[0], _INT8(row.position)[0]
        recorded_us = _INT8(row.recorded_us)[0]
        expected = place(
            new,
            namespace_id=stream.namespace_id,
            stream_id=stream.stream_id,
            version=version,
            position=position,
            recorded_us=recorded_us,
            previous_hash=row.previous_hash,
        )
        if expected.hash != row.hash:
            return LogCorrupted(f"the database hashed event {version} differently; run `memory-ledger doctor`")
        receipts.append(Receipt(stream.stream_id, version, position, new.event_id, recorded_us, row.hash))
    return Appended(tuple(receipts))


def _first_answer(request: AppendRequest, rows: list[_Row]) -> Appended:
    """Return the receipts of an earlier attempt: a client's (replayed), or ours, if its answer was lost."""
    receipts = tuple(
        Receipt(
            UUID(bytes=row.stream_id),
            _INT8(row.version)[0],
            _INT8(row.position)[0],
            UUID(bytes=row.event_id),
            _INT8(row.recorded_us)[0],
            row.hash,
        )
        for row in rows
    )
    own = [event.event_id for write in request.writes for event in write.events]
    return Appended(receipts, replayed=[receipt.event_id for receipt in receipts] != own)


def _refusal(code: str, row: _Row) -> LedgerError:
    """Return the error of an LG code (trust R-7)."""
    match code:
        case "LG001":
            return VersionConflict(current=_INT8(row.version)[0], expected=_INT8(row.position)[0])
        case "LG002":
            return StreamClosed()
        case "LG003":
            return IdempotencyMismatch()
        case "LG004":
            return InvalidInput(
                "batch_size", f"at most {EVENTS_PER_APPEND} events in one append", limit=EVENTS_PER_APPEND
            )
        case "LG006":
            return StreamNameMismatch()
        case "LG007":
            return VersionNotFound("the session to fork has no such version; read which it has")
        case _:
            return LogCorrupted(f"append answered {code!r}, which this release does not know")
