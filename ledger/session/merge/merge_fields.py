"""The merge of all fields but the two lists: data, context, lifetime, extraction, tokens. Source: http W-59."""

from typing import Any, Final, TypeVar

import msgspec

from ledger.events import Extraction, JsonObject
from ledger.session.merge.put_command import Blind, Body, BodyMemory, BodyMessage, Evidence, IfMatch, ThreeWay
from ledger.session.state import SessionState
from projections.summaries import CONTEXT_KEY

T = TypeVar("T")

DISCRETE: Final = Extraction()


class MergedFields(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a session beside its lists."""

    data: JsonObject
    context: str
    ttl_seconds: int | None
    extraction: Extraction
    tokens: int


def fields_of(state: SessionState) -> MergedFields:
    """Return the fields as they are in *state*."""
    working = state.working
    return MergedFields(
        data=working.data,
        context=context_text(state),
        ttl_seconds=working.ttl_seconds,
        extraction=working.extraction,
        tokens=working.tokens,
    )


def context_text(state: SessionState) -> str:
    """Return the text that stands for what came before: the live summaries, oldest first."""
    return "\n\n".join(summary.text for summary in state.summaries.live)


def body_of(state: SessionState) -> Body:
    """Return the body that a client would send to get *state* again."""
    working = state.working
    return Body(
        messages=tuple(
            BodyMessage(role=entry.role, content=entry.content, id=entry.entry_id) for entry in state.window.entries
        ),
        memories=tuple(
            BodyMemory(fields=memory.fields, id=memory.memory_id, sent=frozenset(memory.fields.__struct_fields__))
            for memory in working.memories
        ),
        data=working.data,
        context=context_text(state),
        tokens=working.tokens,
        extraction=working.extraction,
        ttl_seconds=working.ttl_seconds,
        ttl_sent=True,
    )


def shown_data(data: JsonObject) -> JsonObject:
    """Return session data as clients see it: without null members, which clients cannot parse (http W-18)."""
    return {key: value for key, value in data.items() if value is not None}


def merge_fields(state: SessionState, body: Body, evidence: Evidence, *, new_list: bool) -> MergedFields:
    """Return the fields after the merge; with *new_list*, the messages replace all earlier ones (http W-54)."""
    theirs = fields_of(state)
    match evidence:
        case IfMatch():
            return MergedFields(
                data=body.data,
                context=body.context,
                ttl_seconds=body.ttl_seconds,
                extraction=body.extraction or DISCRETE,
                tokens=body.tokens,
            )
        case ThreeWay():
            base = fields_of(evidence.base)
            return MergedFields(
                data=_merged_data(base.data, theirs.data, body.data),
                context=_merged(base.context, theirs.context, body.context),
                ttl_seconds=_merged(base.ttl_seconds, theirs.ttl_seconds, body.ttl_seconds)
                if body.ttl_sent
                else theirs.ttl_seconds,
                extraction=_merged(base.extraction, theirs.extraction, body.extraction or base.extraction),
                tokens=_merged(base.tokens, theirs.tokens, body.tokens),
            )
        case Blind():
            hidden = {key: None for key, value in theirs.data.items() if value is None}
            return MergedFields(
                data=hidden | body.data if body.data or body.messages else theirs.data,
                context=body.context if new_list else _blind_context(state, theirs.context, body),
                ttl_seconds=body.ttl_seconds if body.ttl_sent else theirs.ttl_seconds,
                extraction=_merged(DISCRETE, theirs.extraction, body.extraction or DISCRETE),
                tokens=body.tokens or theirs.tokens,
            )


def changed_data(current: JsonObject, wanted: JsonObject) -> tuple[JsonObject, tuple[str, ...]]:
    """Return the members to set and the keys to remove that turn *current* into *wanted*."""
    return members_to_set(current, wanted), tuple(key for key in current if key not in wanted)


def members_to_set(current: JsonObject, wanted: JsonObject) -> JsonObject:
    """Return the members of *wanted* that *current* lacks, or has with another value."""
    return {key: value for key, value in wanted.items() if key not in current or not is_same(value, current[key])}


def _merged(base: T, theirs: T, ours: T) -> T:
    return theirs if ours == base else ours


def _merged_data(base: JsonObject, theirs: JsonObject, ours: JsonObject) -> JsonObject:
    seen = shown_data(base)
    changed = {key: value for key, value in ours.items() if not is_same(value, seen.get(key))}
    return {key: value for key, value in theirs.items() if key in ours or key not in seen} | changed


def _blind_context(state: SessionState, theirs: str, body: Body) -> str:
    """Return the context after a blind body: an old or absent text does not replace the server's summaries."""
    if not body.context and not body.messages:
        return theirs
    summarized = any(summary.key != CONTEXT_KEY for summary in state.summaries.live)
    is_old = not body.context or state.working.had_context(body.context)
    return theirs if summarized and is_old else body.context


def is_same(first: Any, other: Any) -> bool:
    """Tell whether two JSON values are equal and of the same type: ``1``, ``1.0`` and ``true`` are not."""
    return type(first) is type(other) and bool(first == other)
