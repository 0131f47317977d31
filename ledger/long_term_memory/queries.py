"""Questions to long-term memory: a search body to a checked question. Pure. Source: http W-3, W-30 … W-33, W-46."""

import math
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ledger.errors import InvalidInput
from ledger.ports.records import SearchMode
from ledger.strict_json import NUMBER_CHARACTERS
from projections.recency import Recency
from projections.record_filters import FilterCondition, parse

MOST_FOUND: Final = 100
MOST_OFFSET: Final = 2**31
QUERY_CHARACTERS: Final = 10_000
_MODES: Final[tuple[SearchMode, ...]] = ("semantic", "keyword", "hybrid")
_LEAST_HALF_LIFE: Final = 0.001
_LARGEST_WEIGHT: Final = 1e6
_WEIGHTS: Final = {
    "recency_freshness_weight": "freshness_weight",
    "recency_novelty_weight": "novelty_weight",
    "recency_half_life_last_access_days": "half_life_last_access_days",
    "recency_half_life_created_days": "half_life_created_days",
    "recency_semantic_weight": "semantic_weight",
    "recency_recency_weight": "recency_weight",
}


class RecordSearch(msgspec.Struct, frozen=True, kw_only=True):
    """A search as it was asked; *recency* is none where it shall not rank."""

    text: str | None = None
    mode: SearchMode = "semantic"
    alpha: float = 0.7
    conditions: tuple[FilterCondition, ...] = ()
    distance_threshold: float | None = None
    recency: Recency | None = Recency()
    limit: int = 10
    offset: int = 0


def record_search(body: object) -> RecordSearch:
    """Return the question that *body*, a mapping, asks; unknown fields are ignored, null is absent.

    A blank text is none.

    Raises:
        InvalidInput: a field is wrong; ``distance_threshold`` where it is not supported (http W-31).
    """
    if not isinstance(body, Mapping):
        raise InvalidInput("wrong_type", "is an object", field="body")
    asked = {name: value for name, value in body.items() if value is not None}
    text, mode = asked.get("text"), asked.get("search_mode", "semantic")
    if text is not None and not isinstance(text, str):
        raise InvalidInput("wrong_type", "is text", field="text")
    if mode not in _MODES:
        raise InvalidInput("bad_search_mode", f"is one of {', '.join(_MODES)}", field="search_mode")
    threshold = None
    if "distance_threshold" in asked:
        threshold = number_of(asked["distance_threshold"], field="distance_threshold", least=0.0)
        if mode != "semantic":
            message = "distance_threshold is only supported for semantic search mode"
            raise InvalidInput("distance_threshold_unsupported", message)
    boost = asked.get("recency_boost", True)
    if not isinstance(boost, bool):
        raise InvalidInput("wrong_type", "is true or false", field="recency_boost")
    return RecordSearch(
        text=text[:QUERY_CHARACTERS] if text and text.strip() else None,
        mode=mode,
        alpha=number_of(asked.get("hybrid_alpha", 0.7), field="hybrid_alpha", least=0.0, most=1.0),
        conditions=parse(body),
        distance_threshold=threshold,
        recency=_recency(asked) if boost else None,
        limit=count_of(asked.get("limit", 10), field="limit", least=1, most=MOST_FOUND),
        offset=count_of(asked.get("offset", 0), field="offset", least=0, most=MOST_OFFSET),
    )


def number_of(value: object, *, field: str, least: float = -math.inf, most: float = math.inf) -> float:
    """Return a finite number within its bounds; one that comes as text is read (http W-3).

    Raises:
        InvalidInput: ``wrong_type`` or ``number_out_of_range``.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InvalidInput("wrong_type", "is a number", field=field)
    try:
        number = float(value if not isinstance(value, str) or len(value) <= NUMBER_CHARACTERS else "")
    except (ValueError, OverflowError):
        raise InvalidInput("wrong_type", "is a number", field=field) from None
    if not math.isfinite(number) or not least <= number <= most:
        bounds = f"is {least:g} to {most:g}" if most != math.inf else f"is a finite number of at least {least:g}"
        raise InvalidInput("number_out_of_range", bounds, field=field)
    return number


def count_of(value: object, *, field: str, least: int, most: int = MOST_OFFSET) -> int:
    """Return a whole number within its bounds; one that comes as text is read (http W-3).

    Raises:
        InvalidInput: ``wrong_type`` or ``number_out_of_range``.
    """
    number = number_of(value, field=field, least=least, most=most)
    if not number.is_integer():
        raise InvalidInput("wrong_type", "is an integer", field=field)
    return int(number)


def _recency(asked: Mapping[str, Any]) -> Recency:
    given = {
        own: number_of(
            asked[name], field=name, least=_LEAST_HALF_LIFE if "half_life" in name else 0.0, most=_LARGEST_WEIGHT
        )
        for name, own in _WEIGHTS.items()
        if name in asked
    }
    return Recency(**given)
