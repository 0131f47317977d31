"""Check searches of long-term memory: a body becomes a `RecordSearch`. Pure. Source: http W-3, W-30 … W-33, W-46."""

import math
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ledger.errors import InvalidInput
from ledger.events.names import check_name
from ledger.events.strict_json import NUMBER_CHARACTERS
from ledger.ports.record_store import SearchMode
from projections.records.recency import Recency
from projections.records.record_filters import TAG_FIELDS, FilterCondition, Tag, parse

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
    """A checked search; *recency* is None if it does not influence the ranking."""

    text: str | None = None
    mode: SearchMode = "semantic"
    alpha: float = 0.7
    conditions: tuple[FilterCondition, ...] = ()
    distance_threshold: float | None = None
    recency: Recency | None = Recency()
    limit: int = 10
    offset: int = 0


def record_search(body: object) -> RecordSearch:
    """Return the search that *body*, a mapping or only the text, describes.

    Unknown fields are ignored, null and blank text are absent.

    Raises:
        InvalidInput: a field is wrong; ``distance_threshold`` where it is not supported (http W-31).
    """
    if isinstance(body, str):
        body = {"text": body}
    if not isinstance(body, Mapping):
        raise InvalidInput("wrong_type", "must be a text, or an object", field="body")
    given = {name: value for name, value in body.items() if value is not None}
    text, mode = given.get("text"), given.get("search_mode", "semantic")
    if text is not None and not isinstance(text, str):
        raise InvalidInput("wrong_type", "must be text", field="text")
    if mode not in _MODES:
        raise InvalidInput("bad_search_mode", f"must be one of {', '.join(_MODES)}", field="search_mode")
    threshold = None
    if "distance_threshold" in given:
        threshold = number_of(given["distance_threshold"], field="distance_threshold", least=0.0)
        if mode != "semantic":
            message = "distance_threshold is only supported for semantic search mode"
            raise InvalidInput("distance_threshold_unsupported", message)
    boost = given.get("recency_boost", True)
    if not isinstance(boost, bool):
        raise InvalidInput("wrong_type", "must be true or false", field="recency_boost")
    return RecordSearch(
        text=text[:QUERY_CHARACTERS] if text and text.strip() else None,
        mode=mode,
        alpha=number_of(given.get("hybrid_alpha", 0.7), field="hybrid_alpha", least=0.0, most=1.0),
        conditions=parse(body),
        distance_threshold=threshold,
        recency=_recency(given) if boost else None,
        limit=count_of(given.get("limit", 10), field="limit", least=1, most=MOST_FOUND),
        offset=count_of(given.get("offset", 0), field="offset", least=0, most=MOST_OFFSET),
    )


def number_of(value: object, *, field: str, least: float = -math.inf, most: float = math.inf) -> float:
    """Return a finite number within its bounds; a number as text is accepted (http W-3).

    Raises:
        InvalidInput: ``wrong_type`` or ``number_out_of_range``.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InvalidInput("wrong_type", "must be a number", field=field)
    try:
        number = float(value if not isinstance(value, str) or len(value) <= NUMBER_CHARACTERS else "")
    except (ValueError, OverflowError):
        raise InvalidInput("wrong_type", "must be a number", field=field) from None
    if not math.isfinite(number) or not least <= number <= most:
        bounds = (
            f"must be between {least:g} and {most:g}" if most != math.inf else f"must be finite and at least {least:g}"
        )
        raise InvalidInput("number_out_of_range", bounds, field=field)
    return number


def count_of(value: object, *, field: str, least: int, most: int = MOST_OFFSET) -> int:
    """Return a whole number within its bounds; a number as text is accepted (http W-3).

    Raises:
        InvalidInput: ``wrong_type`` or ``number_out_of_range``.
    """
    number = number_of(value, field=field, least=least, most=most)
    if not number.is_integer():
        raise InvalidInput("wrong_type", "must be an integer", field=field)
    return int(number)


def _recency(given: Mapping[str, Any]) -> Recency:
    weights = {
        own: number_of(
            given[name], field=name, least=_LEAST_HALF_LIFE if "half_life" in name else 0.0, most=_LARGEST_WEIGHT
        )
        for name, own in _WEIGHTS.items()
        if name in given
    }
    return Recency(**weights)


def scope_conditions(**names: str | None) -> list[FilterCondition]:
    """Return one condition for each of *names* that is not None.

    Raises:
        InvalidInput: ``bad_name``, also for an empty name, which would otherwise count as absent.
    """
    given = {field: check_name(name, field=field) for field, name in names.items() if name is not None}
    return [Tag(field, "eq", (given[field],)) for field in TAG_FIELDS if field in given]
