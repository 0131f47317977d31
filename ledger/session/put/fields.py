"""What a body does to everything but its two lists. Source: http W-59."""

from typing import Any, Final, TypeVar

import msgspec

from ledger.events import Extraction, JsonObject
from ledger.session.put.body import Body
from ledger.session.put.seen import Marked, Seen, Strict
from ledger.session.state import SessionState
from projections.summaries import CONTEXT_KEY

T = TypeVar("T")

DISCRETE: Final = Extraction()


class FieldChanges(msgspec.Struct, frozen=True):
    """What is set and removed, and new values; none stands for no change, of *ttl* and *context* with a flag."""

    set: JsonObject = msgspec.field(default_factory=dict)
    removed: tuple[str, ...] = ()
    context_changed: bool = False
    context: str = ""
    ttl_changed: bool = False
    ttl_seconds: int | None = None
    extraction: Extraction | None = None
    tokens: int | None = None


def context_of(state: SessionState) -> str:
    """Return the text that stands for what came before: the live summaries, oldest first."""
    return "\n\n".join(summary.text for summary in state.summaries.live)


def shown_data(data: JsonObject) -> JsonObject:
    """Return session data as clients see it: without null members, which they cannot parse (http W-18)."""
    return {key: value for key, value in data.items() if value is not None}


def compare_fields(body: Body, state: SessionState, seen: Seen, *, new_list: bool) -> FieldChanges:
    """Return what changes; *new_list* tells that the messages replace all there were (http W-54, 4)."""
    data, removed = _data(body, state, seen)
    context = _context(body, state, seen, new_list=new_list)
    ttl_changed, ttl_seconds = _ttl(body, state, seen)
    return FieldChanges(
        set=data,
        removed=removed,
        context_changed=context is not None and context != context_of(state),
        context=context or "",
        ttl_changed=ttl_changed and ttl_seconds != state.working.ttl_seconds,
        ttl_seconds=ttl_seconds,
        extraction=_unless_same(_extraction(body, seen), state.working.extraction),
        tokens=_unless_same(_tokens(body, seen), state.working.tokens),
    )


def _data(body: Body, state: SessionState, seen: Seen) -> tuple[JsonObject, tuple[str, ...]]:
    current = state.working.data
    match seen:
        case Strict():
            wanted = body.data
        case Marked(then=then):
            before = shown_data(then.working.data)
            changed = {key: value for key, value in body.data.items() if not is_same(value, before.get(key))}
            gone = [key for key in before if key not in body.data]
            wanted = {key: value for key, value in current.items() if key not in gone} | changed
        case _:
            if not body.data and not body.messages:
                return {}, ()
            hidden = {key: None for key, value in current.items() if value is None}
            wanted = hidden | body.data
    changes = {key: value for key, value in wanted.items() if key not in current or not is_same(value, current[key])}
    return changes, tuple(key for key in current if key not in wanted)


def _context(body: Body, state: SessionState, seen: Seen, *, new_list: bool) -> str | None:
    """Return the wanted context; none if nothing happens to it."""
    match seen:
        case Strict():
            return body.context
        case Marked(then=then):
            return None if body.context == context_of(then) else body.context
        case _:
            if new_list:
                return body.context
            if not body.context and not body.messages:
                return None
            ours = any(summary.key != CONTEXT_KEY for summary in state.summaries.live)
            if ours and (not body.context or state.working.had_context(body.context)):
                return None
            return body.context


def _ttl(body: Body, state: SessionState, seen: Seen) -> tuple[bool, int | None]:
    """Return whether a lifetime is asked for, and which."""
    match seen:
        case Strict():
            return True, body.ttl_seconds
        case Marked(then=then):
            return body.ttl_sent and body.ttl_seconds != then.working.ttl_seconds, body.ttl_seconds
        case _:
            return body.ttl_sent, body.ttl_seconds


def _extraction(body: Body, seen: Seen) -> Extraction | None:
    match seen:
        case Strict():
            return body.extraction or DISCRETE
        case Marked(then=then):
            return _unless_same(body.extraction, then.working.extraction)
        case _:
            return _unless_same(body.extraction, DISCRETE)


def _tokens(body: Body, seen: Seen) -> int | None:
    match seen:
        case Strict():
            return body.tokens
        case Marked(then=then):
            return _unless_same(body.tokens, then.working.tokens)
        case _:
            return body.tokens or None


def _unless_same(wanted: T | None, current: T) -> T | None:
    return None if wanted == current else wanted


def is_same(one: Any, other: Any) -> bool:
    """Tell whether two JSON values are the same, kinds of numbers and truth included."""
    return type(one) is type(other) and bool(one == other)
