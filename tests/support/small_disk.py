"""A disk that is soon full. Source: trust §10, F-8."""

import errno
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(kilobytes: int) -> Iterator[Path]:
    """Yield the folder of a disk of its own, or skip where none may be mounted, and say so."""
    with tempfile.TemporaryDirectory(prefix="ledger-disk-") as folder:
        options = f"size={kilobytes}k,mode=755"
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=False, capture_output=True, text=True
        )
        if mounted.returncode:
            pytest.skip(f"NO DISK WAS FILLED: a small tmpfs may not be mounted here ({mounted.stderr.strip()})")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


@contextmanager
def filled(disk: Path) -> Iterator[None]:
    """Leave *disk* not a byte, as another program might, and then give all back."""
    ballast = disk / "ballast"
    try:
        with ballast.open("wb", buffering=0) as file:
            for size in (1 << 16, 1):
                _write_all(file.fileno(), size)
        yield
    finally:
        ballast.unlink()


def _write_all(file: int, size: int) -> None:
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        _write_for_ever(file, bytes(size))


def _write_for_ever(file: int, data: bytes) -> None:
    while True:
        os.write(file, data)
