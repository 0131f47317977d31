"""Source distributions of SDKs, at exactly one version; they have the SDK's own tests. Source: adapters AD-15."""

import subprocess
import sys
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest


def sdist(name: str, version: str, cache: Path) -> Path:
    """Return the unpacked source of *name*, fetched once into *cache*; without a registry the test is skipped."""
    folder = cache / f"{name.replace('-', '_')}-{version}"
    if folder.exists():
        return folder
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    done = subprocess.run(
        [*command, "--no-build-isolation", "--dest", str(cache), f"{name}=={version}"],
        capture_output=True,
        text=True,
        check=False,
    )
    archives = sorted(cache.glob(f"{name.replace('-', '_')}-{version}.tar.gz"))
    if not archives:
        pytest.skip(f"{name} {version} could not be fetched: {done.stderr.strip().splitlines()[-1:]}")
    with tempfile.TemporaryDirectory(dir=cache) as own:  # other processes of the tests may unpack the same
        unpack(archives[0], Path(own))
        with suppress(OSError):
            (Path(own) / folder.name).rename(folder)
    return folder


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a source distribution into *folder*."""
    guard: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Python 3.11 has it from 3.11.4 on
    with tarfile.open(archive) as opened:
        opened.extractall(folder, **guard)
