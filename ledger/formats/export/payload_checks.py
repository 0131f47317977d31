"""Check the payloads of a file as requests are checked that write such events. Source: trust E-12, N-4, N-5, N-7."""

from datetime import UTC, datetime
from typing import Any, Final, TypeAlias, get_args

import msgspec

from ledger.errors import ImportRefused, InvalidInput, LedgerError
from ledger.events import (
    LONGEST_TTL_SECONDS,
    AccessEvent,
    CompactionCompleted,
    CompactionContinued,
    CompactionDiscarded,
    CompactionFailed,
    CompactionRequested,
    ConfigChanged,
    ContextRendered,
    ContextSet,
    DataChanged,
    EntriesExtracted,
    EntriesIndexed,
    EntriesReturned,
    EntryAdded,
    EntryEdited,
    EntryRemoved,
    Event,
    ExpirySet,
    KeptRemoved,
    KeptSet,
    MemoryAdded,
    MemoryEdited,
    MemoryPromoted,
    MemoryRemoved,
    OpaqueEvent,
    Ranges,
    RebuildAnswered,
    RebuildCompleted,
    RebuildFailed,
    RebuildRequested,
    RecordCreated,
    RecordDeleted,
    RecordEdited,
    RecordMerged,
    RecordRestored,
    Role,
    SessionCleared,
    SessionOpened,
    SessionRestored,
    StoredEvent,
    SummaryViewEvent,
    to_microseconds,
)
from ledger.events.codec import decode_payload, is_split, stored_json
from ledger.events.limits import NAME_BYTES, PAYLOAD_BYTES
from ledger.events.strict_json import INT_MAX, check_text, check_value
from ledger.events.upcasts import UpcastFailed
from ledger.session.entry_drafts import check_content, check_filled, check_metadata, check_time
from ledger.session.key_value_drafts import check_key, check_space
from projections.content_facts import wrong_fact
from projections.memory_config import config

_ROLES: Final = frozenset(get_args(Role))
#: How the types begin of events that no export file has.
_FOREIGN: Final = "token."
_LATEST_US: Final = to_microseconds(datetime.max.replace(tzinfo=UTC))
_NAMES: Final = frozenset({"key", "role", "strategy", "tokenizer", "tool_call_id", "tool_name", "trust"})


def read_payload(event: StoredEvent, line: int) -> Event | OpaqueEvent:
    """Return the payload of the event in *line* of a file; unknown types stay opaque (trust I-72).

    Raises:
        ImportRefused: it has not the shape of its type, or a request with it would have been refused.
    """
    try:
        payload = decode_payload(event.type, event.schema_version, stored_json(event))
        divided = is_split(event)
    except (msgspec.MsgspecError, UpcastFailed, LedgerError):
        raise ImportRefused("bad_payload", f"the payload is not a valid {event.type}", line=line) from None
    if event.type.startswith(_FOREIGN):
        raise ImportRefused("foreign_event", f"no export file has an event {event.type}", line=line)
    if not isinstance(payload, OpaqueEvent):
        try:
            check_payload(payload, event.version, event.size_b)
        except InvalidInput as fault:
            raise ImportRefused(fault.code, str(fault), line=line) from None
    item_id = getattr(payload, "item_id", event.item_id)
    if item_id != event.item_id:
        raise ImportRefused("item_mismatch", "the event has another item id than its payload", line=line)
    if not divided:
        text = "content lies in the structure of the event, or structure in its content"
        raise ImportRefused("bad_payload", text, line=line)
    return payload


def check_payload(event: Event, version: int, size: int) -> None:
    """Refuse *event*, the one at *version* of its stream and of *size* bytes, if no request could have caused it.

    Raises:
        InvalidInput: with the field and the code that the request would get.
    """
    if size > PAYLOAD_BYTES:
        raise InvalidInput("payload_too_large", f"an event must have at most {PAYLOAD_BYTES} bytes")
    _check_struct(event, "")
    _check_versions(event, version)
    _check_by_type(event)
    if field := wrong_fact(event):
        raise InvalidInput("bad_payload", "must be what follows from the content", field=field)


