"""Files that are refused: once, clearly, in bounded memory, and with nothing written. Source: trust N-8, §9, P-12."""

import gzip
import io
import json
import os
import tarfile
import tracemalloc
import zipfile
from codecs import BOM_UTF8
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from ledger.cli.import_files import import_one
from ledger.errors import ImportRefused, InvalidInput
from ledger.formats.importers import documents
from ledger.memory import MemoryLedger
from tests.support.importer_samples import SAMPLES

GOOD = (SAMPLES / "openai_messages.jsonl").read_bytes()
MANY = GOOD * 4_000
LONG = b'{"role": "user", "content": "' + b"x" * 1_000_000 + b'"}'
MEMORY = 256 * 1024 * 1024

TakeIn = Callable[[bytes | str], Awaitable[int]]


@pytest.fixture
def take_in(ledger: MemoryLedger, tmp_path: Path) -> TakeIn:
    """Import bytes, or a file by its name, as the command does; return the number of entries."""

    async def import_(source: bytes | str) -> int:
        name = source if isinstance(source, str) else _file(tmp_path, source)
        return (await import_one(ledger, name, None, None, lambda done, total: None)).entries

    return import_


@pytest.fixture
async def refused(ledger: MemoryLedger, take_in: TakeIn) -> Callable[..., Awaitable[None]]:
    """Assert that importing *source* is refused with *code*, at *line* or *byte*, and leaves nothing behind."""

    async def check(source: bytes | str, code: str, *, line: int | None = None, byte: int | None = None) -> None:
        tracemalloc.start()
        try:
            with pytest.raises(InvalidInput) as refusal:
                await take_in(source)
            assert tracemalloc.get_traced_memory()[1] < MEMORY
        finally:
            tracemalloc.stop()
        fault = refusal.value
        assert (fault.code, getattr(fault, "line", None), getattr(fault, "byte", None)) == (code, line, byte)
        assert "\n" not in str(fault)
        assert await ledger.list_sessions() == []

    return check


Refused = Callable[..., Awaitable[None]]


@pytest.mark.parametrize(
    "source",
    [b"{}", b"[]", b"5", b'"text"', b"null", b"[[]]", b'{"messages": 5}', b'[{"text": "no role"}]', b'{"history": []}'],
)
async def test_what_is_no_transcript_is_refused_by_its_format(refused: Refused, source: bytes) -> None:
    await refused(source, "unknown_format")


@pytest.mark.parametrize("source", [b"", b" \n\n", b"\n" * 1000])
async def test_an_empty_file_is_refused(refused: Refused, source: bytes) -> None:
    await refused(source, "empty_file", line=1)


@pytest.mark.parametrize(
    ("source", "code", "line"),
    [
        (b'[{"role": "user"', "invalid_json", 1),
        (b'[\n {"role": "user", "content": "x"},\n {"role": "user", "con', "invalid_json", 3),
        (GOOD + b'{"role": "user", "content": "cut', "invalid_json", 5),
        (GOOD.decode().encode("utf-16-le"), "invalid_json", 1),
        (b"# not JSON\n" + GOOD, "invalid_json", 1),
        (b"\n\n" + GOOD + b"half\n", "invalid_json", 7),
        (b'{"role": "user", "role": "user", "content": "x"}', "duplicate_key", 1),
        (GOOD + b'{"role": "user", "content": NaN}', "invalid_json", 5),
        (GOOD + b'{"role": "user", "content": "a\\u0000b"}', "nul_not_allowed", 5),
        (GOOD + b'{"role": "user", "content": "\\ud800"}', "invalid_unicode", 5),
        (GOOD + b'{"role": "user", "content": "x", "n": 1e400}', "number_out_of_range", 5),
        (GOOD + b'{"role": "user", "content": "x", "n": 18446744073709551616}', "number_out_of_range", 5),
        (GOOD + b'{"role": "user", "content": "x", "n": ' + b"9" * 5_000 + b"}", "number_out_of_range", 5),
        (GOOD + b'{"role": "user", "content": "x", "n": ' + b"[" * 33 + b"]" * 33 + b"}", "too_deep", 5),
        (GOOD + b"[" * 100_000, "too_deep", 5),
        pytest.param(GOOD + b"[" + b",".join([b"0"] * 2_000_001) + b"]", "too_many_values", 5, marks=pytest.mark.full),
        (GOOD + b'{"role": "critic", "content": "x"}', "unknown_role", 5),
        (GOOD + b'{"role": "system\xd1\x83", "content": "x"}', "unknown_role", 5),
        (GOOD + b'{"content": "no role"}', "bad_shape", 5),
        (GOOD + b'{"role": "user", "tool_calls": "x"}', "bad_shape", 5),
    ],
)
async def test_the_first_bad_line_is_named(refused: Refused, source: bytes, code: str, line: int) -> None:
    await refused(source, code, line=line)


