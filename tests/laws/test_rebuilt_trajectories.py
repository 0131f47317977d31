"""From each strategy to each other one, on real trajectories: every rebuild is the what-if. Source: R-RBD-3."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from ledger.session import rebuild_decisions
from tools import rebuild_table
from tools.rebuild_table import STRATEGIES, Pair, rebuilt, trajectories

pytestmark = pytest.mark.data


async def check(data: Path, count: int) -> Mapping[tuple[str, str], Pair]:
    found = trajectories((data / "tau_bench" / "gpt-4o-airline.json").read_bytes(), count)
    assert len(found) == count
    pairs = await rebuilt(found)
    assert len(pairs) == len(STRATEGIES) * (len(STRATEGIES) - 1)
    assert {names: pair for names, pair in pairs.items() if pair.equal != count} == {}
    return pairs


@pytest.mark.full
async def test_each_pair_of_strategies_on_two_trajectories(data: Path) -> None:
    await check(data, 2)


@pytest.mark.slow
@pytest.mark.timeout(3_000)
async def test_each_pair_of_strategies_on_50_trajectories(data: Path) -> None:
    """The table in docs/what-if.md says what this finds."""
    pairs = await check(data, 50)
    assert rebuild_table.table(pairs) in rebuild_table.PAGE.read_text(encoding="utf-8")


@pytest.mark.full
async def test_entries_that_do_not_return_are_noticed(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    monkeypatch.setattr(rebuild_decisions, "_parts", lambda entries: iter(()))
    with pytest.raises(AssertionError):
        await check(data, 1)