def _check_by_type(event: Event) -> None:
    match event:
        case EntryAdded():
            _check_entry(event)
        case EntryEdited():
            check_content(event.content)
            _check_role(event.role)
        case EntriesReturned():
            for entry in event.entries:
                check_content(entry.content)
                _check_role(entry.role)
        case SessionOpened() | ConfigChanged() | RebuildRequested() | RebuildCompleted():
            _check_config(event.config)
        case ExpirySet():
            _check_expiry(event.ttl_seconds)
        case CompactionCompleted() | ContextSet():
            check_content(event.text, field="text")
        case MemoryAdded() | MemoryEdited() | RecordCreated() | RecordEdited() | RecordRestored():
            check_content(event.fields.text, field="text")
        case KeptSet() | KeptRemoved():
            check_space(event.space)
            check_key(event.key)
        case _:
            _need_no_more(event)


#: Events that are checked as structs only.
_Plain: TypeAlias = (
    EntryRemoved
    | EntriesExtracted
    | EntriesIndexed
    | CompactionRequested
    | CompactionFailed
    | CompactionDiscarded
    | CompactionContinued
    | RebuildAnswered
    | RebuildFailed
    | SessionCleared
    | SessionRestored
    | DataChanged
    | MemoryRemoved
    | MemoryPromoted
    | ContextRendered
    | RecordMerged
    | RecordDeleted
    | AccessEvent
    | SummaryViewEvent
)


def _need_no_more(event: _Plain) -> None:
    """Take what has no check of its own; a new type of event is none of these until somebody says so."""


def _check_entry(event: EntryAdded) -> None:
    check_filled(check_content(event.content), event.kind)
    _check_role(event.role)
    check_metadata(event.metadata)
    if event.kind == "tool_call" and not event.tool_name:
        raise InvalidInput("missing_field", "a tool call must name its tool", field="tool_name")


def _check_expiry(seconds: int | None) -> None:
    if seconds is not None and not 1 <= seconds <= LONGEST_TTL_SECONDS:
        message = f"ttl_seconds of the expiry must be between 1 and {LONGEST_TTL_SECONDS}"
        raise InvalidInput("bad_payload", message)


def _check_struct(part: msgspec.Struct, at: str) -> None:
    for name in part.__struct_fields__:
        value = getattr(part, name)
        if value is not None:
            _check_value(value, name, f"{at}{name}")


def _check_value(value: Any, name: str, field: str) -> None:
    match value:
        case bool() | float() | bytes():
            pass
        case int():
            if not 0 <= value <= INT_MAX and name != "ttl_seconds":
                raise InvalidInput("number_out_of_range", "must be an integer of at least 0", field=field)
            if name.endswith("_us") and value > _LATEST_US:
                raise InvalidInput("number_out_of_range", "must be a time, in microseconds since 1970", field=field)
        case str():
            _check_text(value, name, field)
        case datetime():
            check_time(value, field)
        case msgspec.Struct():
            _check_struct(value, f"{field}.")
        case tuple():
            for at, each in enumerate(value):
                if each is not None:
                    _check_value(each, name, f"{field}[{at}]")
        case _:
            check_value(value, field=field)


def _check_text(text: str, name: str, field: str) -> None:
    check_text(text, field=field)
    is_id = name.endswith("_id") and name not in {"user_id", "session_id", "tool_call_id"}
    if (is_id or name in _NAMES) and len(text.encode()) > NAME_BYTES:
        message = f"must have at most {NAME_BYTES} bytes"
        raise InvalidInput("name_too_long", message, field=field, limit=NAME_BYTES)
    if is_id and not text:
        raise InvalidInput("bad_id", "must not be empty", field=field)


def _check_role(role: str | None) -> None:
    if role is not None and role not in _ROLES:
        raise InvalidInput("unknown_role", "must be user, assistant, system or tool", field="role")


def _check_versions(event: Event, version: int) -> None:
    for name in ("first_version", "rendered_version", "seen_version", "until"):
        if getattr(event, name, 0) > version:
            raise InvalidInput("bad_version", "must not be a version after the event's", field=name)
    if isinstance(event, CompactionRequested | CompactionCompleted | EntriesExtracted | EntriesIndexed):
        _check_covered(event.covered, version)


def _check_covered(covered: Ranges, version: int) -> None:
    last = 0
    for first, until in covered:
        if not last < first <= until < version:
            raise InvalidInput("bad_ranges", "must be runs of earlier versions, in order", field="covered")
        last = until


def _check_config(stored: dict[str, Any]) -> None:
    try:
        config.load(stored)
    except InvalidInput as fault:
        raise InvalidInput("bad_payload", f"the memory config cannot be read: {fault}") from None
    if not isinstance(stored.get("window"), dict) or not isinstance(stored.get("compactions"), list):
        raise InvalidInput("bad_payload", "must have the window and the compactions", field="config")
