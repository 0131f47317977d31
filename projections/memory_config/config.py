"""The memory config of a session as data: one window strategy, an ordered list of compactions. Source: R-CFG.

`load` takes any of the accepted shapes (see `shapes`), `dump` writes the canonical one.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Literal, TypeVar, cast

import msgspec
from pydantic import BaseModel, Field, SerializeAsAny, ValidationError

from ledger.errors import InvalidInput, UnknownConfig
from ledger.events import JsonObject
from ledger.events.canonical import canonical_json
from ledger.events.field_messages import refused_value, unknown_field
from projections.formatters import FORMATTERS
from projections.memory_config import config_shapes
from projections.memory_config.config_spelling import as_written
from projections.strategies import COMPACTIONS, WINDOWS
from projections.strategies.base import CompactionConfig, Config, FieldError, SummarizerConfig, WindowConfig
from projections.strategies.preserving import TriggerLimit

M = TypeVar("M", bound=BaseModel)
P = TypeVar("P", bound=Config)

TokenizerName = Literal["o200k_base", "approximate", "agentary", "cl100k_role"]
Profile = Literal[
    "memory_manager",
    "rolling",
    "rolling_messages",
    "rolling_interactions",
    "workflow",
    "interactions",
    "working_memory",
    "none",
]


class MemoryConfig(Config):
    """Which entries the model is shown, and how older entries leave the window."""

    window: SerializeAsAny[WindowConfig]
    compactions: tuple[SerializeAsAny[CompactionConfig], ...] = ()
    tokenizer: TokenizerName = "o200k_base"
    summarizer: SummarizerConfig = SummarizerConfig()
    profile: Profile | None = None
    #: The formatter of `Context.formatted`, and of nothing else; configs of seed 002 call it ``formatter``.
    formatted_by: str = "default"
    #: What each request carries beside the window, such as the schemas of tools; all limits in tokens are lower by it.
    reserve_tokens: int = Field(default=0, ge=0)
    #: Used if no strategy has a limit of its own: stats only report that it is near (R-002-7).
    limit: TriggerLimit | None = None

    @property
    def token_limit(self) -> int | None:
        """The smallest number of tokens that a strategy of the config allows; None if none counts tokens."""
        parts = (self.window, *self.compactions, *((self.limit,) if self.limit is not None else ()))
        limits = [(part.less(self.reserve_tokens) if self.reserve_tokens else part).token_limit for part in parts]
        return min([limit for limit in limits if limit is not None], default=None)

    @property
    def parts(self) -> "list[tuple[str, WindowConfig | CompactionConfig | TriggerLimit]]":
        """Each part that may limit tokens, with its path, such as ``compactions[0]``."""
        compactions = [(f"compactions[{at}]", each) for at, each in enumerate(self.compactions)]
        return [("window", self.window), *compactions, *([("limit", self.limit)] if self.limit is not None else [])]

    def effective(self, part: P) -> P:
        """Return *part*, a strategy's config or the limit, as it is applied: less what is reserved."""
        # R-CFG-11
        return part.less(self.reserve_tokens) if self.reserve_tokens else part

    @property
    def preserved(self) -> frozenset[str]:
        """The kinds of entries that a strategy of the config never removes."""
        return frozenset(kind for part in (self.window, *self.compactions) for kind in getattr(part, "preserve", ()))

    def compaction(self, key: str) -> CompactionConfig | None:
        """Return the compaction config with *key*, or None."""
        return next((found for found in self.compactions if found.key == key), None)


def load(raw: Mapping[str, Any] | Sequence[Any] | MemoryConfig) -> MemoryConfig:
    """Return the memory config that *raw*, in any accepted shape, describes.

    Raises:
        InvalidInput: ``bad_config``; *field* is the JSON path of the fault (R-CFG-4).
    """
    if isinstance(raw, MemoryConfig):
        return raw
    with _faults_in(raw):
        return _load(canonical_json(config_shapes.canonical(raw)))


def recorded(raw: Mapping[str, Any], *, version: int) -> MemoryConfig:
    """Return the memory config of the event at *version*.

    Raises:
        UnknownConfig: this release cannot read it.
    """
    try:
        return _recorded(stored) if (stored := _as_text(raw)) is not None else load(raw)
    except InvalidInput as fault:
        raise UnknownConfig(fault, version=version) from fault


def dump(config: MemoryConfig) -> JsonObject:
    """Return *config* in canonical form, every field present; ``load(dump(config)) == config``."""
    return config.model_dump(mode="json")