@pytest.mark.parametrize(
    ("first", "code"),
    [
        (b'{"role": "user", "content": "x"', "invalid_json"),
        (b'{"role": "user", "content":', "invalid_json"),
        (b'{"role": "user", "content": "cut', "invalid_json"),
        (b'{"role": "user", "content": "x"},', "invalid_json"),
        (b'{"role": "user", "content": "x"}}', "invalid_json"),
        (b"{'role': 'user'}", "invalid_json"),
        (b'{"role": "user", "content": NaN}', "invalid_json"),
        (b'{"role": "user", "content": "x", "n": 1e400}', "number_out_of_range"),
        (b'{"role": "user", "content": "\\ud800"}', "invalid_unicode"),
        (b"{" * 100_000, "too_deep"),
    ],
)
@pytest.mark.parametrize("rest", [GOOD, (LONG + b"\n") * 68], ids=["short", "too large for one document"])
def test_a_bad_first_line_is_named(first: bytes, code: str, rest: bytes) -> None:
    try:
        documents(b"\n" + first + b"\n\n" + rest)
    except ImportRefused as refusal:  # not `pytest.raises`, which would keep the 70 MB of each case in memory
        found = refusal.code, refusal.line
    assert found == (code, 2)


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (b'[\n{"role": "user"}\n{"role": "user"}\n]', 3),
        (b'[{"role": "user"},\n{"role": "user"}\n{"role": "user"}]', 3),
        (b'[[{"role": "user"}],\n[{"role": "user"}]\n[{"role": "user"}]]', 3),
        (b'[\n[{"role": "user"}]', 3),  # where it ends
        (b'{\n"messages": [\n{"role": "user"}\n{"role": "user"}]}', 4),
    ],
)
def test_a_bad_line_inside_one_document_is_named(source: bytes, line: int) -> None:
    with pytest.raises(ImportRefused) as refusal:
        documents(source)
    assert refusal.value.line == line


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (GOOD.decode().encode("utf-16"), 1),
        (GOOD + b'{"role": "user", "content": "\xff"}', 5),
        (b'[\n{"role": "user",\n"content": "\xff"}]', 3),
    ],
    ids=["UTF-16", "a byte", "a byte in the middle"],
)
async def test_another_encoding_than_utf_8_is_refused(refused: Refused, source: bytes, line: int) -> None:
    await refused(source, "invalid_encoding", line=line)


async def test_a_byte_order_mark_is_passed_over(take_in: TakeIn) -> None:
    assert await take_in(BOM_UTF8 + GOOD) > 0
    assert await take_in(GOOD) == 0, "the file without it has the same entries"


async def test_a_line_over_the_limit_is_refused_before_the_rest_is_read(refused: Refused, tmp_path: Path) -> None:
    """trust I-66."""
    endless = tmp_path / "endless.json"
    with endless.open("wb") as file:
        file.write(GOOD)
        file.truncate(20 * 1024**3)  # a sparse file: reading it whole would take minutes
    await refused(str(endless), "line_too_long", line=5)


async def test_one_document_over_the_limit_is_refused(refused: Refused) -> None:
    await refused(b"[\n" + (LONG + b",\n") * 68 + b"{}]", "too_large", line=1)


async def test_gzip_is_detected_by_its_content_and_unpacked(take_in: TakeIn) -> None:
    assert await take_in(gzip.compress(GOOD)) == 3


async def test_gzip_of_many_chunks_is_unpacked_whole(take_in: TakeIn) -> None:
    lines = b"".join(b'{"role": "user", "content": "%d"}\n' % (number * 7919) for number in range(2_000))
    assert await take_in(gzip.compress(lines)) == 2_000


def _file(folder: Path, content: bytes) -> str:
    path = folder / "file.json"
    path.write_bytes(content)
    return str(path)


def _bomb() -> bytes:
    return gzip.compress(b'{"role":"user","content":"x"}\n' * 3_000_000)


