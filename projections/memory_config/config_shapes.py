"""The accepted shapes of a memory config, and the canonical one. Source: R-CFG-4 … R-CFG-6.

A shape is a function from normalised JSON to canonical JSON. Only what is needed to tell shapes apart is validated
here; `config.load` does the rest.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ledger.errors import InvalidInput
from ledger.events import JsonObject
from ledger.events.field_messages import unknown_field
from projections.memory_config.config_spelling import checked, with_type, with_types, without_nulls
from projections.strategies import COMPACTIONS, WINDOWS

_CANONICAL = {"window", "compactions"}
_COMMON = {"tokenizer", "summarizer", "formatted_by", "profile", "limit", "reserve_tokens"}
_MEMORY_MANAGER = {
    "max_entries",
    "max_tokens",
    "recent_window",
    "min_entries_to_compress",
    "auto_compress",
    "compression_ratio",
    "prompt",
    "max_summary_tokens",
    "on_failure",
}
_BLOCKS = {"size", "max_summaries", "unit", "include_first", "on_failure"}
_ROLLING_WINDOW = {"size", "unit", "order"}
_WORKFLOW = {"max_tokens", "compression_threshold", "preserve", "memory_compressor_config"}
_WORKING_MEMORY = {"context_window", "model_name", "threshold", "keep_ratio", "generation_model", "prompt", "enabled"}
_PROFILE_FIELDS = {
    "memory_manager": _MEMORY_MANAGER,
    "rolling": _BLOCKS | _ROLLING_WINDOW,
    "workflow": _WORKFLOW,
    "working_memory": _WORKING_MEMORY,
}
_ALL_FIELDS = set().union(*_PROFILE_FIELDS.values(), _COMMON, _CANONICAL, {"strategies"})


#: The names in the environment of seed 004.
_ENVIRONMENT = {
    "SUMMARIZATION_THRESHOLD": "threshold",
    "GENERATION_MODEL": "generation_model",
    "PROGRESSIVE_SUMMARIZATION_PROMPT": "prompt",
}


def canonical(raw: Mapping[str, Any] | Sequence[Any]) -> JsonObject:
    """Return *raw* in canonical form: snake_case, without defaults, its profile written as strategies.

    Raises:
        InvalidInput: ``bad_config``: a key is given twice, or the shape is ambiguous; or it is not JSON.
    """
    if isinstance(raw, list | tuple):
        raw = {"profile": "interactions", "strategies": raw}
    plain = without_nulls(checked(raw))
    if _CANONICAL & plain.keys():
        return with_types(plain)
    _refuse_alone(plain)
    profile = plain.get("profile") or _profile_by_keys(plain)
    shape = _PROFILES.get(profile) if isinstance(profile, str) else None
    if shape is None:
        raise InvalidInput("bad_config", f"must be one of {', '.join(sorted(_PROFILES))}", field="profile")
    own = {name: value for name, value in plain.items() if name not in _COMMON}
    common = {name: value for name, value in plain.items() if name in _COMMON}
    return with_types({**shape(own), **common, "profile": profile})


def merge(current: JsonObject, changes: Mapping[str, Any] | Sequence[Any]) -> JsonObject:
    """Return the canonical *current* with *changes*: top-level fields, or fields of its strategies. Source: R-CFG-9.

    A null sets a field to its default. Replacing ``window`` or ``compactions`` as a whole removes the profile.
    """
    if isinstance(changes, list | tuple):
        return canonical(changes)
    plain = checked(changes)
    _refuse_alone(plain)
    if plain.get("profile") is not None:
        general = {name: current[name] for name in _COMMON - {"profile", "limit"} if name not in plain}
        return {**without_nulls(general), **canonical(changes)}
    merged = dict(current)
    for name in list(plain):
        if name in _CANONICAL:
            merged[name], merged["profile"] = plain.pop(name), None
        elif name == "summarizer" and isinstance(plain[name], dict):
            merged[name] = {**merged.get(name, {}), **plain.pop(name)}
        elif name in _COMMON:
            merged[name] = plain.pop(name)
    if plain:
        merged["window"], merged["compactions"] = _merge_fields(merged, plain)
    return with_types(without_nulls(merged))


def _merge_fields(current: JsonObject, changes: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
    """Return window and compactions with each change in every strategy that has the field."""
    strategies = [dict(current["window"]), *map(dict, current["compactions"])]
    if not current.get("profile"):
        message = "cannot be set without a profile; change `window` or `compactions` instead"
        raise InvalidInput("bad_config", message, field=next(iter(changes)))
    fields = {name for strategy in strategies for name in strategy} - {"type", "key"}
    _refuse_others(changes, fields)
    for strategy in strategies:
        strategy.update((name, value) for name, value in changes.items() if name in strategy)
    return strategies[0], strategies[1:]


def _refuse_alone(plain: JsonObject) -> None:
    """Refuse the name of a strategy or profile at a place of its own, and show where it belongs."""
    for field in ("profile", "strategy", "type", "name"):
        named = plain.get(field)
        if not isinstance(named, str) or (field == "profile" and named in _PROFILES):
            continue
        kind = named.replace("-", "_")
        if field != "profile" and kind in _PROFILES:
            form = f'{{"profile": "{kind}"}}'
        elif kind in COMPACTIONS:
            form = f'{{"compactions": [{{"type": "{kind}"}}]}}'
        elif kind in WINDOWS:
            form = f'{{"window": {{"type": "{kind}"}}}}'
        else:
            continue
        if field == "profile" or "profile" not in plain:
            raise InvalidInput("bad_config", f"write {form} instead", field=field)


def _memory_manager(own: JsonObject) -> JsonObject:
    _refuse_others(own, _MEMORY_MANAGER)
    return {"window": {"type": "full"}, "compactions": [{"type": "token_threshold", **own}]}


def _rolling(own: JsonObject) -> JsonObject:
    """Return the shape of seed 001 as its acceptance criteria count: an item is a message (R-001-1)."""
    return _rolling_interactions({"unit": "entry", **own})


def _rolling_interactions(own: JsonObject) -> JsonObject:
    """Return the shape of seed 001 in which an item is a request with its response."""
    _refuse_others(own, _BLOCKS | _ROLLING_WINDOW)
    window = {name: value for name, value in own.items() if name in _ROLLING_WINDOW}
    blocks = {name: value for name, value in own.items() if name in _BLOCKS}
    return {"window": {"type": "rolling", **window}, "compactions": [{"type": "rolling_blocks", **blocks}]}


def _workflow(own: JsonObject) -> JsonObject:
    """Return the shape of seed 002: without a compressor nothing is pruned, and only the limit is watched (R-002-7)."""
    _refuse_others(own, _WORKFLOW)
    outer = {name: value for name, value in own.items() if name != "memory_compressor_config"}
    compressor = own.get("memory_compressor_config")
    if compressor is None:
        limit = {name: value for name, value in outer.items() if name != "preserve"}
        return {"window": {"type": "full"}, "compactions": [], "limit": limit}
    if not isinstance(compressor, dict):
        raise InvalidInput("bad_config", "must be an object with a `name`", field="memory_compressor_config")
    compressor_config = with_type(compressor, {})
    if compressor_config.get("type") == "sliding_window":
        return {"window": {**outer, **compressor_config}, "compactions": []}
    if compressor_config.get("type") == "summarization":
        return {"window": {"type": "full"}, "compactions": [{**outer, **compressor_config}]}
    raise InvalidInput("bad_config", "must be sliding-window or summarization", field="memory_compressor_config.name")


def _interactions(own: JsonObject) -> JsonObject:
    """Return the shape of seed 003: at most one short-term strategy, and long-term strategies in order."""
    if "strategies" in own:
        _refuse_others(own, {"strategies"})
    listed = own.get("strategies", [own])
    if not isinstance(listed, list):
        raise InvalidInput("bad_config", "must be a list", field="strategies")
    for at, item in enumerate(listed):
        if not isinstance(item, dict) or not {"memory_strategy_id", "long_term_memory_id", "type"} & item.keys():
            raise InvalidInput("bad_config", "must be an object that names a strategy", field=f"strategies[{at}]")
    if not listed:
        raise InvalidInput(
            "bad_config", "must not be empty; for no strategy, use the profile `none`", field="strategies"
        )
    windows = [item for item in listed if "memory_strategy_id" in item]
    if len(windows) > 1:
        message = "must not be a second window strategy; remove it"
        raise InvalidInput("bad_config", message, field=f"strategies[{listed.index(windows[1])}]")
    others = [item for item in listed if "memory_strategy_id" not in item]
    return {"window": windows[0] if windows else {"type": "full"}, "compactions": others}


def _working_memory(own: JsonObject) -> JsonObject:
    renamed = {_ENVIRONMENT.get(name, name): value for name, value in own.items()}
    _refuse_others(renamed, _WORKING_MEMORY)
    return {
        "window": {"type": "full"},
        "compactions": [{"type": "progressive", **renamed}],
        "tokenizer": "cl100k_role",
    }


def _none(own: JsonObject) -> JsonObject:
    _refuse_others(own, set())
    return {"window": {"type": "full"}, "compactions": []}


_PROFILES: dict[str, Callable[[JsonObject], JsonObject]] = {
    "memory_manager": _memory_manager,
    "rolling": _rolling,
    "rolling_messages": _rolling,
    "rolling_interactions": _rolling_interactions,
    "workflow": _workflow,
    "interactions": _interactions,
    "working_memory": _working_memory,
    "none": _none,
}


def _profile_by_keys(plain: JsonObject) -> str:
    """Return the only profile that *plain* can have. Source: R-CFG-6."""
    own = {name: value for name, value in plain.items() if name not in _COMMON}
    if own.keys() & {"memory_strategy_id", "long_term_memory_id", "strategies"}:
        return "interactions"
    found = {
        "memory_manager": not own or own.keys() & (_MEMORY_MANAGER - {"max_tokens", "prompt", "on_failure"}),
        "workflow": own.keys() & (_WORKFLOW - {"max_tokens"}),
    }
    names = [name for name, has in found.items() if has]
    if len(names) == 1:
        return names[0]
    _refuse_others(own, _ALL_FIELDS, where="of a memory config")
    profiles = [name for name, fields in _PROFILE_FIELDS.items() if own.keys() <= fields]
    message = f"belongs to {' and '.join(f'`{name}`' for name in profiles)}; set `profile` to the one you mean"
    if not profiles:
        message = f"belongs to another profile than {', '.join(f'`{name}`' for name in sorted(own)[1:])}; remove one"
    raise InvalidInput("bad_config", message, field=min(own))


def _refuse_others(own: JsonObject, known: set[str], *, where: str = "of this profile") -> None:
    for name in own:
        if name not in known:
            raise InvalidInput("bad_config", unknown_field(name, known, where=where), field=name)
