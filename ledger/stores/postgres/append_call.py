"""The calls of ``ledger.append`` and ``append_stream``: requests to parameters, rows to answers.

It uses the driver's connection directly (style §3): a prepared statement, binary parameters, one round trip. A
connection that must not prepare statements sends the text each time. The functions have guards (trust D-8, D-9,
D-11): they are sent the role that the connection was opened with, and refuse if it has another one now, or if it does
not commit synchronously.
"""

import struct
from collections.abc import Generator, Sequence
from typing import Any, Final
from uuid import UUID

from psycopg import AsyncConnection, generators
from psycopg.errors import InvalidSqlStatementName, error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

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
from ledger.events.chain import hash_at
from ledger.events.ids import Stream
from ledger.events.limits import EVENTS_PER_APPEND
from ledger.ports import Appended, AppendRequest, Receipt, StreamWrite
from ledger.ports.lone_calls import keeps_nobody_waiting
from ledger.stores.postgres import arrays
from ledger.stores.postgres.moments import Moments

_STREAM: Final = b"ledger_append_stream"
#: More are faster in `append`, which takes no statement for each.
_FEW_EVENTS: Final = 8
_BATCH: Final = b"ledger_append"
_STATEMENTS: Final = {
    _STREAM: b"SELECT ledger.append_stream(" + b", ".join(b"$%d" % number for number in range(1, 24)) + b")",
    _BATCH: b"SELECT a.request, a.code, a.version, a.position, a.recorded_us, a.receipts FROM ledger.append("
    + b", ".join(b"$%d" % number for number in range(1, 30))
    + b") AS a",
}
_EVENT_OIDS: Final = (2951, 1009, 1005, 1005, 1185, 1009, 1009, 2951, 1001, 1001, 1001)
_OIDS: Final = {
    _STREAM: [
        *(2950, 25, 16),  # namespace, role, whether unsafe settings were allowed
        *(2950, 25, 25),  # stream: uuid, text, text
        *(2950, 17, 20, 20, 20, 1184),  # request: uuid, bytea; write: int8, int8, int8, timestamptz
        *_EVENT_OIDS,
    ],
    _BATCH: [
        *(2950, 25, 16, 16),  # namespace, role, whether unsafe settings were allowed, whether an answer was lost
        *(2951, 1009, 1009),  # heads: uuid, text, text
        *(2951, 1001, 1007),  # requests: uuid, bytea, int4
        *(1007, 1016, 1016, 1016, 1185, 2951, 1016, 1007),  # writes: int4, three int8, timestamptz, uuid, …
        *_EVENT_OIDS,
    ],
}
_BINARY: Final = {name: [1] * len(oids) for name, oids in _OIDS.items()}
_INT4 = struct.Struct("!i").unpack
_INT8 = struct.Struct("!q").unpack
_PLACE = struct.Struct("!qq")  # position, time
_RECEIPT = struct.Struct("!q32s32s")  # version, previous hash, hash
_RECEIPTS = struct.Struct("!4xq32s32s")  # … as an element of an array, after its length
_REPEATED = struct.Struct("!4x16sqq16sq32s")  # stream id, version, position, event id, time, hash

_Values = list[bytes | None]