async def test_a_gzip_bomb_is_refused_at_the_limit(refused: Refused) -> None:
    """trust I-64."""
    await refused(_bomb(), "gzip_bomb", byte=512 + 64 * 1024)


@pytest.mark.parametrize(
    ("source", "code", "byte"),
    [
        (gzip.compress(GOOD) * 2, "bad_gzip", len(gzip.compress(GOOD))),
        (gzip.compress(GOOD) + b"trailing", "bad_gzip", len(gzip.compress(GOOD))),
        (gzip.compress(GOOD)[:-9], "bad_gzip", len(gzip.compress(GOOD)) - 9),
        (gzip.compress(GOOD)[:30] + b"\x00" * 30, "bad_gzip", 60),
        (b"\x1f\x8b", "bad_gzip", 2),
    ],
    ids=["two members", "trailing bytes", "truncated", "broken", "only a header"],
)
async def test_gzip_that_is_not_one_complete_member_is_refused_at_its_byte(
    refused: Refused, source: bytes, code: str, byte: int
) -> None:
    """trust I-65."""
    await refused(source, code, byte=byte)


async def test_gzip_in_gzip_is_refused(refused: Refused) -> None:
    """trust I-65."""
    await refused(gzip.compress(gzip.compress(GOOD)), "invalid_encoding", line=1)


def _zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("../x.jsonl", GOOD)
    return buffer.getvalue()


def _tar() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        link = tarfile.TarInfo("/etc/passwd")
        link.type = tarfile.SYMTYPE
        archive.addfile(link)
    return buffer.getvalue()


@pytest.mark.parametrize("source", [_zip(), _tar()], ids=["zip", "tar"])
async def test_archives_are_refused(refused: Refused, source: bytes) -> None:
    """trust I-67."""
    await refused(source, "archive")


async def test_a_tar_in_gzip_is_refused(refused: Refused) -> None:
    await refused(gzip.compress(_tar()), "archive")


async def test_only_regular_files_are_read(refused: Refused, tmp_path: Path) -> None:
    """trust I-60."""
    os.mkfifo(fifo := tmp_path / "fifo")
    for name in ("/dev/zero", "/dev/null", str(fifo), str(tmp_path), str(tmp_path / "absent")):
        await refused(name, "no_file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
async def test_a_file_without_read_permission_is_refused(refused: Refused, tmp_path: Path) -> None:
    (secret := tmp_path / "secret").touch(0)
    await refused(str(secret), "no_file")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="a file that fails when it is read")
async def test_a_file_that_fails_in_the_middle_is_refused(refused: Refused) -> None:
    await refused("/proc/self/mem", "no_file")


async def test_a_session_name_for_a_file_of_several_is_refused(ledger: MemoryLedger) -> None:
    several = str(SAMPLES / "openai_trajectories.json")
    with pytest.raises(InvalidInput, match="holds several sessions; give no session name"):
        await import_one(ledger, several, "one", None, lambda done, total: None)
    assert await ledger.list_sessions() == []


async def test_what_was_valid_before_the_bad_line_is_not_written(ledger: MemoryLedger, take_in: TakeIn) -> None:
    with pytest.raises(ImportRefused) as refusal:
        await take_in(MANY + b"{")
    assert refusal.value.line == 16_001
    assert await ledger.list_sessions() == []


async def test_questions_about_conversations_are_no_conversations(take_in: TakeIn) -> None:
    question = (
        b'{"id": "memory_0-garden-0", "question": [[{"role": "user", "content": "When?"}]], "scenario": "garden"}'
    )
    with pytest.raises(ImportRefused, match="backtest --questions"):
        await take_in(question)


@pytest.mark.parametrize(
    ("entries", "code"),
    [
        ([{"id": "1", "text": "a"}, {"id": "1", "text": "b"}], "duplicate_id"),
        ([{"text": "a", "date": "last Tuesday"}], "bad_date"),
        ([{"speaker": "Mara"}], "bad_shape"),
        ([{"text": "a", "role": "narrator"}], "bad_shape"),
    ],
)
async def test_dated_sessions_with_a_fault_are_refused_whole(
    refused: Refused, entries: list[dict[str, str]], code: str
) -> None:
    good = {"conversation": "good", "sessions": [{"entries": [{"text": "a"}]}]}
    bad = {"conversation": "bad", "sessions": [{"entries": entries}]}
    await refused(b"\n".join(json.dumps(value).encode() for value in (good, bad)), code, line=2)