def update(config: MemoryConfig, changes: Mapping[str, Any] | Sequence[Any]) -> MemoryConfig:
    """Return *config* with *changes* merged in; fields of its profile may be at the top level (R-CFG-9, V-CFG-5).

    Raises:
        InvalidInput: ``bad_config``.
    """
    with _faults_in(changes):
        return load(config_shapes.merge(dump(config), changes))


@contextmanager
def _faults_in(raw: Mapping[str, Any] | Sequence[Any]) -> Iterator[None]:
    """Let a fault name the field of *raw* that causes it."""
    try:
        yield
    except InvalidInput as fault:
        field = as_written(raw, fault.field)
        raise InvalidInput(fault.code, str(fault).removeprefix(f"{fault.field}: "), field=field) from None


DEFAULT = "memory_manager"
MOST_COMPACTIONS = 20


def _as_text(raw: Mapping[str, Any]) -> str | None:
    """Return *raw* as JSON; None if it is none, which `load` explains."""
    try:
        return json.dumps(raw, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return None


@lru_cache(maxsize=256)
def _recorded(stored: str) -> MemoryConfig:
    return load(json.loads(stored))


@lru_cache(maxsize=256)
def _load(canonical: bytes) -> MemoryConfig:
    raw: JsonObject = msgspec.json.decode(canonical)
    window = _strategy(raw.pop("window", {"type": "full"}), WINDOWS, "window")
    listed = raw.pop("compactions", [])
    if not isinstance(listed, list):
        raise InvalidInput("bad_config", "must be a list", field="compactions")
    if len(listed) > MOST_COMPACTIONS:
        raise InvalidInput("bad_config", f"must have at most {MOST_COMPACTIONS} items", field="compactions")
    compactions = tuple(_strategy(item, COMPACTIONS, f"compactions[{at}]") for at, item in enumerate(listed))
    if "limit" in raw:
        raw["limit"] = _validate(TriggerLimit, raw["limit"], "limit")
    if "summarizer" in raw:
        raw["summarizer"] = _validate(SummarizerConfig, raw["summarizer"], "summarizer")
    config = _validate(MemoryConfig, {**raw, "window": window, "compactions": compactions}, "")
    _check_together(config)
    return config


def _strategy(raw: Any, registry: Mapping[str, Any], path: str) -> Any:
    if not isinstance(raw, dict):
        raise InvalidInput("bad_config", "must be an object with a `type`", field=path)
    named = raw.get("type", "")
    found = registry.get(named) if isinstance(named, str) else None
    if found is None:
        raise InvalidInput("bad_config", f"must be one of {', '.join(sorted(registry))}", field=f"{path}.type")
    return _validate(found.config, raw, path)


def _validate(model: type[M], raw: Any, path: str) -> M:
    try:
        return model.model_validate(raw)
    except ValidationError as refused:
        fault = refused.errors(include_url=False, include_input=False)[0]
        cause = fault.get("ctx", {}).get("error")
        at = (*fault["loc"], cause.field) if isinstance(cause, FieldError) else fault["loc"]
        message = str(cause) if isinstance(cause, ValueError) else refused_value(fault)
        if fault["type"] == "extra_forbidden" and len(at) == 1:
            message = unknown_field(str(at[0]), model.model_fields)
        raise InvalidInput("bad_config", message, field=_path(path, at)) from None


def _path(start: str, parts: Sequence[str | int]) -> str:
    """Return the JSON path of *parts* below *start*."""
    named = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return f"{start}{named}".removeprefix(".")


def _check_together(config: MemoryConfig) -> None:
    """Refuse strategies that contradict each other (R-CFG-3, R-CFG-7)."""
    keys = [compaction.key for compaction in config.compactions]
    for at, key in enumerate(keys):
        if key in keys[:at]:
            message = "another compaction has this key; choose a different one"
            raise InvalidInput("bad_config", message, field=f"compactions[{at}].key")
    if config.formatted_by not in FORMATTERS:
        raise InvalidInput("bad_config", f"must be one of {', '.join(sorted(FORMATTERS))}", field="formatted_by")
    for path, part in config.parts:
        given = part.token_limit
        if given is not None and 0 < given <= config.reserve_tokens:
            message = f"must be less than the limit of `{path}`, {given:,} tokens"
            raise InvalidInput("bad_config", message, field="reserve_tokens")
    if config.window.type != "rolling":
        return
    window = cast(Any, config.window)
    for at, compaction in enumerate(config.compactions):
        if compaction.type == "rolling_blocks":
            blocks = cast(Any, compaction)
            if blocks.unit != window.unit:
                raise InvalidInput("bad_config", "must be the unit of the window", field=f"compactions[{at}].unit")
            if blocks.size > window.size:
                message = "must not be larger than the size of the window"
                raise InvalidInput("bad_config", message, field=f"compactions[{at}].size")
