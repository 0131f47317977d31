"""A year of a coding agent, or of traces, in one file is imported in flat memory."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from uuid import UUID

import pytest

from tests.cli.conftest import Cli
from tests.support.trace_files import LINES, write_traces

SESSION = "8d0c2c1e-8a51-4b0e-9d53-0f6f1f4f7a10"
MEGABYTE = 1024 * 1024
#: How much more the large file may need than one of a tenth of its size.
MORE = 64 * MEGABYTE


def lines(seed: int, size: int) -> Iterator[str]:
    """Yield the lines of a session of about *size* bytes: prompts, answers with calls, results, compactions."""
    random = Random(seed)
    words = [f"word{number}" for number in range(2_000)]
    written, number, parent = 0, 0, None
    while written < size:
        number += 1
        turn = number % 40
        common = {
            "parentUuid": parent,
            "isSidechain": False,
            "cwd": "/home/mara/garden",
            "sessionId": SESSION,
            "version": "2.0.14",
            "uuid": str(UUID(int=number)),
            "timestamp": f"2026-03-{1 + number // 86_400 % 28:02d}T{number // 3_600 % 24:02d}:00:00.000Z",
        }
        text = " ".join(random.choices(words, k=random.randrange(20, 600)))
        if turn == 1 and number > 2_000 and number % 2_000 == 1:
            common |= {"type": "user", "isCompactSummary": True, "message": {"role": "user", "content": text}}
        elif turn == 1:
            common |= {"type": "user", "message": {"role": "user", "content": text}}
        elif turn % 2 == 0:
            call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": text[:200]}}
            message = {"id": f"msg_{number}", "role": "assistant", "model": "m", "content": [call]}
            common |= {"type": "assistant", "message": message}
        else:
            result = {"type": "tool_result", "tool_use_id": f"toolu_{number - 1}", "content": text}
            common |= {"type": "user", "message": {"role": "user", "content": [result]}, "toolUseResult": text}
        line = json.dumps(common) + "\n"
        parent, written = common["uuid"], written + len(line)
        yield line


def peak(cli: Cli, path: Path) -> tuple[int, int]:
    """Import *path* in a process of its own; return its peak memory in bytes and the entries it recorded."""
    with cli.process("import", str(path), "--json") as process:
        assert process.stdout is not None
        out = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, out
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024), json.loads(out)["entries"]


@pytest.mark.slow
@pytest.mark.timeout(3_000)
def test_200_megabytes_of_a_coding_agent_need_hardly_more_memory_than_20(cli: Cli, tmp_path: Path, seed: int) -> None:
    """The file is read line by line, and what is held of it is the window and an id for each line."""
    found = {}
    for size in (20, 200):
        path = tmp_path / f"{size}.jsonl"
        with path.open("w") as file:
            file.writelines(lines(seed, size * MEGABYTE))
        memory, entries = peak(cli.elsewhere(f"{cli.namespace}-{size}"), path)
        found[size] = memory
        print(f"{size} MB: {entries} entries, peak {memory / MEGABYTE:.0f} MB")
    assert found[200] - found[20] < MORE


@pytest.mark.slow
@pytest.mark.timeout(3_000)
@pytest.mark.parametrize("format_", LINES)
def test_200_megabytes_of_traces_need_hardly_more_memory_than_20(
    format_: str, cli: Cli, tmp_path: Path, seed: int
) -> None:
    """Calls of one conversation are far apart, and what is held of them are ids and their order."""
    found = {}
    for size in (20, 200):
        path = tmp_path / f"{size}.jsonl"
        write_traces(path, format_, seed, size * MEGABYTE)
        memory, entries = peak(cli.elsewhere(f"{cli.namespace}-{size}"), path)
        found[size] = memory
        print(f"{format_}, {size} MB: {entries} entries, peak {memory / MEGABYTE:.0f} MB")
    assert found[200] - found[20] < MORE
