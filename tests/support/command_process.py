"""The command line as a process of its own."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

COMMAND = Path(sys.executable).with_name("memory-ledger")


def environment(**more: str) -> dict[str, str]:
    """Return the environment without settings from outside, and with *more*."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_LEDGER_")}
    return {**known, **more}


def run(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command and return its exit code and output."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    chosen = {"env": environment(), **streams, **options}
    return subprocess.run([COMMAND, *map(str, arguments)], check=False, text=True, timeout=60, **chosen)


def started(*arguments: str, **settings: str) -> subprocess.Popen[bytes]:
    """Start the command under *settings* of the environment; nobody reads its output."""
    return subprocess.Popen([COMMAND, *arguments], env=environment(**settings), stdout=subprocess.DEVNULL)


def assert_unavailable(done: subprocess.CompletedProcess[str], reason: str) -> None:
    """Assert that a command gave up with one line that says why."""
    assert done.returncode == 1, done
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert reason in done.stderr