class AppendConnection:
    """A database connection that appends; used by one caller at a time."""

    def __init__(self, connection: AsyncConnection[Any], *, role: str, allow_unsafe: bool = False) -> None:
        self.connection = connection
        self._guard = (role.encode(), arrays.TRUE if allow_unsafe else arrays.FALSE)
        self._prepared: set[bytes] = set()
        self._moments = Moments(connection.pgconn)

    async def append(self, requests: Sequence[AppendRequest], *, retry: bool = False) -> list[Appended | LedgerError]:
        """Execute *requests* in one call and return an answer for each: receipts, or the error.

        With *retry* the database checks whether an earlier attempt, whose answer was lost, was committed. All
        requests must have events, belong to one namespace and have different request ids.

        Raises:
            psycopg.Error: the call as a whole failed; nothing was written.
            LogCorrupted: the database computed another hash than this process.
        """
        if len(requests) == 1 and not retry:
            values = _one_stream(requests[0])
            if values is not None:
                result = await self._call(_STREAM, values)
                packed = result.get_value(0, 0)
                if packed is not None:
                    position, recorded_us = _PLACE.unpack_from(packed)
                    return _appended(requests, position, recorded_us, packed[_PLACE.size :], _RECEIPT)
        return _answers(requests, await self._call(_BATCH, _batch(requests, retry=retry)))

    async def _call(self, name: bytes, values: _Values) -> PGresult:
        pgconn = self.connection.pgconn
        prepares = self.connection.prepare_threshold is not None
        if prepares and name not in self._prepared:
            pgconn.send_prepare(name, _STATEMENTS[name], _OIDS[name])
            await self._result()
            self._prepared.add(name)
        values[1:1] = self._guard
        if not prepares:
            pgconn.send_query_params(_STATEMENTS[name], values, _OIDS[name], _BINARY[name], 1)
            return await self._result()
        pgconn.send_query_prepared(name, values, _BINARY[name], 1)
        try:
            return await self._result()
        except InvalidSqlStatementName:
            self._prepared.discard(name)  # after a rollback the driver drops all statements; others may be new again
            raise

    async def _result(self) -> PGresult:
        if keeps_nobody_waiting.get()():
            self._moments.wait()
        running: Generator[Any, Any, list[PGresult]] = generators.execute(self.connection.pgconn)
        result = (await self.connection.wait(running))[-1]
        if result.status not in {ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK}:
            raise error_from_result(result)
        return result


def _one_stream(request: AppendRequest) -> _Values | None:
    """Return the parameters of ``ledger.append_stream``, without the guards; None if *request* needs ``append``."""
    write = request.writes[0]
    if len(request.writes) > 1 or len(write.events) > _FEW_EVENTS or write.forked_from is not None:
        return None
    return [
        write.stream.namespace_id.bytes,
        write.stream.stream_id.bytes,
        write.stream.user_id.encode(),
        write.stream.session_id.encode(),
        None if request.request_id is None else request.request_id.bytes,
        request.request_hash,
        None if write.expected_version is None else arrays.int8(write.expected_version),
        None if write.items_after is None else arrays.int8(write.items_after),
        None if write.life_after is None else arrays.int8(write.life_after),
        None if write.live_until_us is None else arrays.timestamptz(write.live_until_us),
        *_event_arrays(write.events),
    ]


def _batch(requests: Sequence[AppendRequest], *, retry: bool) -> _Values:
    """Return the parameters of ``ledger.append``, without the guards."""
    conditional = [_with_conditions(request) for request in requests]
    writes = [write for request in conditional for write in request] if len(conditional) > 1 else conditional[0]
    streams: dict[UUID, Stream] = {}
    places: dict[UUID, int] = {}
    heads = []
    for write in writes:
        stream_id = write.stream.stream_id
        heads.append(places.setdefault(stream_id, len(places) + 1))
        streams[stream_id] = write.stream
    single_writes = len(writes) == len(requests)
    single_events = all(len(write.events) == 1 for write in writes)
    forks = [write.forked_from for write in writes]
    expected = [write.expected_version for write in writes]
    items_after = [write.items_after for write in writes]
    life_after = [write.life_after for write in writes]
    live_until = [write.live_until_us for write in writes]
    return [
        writes[0].stream.namespace_id.bytes,
        arrays.TRUE if retry else arrays.FALSE,
        arrays.UUID.dump([stream_id.bytes for stream_id in streams]),
        arrays.TEXT.dump([stream.user_id.encode() for stream in streams.values()]),
        arrays.TEXT.dump([stream.session_id.encode() for stream in streams.values()]),
        arrays.UUID.dump_sparse([each.request_id.bytes if each.request_id else None for each in requests]),
        arrays.BYTEA.dump_sparse([each.request_hash for each in requests]),
        None if single_writes else arrays.INT4.dump([arrays.int4(len(request)) for request in conditional]),
        None if len(streams) == len(writes) else arrays.INT4.dump([arrays.int4(place) for place in heads]),
        arrays.INT8.dump_sparse([None if at is None else arrays.int8(at) for at in expected]),
        arrays.INT8.dump_sparse([None if at is None else arrays.int8(at) for at in items_after]),
        arrays.INT8.dump_sparse([None if at is None else arrays.int8(at) for at in life_after]),
        arrays.TIMESTAMPTZ.dump_sparse([None if at is None else arrays.timestamptz(at) for at in live_until]),
        arrays.UUID.dump_sparse([None if fork is None else fork[0].stream_id.bytes for fork in forks]),
        arrays.INT8.dump_sparse([None if fork is None else arrays.int8(fork[1]) for fork in forks]),
        None if single_events else arrays.INT4.dump([arrays.int4(len(write.events)) for write in writes]),
        *_event_arrays([event for write in writes for event in write.events]),
    ]


