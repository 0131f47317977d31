"""Import of a session's state from the JSON object of seed 000, for ``import_session``. Source: R-000-15."""

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from ledger.errors import InvalidInput
from ledger.events import Block, Continuation, EntryAdded
from ledger.events.names import check_entry_id
from ledger.events.strict_json import check_flag, check_integer, check_value
from ledger.formats.state_json.state_export import without_summary
from ledger.session.commands import IMPORTED, ImportedSummary, ReplaceState
from ledger.session.continuation import renumbered
from ledger.session.entry_drafts import EntryDraft, check_content, check_filled, check_time, draft_entry

T = TypeVar("T")

_KEY: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_STATE_FIELDS = {"sessionId", "entries", "summaries", "totalTokens", "continuation"}
#: The fields of a draft, and their names in a state.
_DRAFT_FIELDS = {
    "entry_id": "id",
    "kind": "type",
    "role": "role",
    "content": "content",
    "created_at": "timestamp",
    "tokens": "tokenCount",
    "metadata": "metadata",
    "data": "data",
    "tool_name": "toolName",
    "tool_call_id": "toolCallId",
    "tool_status": "toolStatus",
    "arguments": "arguments",
}
_ENTRY_FIELDS = {*_DRAFT_FIELDS.values(), "tokenizer", "compressed", "erased", "summaryId", "sameBatch"}
_SUMMARY_FIELDS = {
    "id",
    "content",
    "originalEntryIds",
    "tokenCount",
    "tokenizer",
    "originalTokenCount",
    "compressionRatio",
    "createdAt",
    "timeRange",
    "overlay",
    "key",
    "block",
    "place",
}
_SPAN_FIELDS = {"start", "end"}


def import_state(
    raw: Mapping[str, Any], *, write_id: str, added: Callable[[EntryDraft], EntryAdded], new_id: Callable[[], str]
) -> tuple[ReplaceState, int | None]:
    """Return the command that replaces a state by the exported state *raw*, and the total that *raw* claims.

    *added* turns a checked draft into an entry, *new_id* returns ids of compactions.

    Raises:
        InvalidInput: a field is unknown or wrong, or an id is missing or occurs twice.
    """
    check_shape(raw)
    entries: list[EntryAdded] = []
    compressed: list[bool] = []
    erased: list[bool] = []
    unanswered: deque[EntryAdded] = deque()
    for index, item in enumerate(_list(raw, "entries")):
        field = f"entries[{index}]"
        _known(item, _ENTRY_FIELDS, field)
        entry = _paired(added(_draft(item, field)), item, unanswered)
        counted = _text(item, "tokenizer", field)  # the exported count belongs to this tokenizer
        same_batch = check_flag(item.get("sameBatch", False), field=f"{field}.sameBatch") and entries
        batch = entries[-1].write_id if same_batch else new_id()
        entries.append(replace(entry, write_id=batch, tokenizer=counted or entry.tokenizer))
        compressed.append(check_flag(item.get("compressed", False), field=f"{field}.compressed"))
        erased.append(check_flag(item.get("erased", False), field=f"{field}.erased"))
        if erased[-1] and not compressed[-1]:
            raise InvalidInput("inconsistent", "must be compressed, too, if it was erased", field=f"{field}.erased")
    places = {entry.entry_id: index for index, entry in enumerate(entries)}
    if len(places) != len(entries):
        raise InvalidInput("duplicate_id", "must not have two entries with the same id", field="entries")
    summaries: list[ImportedSummary] = []
    hidden: set[int] = set()
    for index, item in enumerate(_list(raw, "summaries")):
        summary = _imported(item, places, compressed, entries, f"summaries[{index}]", new_id())
        if summary.hides and any(place in hidden for place in summary.entries):
            raise InvalidInput("duplicate_id", "must not cover another summary's entry", field=f"summaries[{index}]")
        if any(other.summary_id == summary.summary_id for other in summaries):
            raise InvalidInput("duplicate_id", "must not have the id of another summary", field=f"summaries[{index}]")
        if summary.hides and any(erased[place] for place in summary.entries):
            raise InvalidInput("inconsistent", "must not cover an erased entry", field=f"summaries[{index}]")
        hidden.update(summary.entries if summary.hides else ())
        summaries.append(summary)
    left = {place: erased[place] for place, is_compressed in enumerate(compressed) if is_compressed}
    summaries += without_summary(entries, {place: left[place] for place in left.keys() - hidden}, new_id)
    _check_links(raw.get("entries", ()), {summary.summary_id for summary in summaries})
    total = None if raw.get("totalTokens") is None else _count(raw["totalTokens"], "totalTokens")
    counted_so_far = _continuation(raw.get("continuation"), len(entries))
    return ReplaceState(write_id, tuple(entries), tuple(summaries), counted_so_far), total


def check_shape(raw: Any) -> None:
    """Refuse a value that does not have the fields of an exported state.

    Raises:
        InvalidInput: it is not a JSON object, or has an unknown field.
    """
    _known(raw, _STATE_FIELDS, "state")
    check_value(dict(raw), field="state")
    _text(raw, "sessionId", "state")


def _check_links(entries: Sequence[Mapping[str, Any]], summaries: set[str | None]) -> None:
    for index, item in enumerate(entries):
        summary_id = _text(item, "summaryId", f"entries[{index}]")
        if summary_id is not None and summary_id not in summaries:
            raise InvalidInput("dangling_id", "must name a summary of this state", field=f"entries[{index}].summaryId")


