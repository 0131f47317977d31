"""Measure one memory config on one session: the tokens shown at each turn, and the evidence for questions. Pure."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from ledger.events import RecordedEvent
from ledger.llm.prices import Prices, spending
from ledger.replay.backtest.asking import Asked, Needed, ask
from ledger.replay.backtest.budgets import with_budget
from ledger.replay.backtest.shown import Follower
from ledger.replay.what_if.config_replay import replay
from ledger.replay.what_if.recorded_answers import cache_of
from projections.memory_config.config import MemoryConfig
from projections.stats import Spending

#: The source of summaries: the heuristic, or the record with placeholders where it has none (R-WIF-5).
Summaries: TypeAlias = Literal["heuristic", "estimate"]


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One session under one config; *shown* has the tokens of the window at each model call, in order."""

    session: str
    config: str
    shown: tuple[int, ...]
    split_pairs: int
    failed: int
    spent: Spending
    #: One for each category of its questions.
    asked: tuple[Asked, ...] = ()


def measure(
    session: str,
    events: Sequence[RecordedEvent],
    name: str,
    config: MemoryConfig,
    *,
    prices: Prices,
    needed: Sequence[Needed] = (),
    summaries: Summaries = "heuristic",
    model: str | None = None,
    budgets: Sequence[int] = (),
) -> Measured:
    """Return the measures of *config*, called *name*, on the session of *events*."""
    follower = Follower(events, config)
    cache = None if summaries == "heuristic" else cache_of(events)
    done = replay(events, config, cache, model=model, on_miss="estimate", observe=follower.observe)
    asked = ask(done, config, needed)
    for tokens in budgets if needed else ():
        limited = with_budget(config, tokens)
        if limited is not None:
            again = replay(events, limited, cache, model=model, on_miss="estimate") if limited.compactions else done
            asked = [
                msgspec.structs.replace(before, by_budget=(*before.by_budget, (tokens, now.tokens, now.in_window)))
                for before, now in zip(asked, ask(again, limited, needed), strict=True)
            ]
    return Measured(
        session=session,
        config=name,
        shown=tuple(follower.shown),
        split_pairs=follower.split_pairs,
        failed=done.failed,
        spent=spending(done.completed, prices),
        asked=tuple(asked),
    )
