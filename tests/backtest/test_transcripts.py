"""On real transcripts: no strategy leaves half a tool call in any window; recall keeps what newest-first loses."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ledger.events.strict_json import parse
from ledger.llm.prices import load_prices
from ledger.replay.backtest.backtest_run import Plan, run
from ledger.replay.backtest.budgets import with_budget
from ledger.replay.backtest.measures import Measured
from ledger.replay.backtest.totals import Row, row
from projections.memory_config import config
from projections.memory_config.config import MemoryConfig
from projections.strategies import COMPACTIONS, WINDOWS
from projections.window import Window
from tests.support.backtest_sessions import bfcl_questions, sessions_in
from tests.support.pages import ROOT

pytestmark = pytest.mark.data

CONFIGS = {path.stem: config.load(parse(path.read_bytes())) for path in (ROOT / "examples/configs").glob("*.json")}
BUDGETS = (500, 1_000, 2_000, 4_000, 8_000)


def at_budgets() -> list[tuple[str, MemoryConfig]]:
    """Return each config of the examples at each budget, or once if it has none."""
    found = []
    for name, item in sorted(CONFIGS.items()):
        limited = [(f"{name} {tokens}", with_budget(item, tokens)) for tokens in BUDGETS]
        found += [(label, changed) for label, changed in limited if changed is not None] or [(name, item)]
    return found


def plan(*configs: tuple[str, MemoryConfig], **fields) -> Plan:
    return Plan(configs=configs, prices=load_prices(), **fields)


def check_pairs(measured: list[Measured]) -> None:
    assert {measured.config: measured.split_pairs for measured in measured if measured.split_pairs} == {}
    assert all(measured.shown for measured in measured)


@pytest.mark.full
@pytest.mark.processes
@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.slow)])
async def test_no_tool_result_is_orphaned_in_any_trajectory_under_any_strategy_and_budget(
    data: Path, every: int
) -> None:
    """R-GEN-8: every strategy there is, at 500 to 8,000 tokens; each eighth trajectory, and all of them."""
    sessions = (await sessions_in([data / "tau_bench" / "gpt-4o-airline.json"]))[::every]
    assert len(sessions) == 200 // every
    tried = {part.type for _, config in at_budgets() for part in (config.window, *config.compactions)}
    assert tried == WINDOWS.keys() | COMPACTIONS.keys()
    check_pairs(run(sessions, plan(*at_budgets()), jobs=2))


@pytest.mark.slow
async def test_no_pair_is_split_with_summaries_of_a_models_length(data: Path) -> None:
    sessions = await sessions_in([data / "tau_bench" / "gpt-4o-airline.json"])
    check_pairs(run(sessions, plan(*at_budgets(), summaries="estimate"), jobs=2))


async def test_a_window_that_shows_results_without_their_calls_is_noticed(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: the newest entries that fit, whatever they belong to."""

    def window(config: Any, state: Any, hints: Any) -> Window:
        entries = list(state.window.entries)
        while sum(entry.tokens for entry in entries) > 500:
            entries.pop(0)
        return Window(tuple(entries), sum(entry.tokens for entry in entries))

    sessions = await sessions_in([data / "tau_bench" / "gpt-4o-airline.json"])
    check_pairs(run(sessions[:8], plan(("full", CONFIGS["full"]))))
    monkeypatch.setitem(WINDOWS, "full", replace(WINDOWS["full"], window=window))
    with pytest.raises(AssertionError):
        check_pairs(run(sessions[:8], plan(("full", CONFIGS["full"]))))


async def test_recall_keeps_the_evidence_that_the_newest_turns_lose(data: Path) -> None:
    folder = data / "bfcl_memory"
    sessions = await sessions_in(sorted(folder.glob("memory_*.json")))
    asked = bfcl_questions(folder)
    assert (len(sessions), len(asked)) == (5, 155)
    names = ("full", "max_tokens", "recall")
    measured = run(sessions, plan(*((name, CONFIGS[name]) for name in names), questions=asked, budgets=()))
    rows: dict[str, Row] = {name: row(name, [item for item in measured if item.config == name]) for name in names}
    assert (rows["full"].in_window, rows["full"].unplaced) == (1, 0)
    assert 0.25 <= rows["max_tokens"].in_window <= 0.40
    assert rows["recall"].in_window >= 0.75
    assert rows["recall"].search_at_5 >= 0.90
