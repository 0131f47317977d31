"""An export file that was changed is refused at the changed line, and nothing is stored.

Source: trust P-12, I-36, I-68, I-69, I-72.
"""

import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from hashlib import sha256
from typing import Any

import pytest

from ledger.errors import ImportRefused, InvalidInput, LedgerError, SessionNotFound
from ledger.events import ExpirySet
from ledger.events.canonical import canonical_json
from ledger.events.clock import SystemClock
from ledger.events.ids import Stream
from ledger.formats.export import file_reader as transfer_reader
from ledger.formats.export import trailers
from ledger.formats.export.file_lines import Head, Header, Trailer
from ledger.formats.export.file_reader import check
from ledger.memory import MemoryLedger
from ledger.ports.event_encoding import append_request
from ledger.stores.in_memory import InMemoryStore
from tests.support.ledgers import ledger_over

JUNK: tuple[Any, ...] = (None, True, -1, 2**70, 1.5, "", "zz", "\u202e", "0" * 63, [], {}, [[]])
NAMES = ("/records", "a/../b", "..", " padded", "tab\t", "bell\a", "\u202edesrever", "x" * 256, "a\x1fb")


async def a_file(ledger: MemoryLedger, session_id: str = "s") -> list[bytes]:
    await ledger.add_user_message(session_id, "What is in the log?")
    await ledger.add_tool_call(session_id, "search", {"q": "log"}, tool_call_id="c1")
    await ledger.add_tool_result(session_id, "search", "events", tool_call_id="c1")
    return [line async for line in ledger.export_file(session_id)]


def signed(lines: list[bytes], change: Callable[[dict[str, Any]], None] = lambda trailer: None) -> list[bytes]:
    """Return *lines* with a trailer that counts them as they are, as an attacker would write it."""
    trailer = json.loads(lines[-1])
    trailer["events"] = len(lines) - 2
    trailer["sha256"] = sha256(b"".join(lines[:-1])).hexdigest()
    change(trailer)
    return [*lines[:-1], json.dumps(trailer).encode() + b"\n"]


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [path for key, inner in value.items() for path in ((*at, key), *paths(inner, (*at, key)))]
    if isinstance(value, list):
        return [path for place, inner in enumerate(value) for path in paths(inner, (*at, place))]
    return []


def put(value: Any, path: tuple[Any, ...], junk: Any) -> Any:
    if not path:
        return junk
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = put(value[path[0]], path[1:], junk)
    return copy


def refusal(lines: list[bytes]) -> LedgerError | None:
    try:
        check(lines)
    except LedgerError as refused:
        return refused
    return None


async def a_fork(ledger: MemoryLedger, session_id: str | None = "f") -> list[bytes]:
    """Return the file of a fork, which goes on from version 2 of another session; or of their namespace."""
    await ledger.add_user_message("s", "What is in the log?")
    await ledger.add_user_message("s", "And in the fork?")
    await ledger.fork("s", "f", version=2)
    await ledger.add_user_message("f", "This.")
    return [line async for line in ledger.export_file(session_id)]


@pytest.mark.parametrize("write", [a_file, a_fork])
async def test_any_field_of_any_line_may_be_anything_and_only_the_file_suffers(
    ledger: MemoryLedger, write: Callable[[MemoryLedger], Awaitable[list[bytes]]]
) -> None:
    lines = await write(ledger)
    assert refusal(lines) is None
    tried = 0
    for number, line in enumerate(lines):
        value = json.loads(line)
        for path in paths(value):
            for junk in JUNK:
                if (path, junk) == (("session",), None):
                    continue  # a file of both sessions, which it holds as well
                mutant = [*lines]
                mutant[number] = json.dumps(put(value, path, junk)).encode() + b"\n"
                mutant = mutant if number == len(lines) - 1 else signed(mutant)
                assert isinstance(refusal(mutant), ImportRefused) or json.loads(mutant[number]) == value, (path, junk)
                tried += 1
    assert tried > 500


