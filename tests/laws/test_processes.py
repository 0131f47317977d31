"""LAW-1 across processes: strategies decide the same whatever order the hashes of texts give to sets."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence

import pytest

from projections.strategies import COMPACTIONS, WINDOWS
from tests.support.pages import ROOT

pytestmark = [pytest.mark.full, pytest.mark.processes]


def in_processes(*arguments: str, seeds: Sequence[str] = ("0", "1")) -> list[dict[str, str]]:
    """Return what processes of different hash seeds print, run side by side."""
    command = [sys.executable, "-m", "tests.support.strategy_digests", *arguments]
    running = [
        subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, stdout=subprocess.PIPE)
        for seed in seeds
    ]
    printed = [process.communicate(timeout=120)[0] for process in running]
    assert [process.returncode for process in running] == [0 for _ in seeds]
    return [json.loads(text) for text in printed]


def test_two_processes_compute_the_same_windows_plans_and_what_ifs__LAW_1() -> None:
    """R-WIF-6, R-SUM-6, of every strategy."""
    first, other = in_processes()
    assert {name: value for name, value in first.items() if other[name] != value} == {}
    assert first.keys() == other.keys()
    for asked in ("window", "plans", "what-if"):
        tried = {name.removeprefix(f"{asked} of ").split()[0] for name in first if name.startswith(asked)}
        assert tried == WINDOWS.keys() | COMPACTIONS.keys()
    assert len(set(first.values())) > len(first) / 2, "they differ from each other"


def test_a_window_in_the_order_of_a_set_is_noticed() -> None:
    """Negative control."""
    first, other = in_processes("--broken")
    assert {name for name in first if first[name] != other[name]} >= {"window of full 0", "what-if of full 0"}
