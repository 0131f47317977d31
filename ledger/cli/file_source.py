"""Read files, pipes and gzip that users name, with limits, so that no device or bomb fills the memory.

Source: trust N-8, I-60, I-64 … I-67.
"""

import errno
import os
import stat
import sys
import tempfile
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from ledger.errors import ImportRefused, InvalidInput
from ledger.events.strict_json import TRANSCRIPT
from ledger.formats.importers.elements.documents import BY_LINE, is_whole

RATIO: Final = 200
_CHUNK: Final = 64 * 1024
_HEAD: Final = 512  # enough to recognise an archive
_GZIP: Final = b"\x1f\x8b"
_ARCHIVES: Final = (b"PK\x03\x04", b"ustar")


def read_bounded(name: str, *, limit: int) -> bytes:
    """Return the content of file *name* (``-`` is standard input), at most *limit* bytes.

    Raises:
        InvalidInput: it is not a file, cannot be read, or is longer.
    """
    with _opened(name) as source:
        data = source.read(limit + 1)
    if len(data) > limit:
        raise InvalidInput("too_large", f"must have at most {limit:,} bytes", field=name)
    return data


@contextmanager
def spooled(name: str) -> Iterator[BinaryIO]:
    """Yield file *name*, unpacked if it is gzip, as a file that can be read more than once.

    Raises:
        ImportRefused: it is an archive, a bomb or broken gzip, or has a line over 64 MiB.
        InvalidInput: it is not a file, or cannot be read.
    """
    with _opened(name) as source, tempfile.TemporaryFile() as file:
        spool = _Spool(file)
        head = source.read(_HEAD)
        if head.startswith(_GZIP):
            _unpack(head, source, spool)
            file.seek(0)
            _refuse_archive(file.read(_HEAD))
        else:
            _refuse_archive(head)
            _copy(head, source, spool)
        yield file


def in_file(fault: InvalidInput, name: str) -> InvalidInput:
    """Return *fault*, found in file *name*, with a field that begins with the file."""
    if fault.field == name:
        return fault
    message = str(fault).removeprefix(f"{fault.field}: ")
    return InvalidInput(fault.code, message, field=f"{name}: {fault.field}" if fault.field else name)


def lines(spool: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of *spool* from its beginning."""
    spool.seek(0)
    while line := spool.readline():  # `yield from` would close the file when a generator is dropped
        yield line


def finished_lines(spool: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of *spool* as `lines` does, but of JSONL not a last one that is still being written."""
    by_line: bool | None = None
    for line in lines(spool):
        text = line if by_line is not None else line.removeprefix(BOM_UTF8)
        if by_line is None and text.strip():
            by_line = is_whole(text)
        if by_line and not line.endswith(b"\n") and not is_whole(text):
            return
        yield line


class _Spool:
    """Writes to a temporary file and refuses lines that are too long."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._line = 0  # bytes of the line being written
        self._number = 1
        self.size = 0

    def write(self, chunk: bytes) -> None:
        """Append *chunk*, which must be shorter than the longest line.

        Raises:
            ImportRefused: ``line_too_long``.
        """
        self.size += len(chunk)
        end, newline, rest = chunk.partition(b"\n")
        if self._line + len(end) > TRANSCRIPT.size:
            message = f"the line must have at most {TRANSCRIPT.size:,} bytes; {BY_LINE}"
            raise ImportRefused("line_too_long", message, line=self._number)
        self._number += len(newline) + rest.count(b"\n")
        self._line = len(rest) - rest.rfind(b"\n") - 1 if newline else self._line + len(end)
        self._file.write(chunk)


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    if name == "-":
        yield sys.stdin.buffer
        return
    path = Path(name)
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
            raise InvalidInput("no_file", f"is {kind}", field=name)
        with path.open("rb") as source:
            yield source
    except OSError as fault:
        if fault.errno in {errno.ENOSPC, errno.EDQUOT}:  # from writing the temporary file
            raise
        raise InvalidInput("no_file", f"cannot be read: {os.strerror(fault.errno or 0)}", field=name) from None


def _refuse_archive(head: bytes) -> None:
    if head.startswith(_ARCHIVES[0]) or _ARCHIVES[1] in head[257:263]:
        raise ImportRefused("archive", "archives are not accepted; unpack it and import the file inside")


def _copy(head: bytes, source: BinaryIO, spool: _Spool) -> None:
    chunk = head
    while chunk:
        spool.write(chunk)
        chunk = source.read(_CHUNK)


def _unpack(head: bytes, source: BinaryIO, spool: _Spool) -> None:
    """Unpack one gzip member; refuse a bomb, and data after the member."""
    unpacking = zlib.decompressobj(wbits=31)
    read = 0
    chunk = head
    while chunk and not unpacking.eof:
        read += len(chunk)
        try:
            data = unpacking.decompress(chunk, _CHUNK * 16)
            while True:
                written = spool.size + len(data)
                if written > _CHUNK * 16 and written > RATIO * read:
                    raise ImportRefused("gzip_bomb", "the gzip data unpacks to far too many bytes", byte=read)
                spool.write(data)
                if not unpacking.unconsumed_tail:
                    break
                data = unpacking.decompress(unpacking.unconsumed_tail, _CHUNK * 16)
        except zlib.error:
            raise ImportRefused("bad_gzip", "the gzip data is broken", byte=read) from None
        chunk = source.read(_CHUNK)
    if not unpacking.eof:
        raise ImportRefused("bad_gzip", "the gzip data ends too early", byte=read)
    if unpacking.unused_data or chunk:
        end = read - len(unpacking.unused_data)
        raise ImportRefused("bad_gzip", "there must be no data after the first gzip member", byte=end)
