"""Compaction strategy ``neuralyzer``: old interactions leave the window without a summary. Source: R-003-10.

They stay in the log, and reads of the past show them.
"""

from typing import Literal

from projections.strategies import interactions
from projections.strategies.base import CompactionPlan, CompactionStrategy, StateView, Trigger


class Neuralyzer(interactions.Triggers):
    """The trigger fields, both counts off by default."""

    type: Literal["neuralyzer"] = "neuralyzer"
    interaction_threshold_qty: int = -1
    interaction_threshold_tokens: int = -1


def plan(config: Neuralyzer, state: StateView, trigger: Trigger) -> CompactionPlan | None:
    """Plan to erase interactions; summaries stay. It raises the errors of `interactions.plan`."""
    return interactions.plan(config, state, trigger, action="erase")


STRATEGY = CompactionStrategy(type="neuralyzer", config=Neuralyzer, plan=plan)