async def test_a_line_that_is_read_fast_is_refused_as_one_that_is_parsed_strictly(
    ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = await a_file(ledger)
    cases = []
    for number, line in enumerate(lines[1:-1], start=1):
        value = json.loads(line)
        for path in paths(value)[1:]:
            for junk in (*JUNK, "a\0b", "1" * 300, 1, "0" * 64, "ab", value["stream_id"].upper()):
                mutant = canonical_json(put(value, path, junk)) + b"\n"
                cases.append(signed([*lines[:number], mutant, *lines[number + 1 :]]))
        cases.append(signed([*lines[:number], line[:-2] + b', "position": 1}\n', *lines[number + 1 :]]))
        cases.append(signed([*lines[:number], line[:-2] + b',"actor":""}\n', *lines[number + 1 :]]))
    fast = [str(refusal(case)) for case in cases]
    monkeypatch.setattr(transfer_reader, "_as_written", lambda line: None)
    assert fast == [str(refusal(case)) for case in cases]
    assert refusal(lines) is None


@pytest.mark.parametrize("ttl_seconds", [10**12, 10**30, 0, -(10**30)])
async def test_a_lifetime_out_of_range_is_refused_and_one_that_is_stored_breaks_nothing(
    namespace: str, ttl_seconds: int
) -> None:
    store, clock = InMemoryStore(), SystemClock()
    ledger = ledger_over(store, namespace=namespace)
    await ledger.add_user_message("other", "hello")
    await ledger.add_user_message("s", "hello")
    expiry = [ExpirySet(write_id="w", ttl_seconds=ttl_seconds)]
    stream = Stream.of(namespace, "s")
    await store.events.append(append_request(stream, expiry, expected_version=2, clock=clock, actor=""))
    assert {row.session_id for row in await ledger.list_sessions()} == {"s", "other"}
    state = await ledger.get_state("s")
    assert state.working.expires_at is not None
    assert (state.working.expires_at > clock.now() + timedelta(days=1)) == (ttl_seconds > 0)
    await ledger.add_user_message("s", "hello again")
    with pytest.raises(ImportRefused, match="line 4: ttl_seconds of the expiry must be between 1 and 1000000000"):
        check([line async for line in ledger.export_file("s")])


@pytest.mark.parametrize("changed", ["a payload", "one event more", "one event less", "nothing left"])
async def test_a_file_that_changes_between_its_check_and_its_use_is_refused(ledger: MemoryLedger, changed: str) -> None:
    lines = await a_file(ledger)
    await ledger.add_user_message("s", "And now?")
    longer = [line async for line in ledger.export_file("s")]
    forged = json.loads(lines[2])
    forged["content"] = json.loads(longer[3])["content"]
    later = {
        "a payload": [*lines[:2], canonical_json(forged) + b"\n", *lines[3:]],
        "one event more": longer,
        "one event less": lines[:-2],
        "nothing left": [],
    }[changed]
    readings = iter([lines, later])
    async with MemoryLedger.open(namespace="elsewhere", store=InMemoryStore()) as other:
        if changed == "one event more":  # what was checked is at the beginning of the file, unchanged
            assert (await other.import_file(lambda: next(readings))).entries == 3
            return
        with pytest.raises(ImportRefused, match="changed while it was read"):
            await other.import_file(lambda: next(readings))
        assert await other.list_sessions() == []


@pytest.mark.parametrize("damage", ["gap", "swap", "twice", "cut", "no trailer", "after the trailer", "another header"])
async def test_the_first_bad_line_is_named(ledger: MemoryLedger, damage: str) -> None:
    header, item, two, three, four, trailer = await a_file(ledger)
    mutants: dict[str, tuple[list[bytes], int]] = {
        "gap": (signed([header, item, three, four, trailer]), 3),
        "swap": (signed([header, item, three, two, four, trailer]), 3),
        "twice": (signed([header, item, item, two, three, four, trailer]), 3),
        "cut": (signed([header, item, two, three, trailer]), 5),
        "no trailer": ([header, item, two, three, four], 6),
        "after the trailer": ([header, item, two, three, four, trailer, item], 7),
        "another header": (signed([header.replace(b'"default"', b'"other"'), item, two, three, four, trailer]), 2),
    }
    if damage == "another header":
        namespace = json.loads(header)["namespace"].encode()
        mutants[damage] = (signed([header.replace(namespace, b"other"), item, two, three, four, trailer]), 2)
    mutant, line = mutants[damage]
    refused = refusal(mutant)
    assert isinstance(refused, ImportRefused)
    assert refused.line == line


@pytest.mark.parametrize("name", NAMES, ids=ascii)
async def test_a_session_with_a_forbidden_name_is_refused(ledger: MemoryLedger, name: str) -> None:
    lines = await a_file(ledger)
    head = Head(Stream.of(json.loads(lines[0])["namespace"], name).stream_id, "", name, 1, "0" * 64)
    trailer, header, *_ = a_trailer_that_fits(lines, head)
    with pytest.raises(ImportRefused) as refused:
        trailers.check_names(trailer, header, {head.stream_id: {False}}, len(lines))
    assert refused.value.code == "bad_name"
    with pytest.raises(InvalidInput):
        await ledger.import_file(lambda: lines, session_id=name)
    with pytest.raises(InvalidInput):
        await ledger.import_file(lambda: lines, user_id=name, session_id="t")
    with pytest.raises(SessionNotFound):
        await ledger.get_state("t")


async def test_records_come_in_a_stream_of_their_own_and_nothing_else_in_it(ledger: MemoryLedger) -> None:
    """Trust R-1."""
    lines = await a_file(ledger)
    namespace = json.loads(lines[0])["namespace"]
    for name, holds, code in (
        ("/records", {True}, None),
        ("/records", {True, False}, "mixed_stream"),
        ("s", {True}, "bad_name"),
        ("s", {True, False}, "mixed_stream"),
    ):
        head = Head(Stream.of(namespace, name).stream_id, "", name, 1, "0" * 64)
        trailer, header, *_ = a_trailer_that_fits(lines, head)
        if code is None:
            trailers.check_names(trailer, header, {head.stream_id: holds}, 1)
            continue
        with pytest.raises(ImportRefused) as refused:
            trailers.check_names(trailer, header, {head.stream_id: holds}, 1)
        assert refused.value.code == code


def a_trailer_that_fits(lines: list[bytes], head: Head) -> tuple[Trailer, Header, Any, int, str, int]:
    """Return the arguments of the last check for a file whose only fault is the name in *head*."""
    header = transfer_reader.ExportReader()
    list(header.events(lines))
    assert header.header is not None
    heads = {head.stream_id: (head.version, bytes.fromhex(head.hash))}
    return Trailer(1, "digest", (head,)), header.header, heads, 1, "digest", len(lines)


async def test_a_check_without_hashes_would_let_a_changed_payload_pass(
    ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = await a_file(ledger)
    event = json.loads(lines[2])
    lines[2] = json.dumps({**event, "actor": "mallory"}).encode() + b"\n"
    assert isinstance(refusal(signed(lines)), ImportRefused)
    hashes = iter(bytes.fromhex(json.loads(line)["hash"]) for line in lines[1:-1])
    monkeypatch.setattr(transfer_reader, "event_hash", lambda event, previous: next(hashes))
    assert refusal(signed(lines)) is None


def with_header(lines: list[bytes], **fields: Any) -> list[bytes]:
    header = {name: value for name, value in {**json.loads(lines[0]), **fields}.items() if value is not None}
    return signed([json.dumps(header).encode() + b"\n", *lines[1:]])


async def test_a_fork_continues_from_events_before_it_in_the_file(ledger: MemoryLedger) -> None:
    """trust H-16: the header says where, the event itself, and the hash; all three must agree."""
    lines = await a_fork(ledger)
    fork = json.loads(lines[0])["forks"][0]
    other = str(Stream.of("default", "other").stream_id)
    cases = {
        "version_gap": [
            with_header(lines, forks=None, session=None),
            with_header(lines, forks=[{**fork, "version": 3}]),
            with_header(lines, forks=[{**fork, "parent_id": other}]),
            with_header(lines, forks=[{**fork, "parent_id": fork["stream_id"]}]),
            with_header([lines[0], *lines[3:]]),
        ],
        "trailer_mismatch": [with_header(lines, session=other)],
    }
    for code, files in cases.items():
        for number, file in enumerate(files):
            refused = refusal(file)
            assert isinstance(refused, ImportRefused), (code, number)
            assert refused.code == code, (number, refused)
    assert refusal(with_header(lines)) is None


async def test_a_fork_that_was_given_another_parent_is_refused(ledger: MemoryLedger) -> None:
    """Another session whose event at that version has any hash: what was said at the forking tells them apart."""
    await ledger.add_user_message("other", "another history")
    lines = await a_fork(ledger, None)
    header = json.loads(lines[0])
    other = str(Stream.of(header["namespace"], "other").stream_id)
    moved = with_header(lines, forks=[{**header["forks"][0], "parent_id": other}])
    refused = refusal(moved)
    assert isinstance(refused, ImportRefused)
    assert refused.code == "fork_mismatch"


async def test_a_file_that_names_a_session_and_its_part_is_imported_once(ledger: MemoryLedger) -> None:
    lines = await a_fork(ledger)
    async with MemoryLedger.open(namespace="elsewhere", store=InMemoryStore()) as other:
        with pytest.raises(ImportRefused):
            await other.import_file(lambda: with_header(lines, session=str(Stream.of("default", "s").stream_id)[:-1]))
        assert await other.list_sessions() == []
        assert (await other.import_file(lambda: lines)).sessions == 1