def _draft(item: Mapping[str, Any], field: str) -> EntryDraft:
    raw = {name: item.get(given) for name, given in _DRAFT_FIELDS.items()}
    if raw["kind"] == "tool_call" and not raw["tool_name"]:  # seed 000 has no such field: `shell({...})`
        raw["tool_name"] = str(raw["content"] or "").partition("(")[0].strip() or None
    try:
        return draft_entry(raw, field=field)
    except InvalidInput as fault:
        place, _, name = fault.field.rpartition(".")
        if name not in _DRAFT_FIELDS:
            raise
        own = f"{place}.{_DRAFT_FIELDS[name]}"  # the caller's name for it
        message = str(fault).removeprefix(f"{fault.field}: ")
        raise InvalidInput(fault.code, message, field=own, limit=fault.limit) from None


def _paired(entry: EntryAdded, item: Mapping[str, Any], unanswered: deque[EntryAdded]) -> EntryAdded:
    """Return a call or result with the call id that seed 000 does not have: results follow their calls in order."""
    if entry.kind == "message" and entry.role == "user":
        unanswered.clear()
    if item.get("toolName") or item.get("toolCallId"):
        return entry
    if entry.kind == "tool_call":
        entry = replace(entry, tool_call_id=entry.entry_id)
        unanswered.append(entry)
    elif entry.kind == "tool_result" and unanswered:
        call = unanswered.popleft()
        entry = replace(entry, tool_name=call.tool_name, tool_call_id=call.tool_call_id)
    return entry


def _imported(
    item: Any,
    places: Mapping[str, int],
    compressed: Sequence[bool],
    entries: Sequence[EntryAdded],
    field: str,
    compaction_id: str,
) -> ImportedSummary:
    _known(item, _SUMMARY_FIELDS, field)
    covered = []
    for entry_id in _list(item, "originalEntryIds"):
        if not isinstance(entry_id, str) or entry_id not in places:
            raise InvalidInput("dangling_id", "must name entries of this state", field=f"{field}.originalEntryIds")
        covered.append(places[entry_id])
    if len(set(covered)) != len(covered):
        raise InvalidInput("duplicate_id", "must not name an entry twice", field=f"{field}.originalEntryIds")
    overlay = check_flag(item.get("overlay", False), field=f"{field}.overlay")
    key = _text(item, "key", field) or IMPORTED
    if not covered and not overlay:
        raise InvalidInput("dangling_id", "must name at least one entry", field=f"{field}.originalEntryIds")
    text = check_content(item.get("content"), field=f"{field}.content")
    check_filled(text, "summary", field=f"{field}.content")
    hidden = [compressed[place] for place in covered]
    if any(hidden) and not all(hidden) and not overlay:
        raise InvalidInput("inconsistent", "must cover either only compressed entries or none", field=field)
    if not _KEY.fullmatch(key):
        raise InvalidInput("bad_value", "must have at most 128 letters, digits or . _ : -", field=f"{field}.key")
    place = None if item.get("place") is None else min(_count(item["place"], f"{field}.place"), len(entries))
    span = item.get("timeRange") or {}
    _known(span, _SPAN_FIELDS, f"{field}.timeRange")
    return ImportedSummary(
        compaction_id=compaction_id,
        entries=tuple(sorted(covered)),
        hides=any(hidden) and not overlay,
        summary_id=check_entry_id(item.get("id"), field=f"{field}.id"),
        key=key,
        block=None if item.get("block") is None else _read(item["block"], Block, f"{field}.block"),
        place=place,
        text=text,
        tokens=_count(item.get("tokenCount"), f"{field}.tokenCount"),
        tokens_before=_count(
            item.get("originalTokenCount", sum(entries[place].tokens for place in covered)),
            f"{field}.originalTokenCount",
        ),
        tokenizer=_text(item, "tokenizer", field) or "caller",
        created_at=check_time(item.get("createdAt"), f"{field}.createdAt"),
        starts_at=check_time(span.get("start"), f"{field}.timeRange.start"),
        ends_at=check_time(span.get("end"), f"{field}.timeRange.end"),
    )


def _continuation(raw: Any, entries: int) -> Continuation | None:
    """Return what was counted, by places from 1 to one after the last of the *entries*; None if nothing was."""
    if raw is None:
        return None
    counted = _read(raw, Continuation, "continuation")
    return renumbered(counted, lambda place: max(1, min(place, entries + 1)), among=range(1, entries + 1))


def _read(raw: Any, wanted: type[T], field: str) -> T:
    try:
        return msgspec.convert(raw, wanted)
    except msgspec.ValidationError as fault:
        raise InvalidInput("bad_value", f"must be what export_session returned: {fault}", field=field) from None


def _text(item: Mapping[str, Any], name: str, field: str) -> str | None:
    value = item.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidInput("wrong_type", "must be text", field=f"{field}.{name}")
    return value


def _known(item: Any, fields: set[str], field: str) -> None:
    if not isinstance(item, Mapping):
        raise InvalidInput("wrong_type", "must be a JSON object", field=field)
    for name in item:
        if name not in fields:
            raise InvalidInput("unknown_field", "is not a field of a state; remove it", field=f"{field}.{name}")


def _list(item: Mapping[str, Any], name: str) -> list[Any]:
    value = item.get(name, [])
    if not isinstance(value, list | tuple):
        raise InvalidInput("wrong_type", "must be a list", field=name)
    return list(value)


def _count(value: Any, field: str) -> int:
    return check_integer(value, field=field, least=0)
