"""What a request carries beside the window lowers every limit in tokens. Source: R-CFG-11."""

from typing import Any

import pytest

from ledger.errors import InvalidInput
from projections.memory_config.budget import limit_path
from projections.memory_config.config import dump, load, update

LIMITED: list[dict[str, Any]] = [
    {"compactions": [{"type": "token_threshold", "max_tokens": 4_000}]},
    {"compactions": [{"type": "summarization", "model": "m", "max_tokens": 4_000}]},
    {"compactions": [{"type": "progressive", "context_window": 4_000}]},
    {"compactions": [{"type": "summarizer", "interaction_threshold_tokens": 4_000}]},
    {"compactions": [{"type": "neuralyzer", "input_tokens_threshold": 4_000}]},
    {"window": {"type": "max_tokens", "memory_max_tokens": 4_000}},
    {"window": {"type": "recall", "max_tokens": 4_000}},
    {"window": {"type": "sliding_window", "max_tokens": 4_000}},
    {"window": {"type": "full"}, "limit": {"max_tokens": 4_000}},
]


@pytest.mark.parametrize("raw", LIMITED, ids=str)
def test_every_limit_in_tokens_is_that_of_a_budget_without_the_reserve(raw: dict[str, Any]) -> None:
    lower = load(_with_budget(raw, 3_000)).token_limit
    config = load({**raw, "reserve_tokens": 1_000})
    assert config.token_limit == lower
    assert load(dump(config)) == config
    assert (limit_path(config) or "").endswith(" less reserve_tokens")


@pytest.mark.parametrize("raw", LIMITED, ids=str)
def test_a_reserve_that_leaves_nothing_is_refused(raw: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="must be less than the limit of") as refused:
        load({**raw, "reserve_tokens": 4_000})
    assert refused.value.field == "reserve_tokens"


def test_it_may_be_changed_alone_and_stays_with_another_profile() -> None:
    config = update(load({}), {"reserve_tokens": 500})
    assert config.token_limit == 49_500
    assert update(config, {"profile": "rolling"}).reserve_tokens == 500


def test_limits_that_are_off_stay_off() -> None:
    raw = {"type": "neuralyzer", "interaction_threshold_tokens": -1, "interaction_threshold_qty": 9}
    config = load({"compactions": [raw], "reserve_tokens": 5_000})
    assert config.token_limit is None
    assert config.effective(config.compactions[0]).model_dump() == config.compactions[0].model_dump()


def _with_budget(raw: Any, budget: int) -> Any:
    if isinstance(raw, dict):
        return {name: _with_budget(value, budget) for name, value in raw.items()}
    if isinstance(raw, list):
        return [_with_budget(each, budget) for each in raw]
    return budget if raw == 4_000 else raw