def _with_conditions(request: AppendRequest) -> Sequence[StreamWrite]:
    """Return the writes that have events or check a version."""
    if len(request.writes) == 1:
        return request.writes
    return [write for write in request.writes if write.events or write.expected_version is not None]


def _event_arrays(events: Sequence[NewEvent]) -> _Values:
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
        arrays.BYTEA.dump([event.structure for event in events]),
        arrays.BYTEA.dump_sparse([event.content for event in events]),
    ]


def _answers(requests: Sequence[AppendRequest], result: PGresult) -> list[Appended | LedgerError]:
    """Return one answer for each request: from its own row, or else from the row of all appended requests."""
    others: dict[int, Appended | LedgerError] = {}
    first, recorded_us, packed = 0, 0, b""
    for row in range(result.ntuples):
        request, code, version, position, recorded, receipts = (result.get_value(row, column) for column in range(6))
        if request is None:
            first, recorded_us, packed = _INT8(position or b"")[0], _INT8(recorded or b"")[0], receipts or b""
        elif code is None:
            number = _INT4(request)[0] - 1
            others[number] = _first_answer(requests[number], receipts or b"")
        else:
            others[_INT4(request)[0] - 1] = _refusal(code.decode(), version, position)
    appended = [each for number, each in enumerate(requests) if number not in others] if others else requests
    answers = _appended(appended, first, recorded_us, packed[arrays.HEADER_BYTES :], _RECEIPTS)
    if not others:
        return answers
    rest = iter(answers)
    return [others[number] if number in others else next(rest) for number in range(len(requests))]


def _appended(
    requests: Sequence[AppendRequest], position: int, recorded_us: int, packed: bytes, receipt: struct.Struct
) -> list[Appended | LedgerError]:
    """Return the receipts of requests that were appended, after computing each hash again."""
    count = sum([len(write.events) for request in requests for write in request.writes])
    if len(packed) != count * receipt.size:
        wrong = LogCorrupted("an append returned a wrong number of events; run `memory-ledger verify`")
        return [wrong] * len(requests)
    places = receipt.iter_unpack(packed)
    answers: list[Appended | LedgerError] = []
    for request in requests:
        receipts = []
        differs: int | None = None
        follows: bytes | None = None
        for write in request.writes:
            stream = write.stream
            for event, (version, previous_hash, digest) in zip(write.events, places, strict=False):
                if hash_at(event, stream, version, position, recorded_us, previous_hash) != digest:
                    differs = version
                follows = follows or previous_hash
                receipts.append(Receipt(stream.stream_id, version, position, event.event_id, recorded_us, digest))
                position += 1
        if differs is None:
            answers.append(Appended(tuple(receipts), follows=follows))
        else:
            answers.append(LogCorrupted(f"the database hashed event {differs} differently; run `memory-ledger doctor`"))
    return answers


def _first_answer(request: AppendRequest, packed: bytes) -> Appended:
    """Return the receipts of an earlier attempt: a client's (replayed), or ours, if its answer was lost."""
    elements = packed[arrays.HEADER_BYTES :]
    receipts = tuple(
        Receipt(UUID(bytes=stream_id), version, position, UUID(bytes=event_id), recorded_us, digest)
        for stream_id, version, position, event_id, recorded_us, digest in _REPEATED.iter_unpack(elements)
    )
    own = [event.event_id for write in request.writes for event in write.events]
    return Appended(receipts, replayed=[receipt.event_id for receipt in receipts] != own)


def _refusal(code: str, version: bytes | None, position: bytes | None) -> LedgerError:
    """Return the error of an LG code (trust R-7)."""
    match code:
        case "LG001":
            return VersionConflict(current=_INT8(version or b"")[0], expected=_INT8(position or b"")[0])
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
        case "LG008":
            current = _INT8(version or b"")[0]
            return VersionConflict(current=current, expected=current, expired=True)
        case _:
            return LogCorrupted(f"append answered {code!r}, which this release does not know")
