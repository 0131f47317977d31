"""Check records that callers send: JSON or a mapping becomes a draft. Pure. Source: http W-3, W-6, W-26, W-27, W-29."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from ledger.errors import InvalidInput
from ledger.events import JsonObject, MemoryFields
from ledger.events.canonical import canonical_json
from ledger.events.ids import Stream
from ledger.events.limits import CONTENT_BYTES, METADATA_BYTES, NAME_BYTES
from ledger.events.names import NAME_CHARACTERS, check_name
from ledger.events.strict_json import check_text, check_value
from projections.records.record_filters import MEMORY_TYPES, moment_of

MOST_TAGS: Final = 1_000
#: What a PATCH may change (http W-27).
PATCHABLE: Final = (
    "text",
    "topics",
    "entities",
    "memory_type",
    "namespace",
    "user_id",
    "session_id",
    "event_date",
    "pinned",
)


class RecordDraft(msgspec.Struct, frozen=True, kw_only=True):
    """The fields that a caller sends; an unset field keeps its value or takes its default. Null means unset."""

    id: str | UnsetType = UNSET
    text: str | UnsetType = UNSET
    memory_type: str | UnsetType = UNSET
    user_id: str | UnsetType = UNSET
    session_id: str | UnsetType = UNSET
    namespace: str | UnsetType = UNSET
    topics: tuple[str, ...] | UnsetType = UNSET
    entities: tuple[str, ...] | UnsetType = UNSET
    event_date: datetime | UnsetType = UNSET
    created_at: datetime | UnsetType = UNSET
    last_accessed: datetime | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET
    extracted: bool | UnsetType = UNSET
    extracted_from: tuple[str, ...] | UnsetType = UNSET
    extraction_strategy: str | UnsetType = UNSET
    extraction_strategy_config: JsonObject | UnsetType = UNSET
    metadata: JsonObject | UnsetType = UNSET

    @property
    def record_id(self) -> str:
        """The id; only the draft of a whole record has one."""
        assert self.id is not UNSET
        return self.id


def record_draft(item: object, *, field: str) -> RecordDraft:
    """Return the record that *item*, a mapping, describes; unknown fields are ignored.

    Raises:
        InvalidInput: a field is wrong, or the id or the text is missing.
    """
    draft = _draft(item, field)
    if draft.id is UNSET:
        raise InvalidInput("missing_field", "must be given", field=f"{field}.id")
    if draft.text is UNSET:
        raise InvalidInput("missing_field", "must be given", field=f"{field}.text")
    return draft


def record_changes(item: object) -> RecordDraft:
    """Return the changes of a PATCH; nulls and unknown fields are ignored.

    Raises:
        InvalidInput: a field is wrong; ``no_fields`` if there is nothing to change (http W-27).
    """
    given = item if isinstance(item, Mapping) else {}
    wanted = {name: given[name] for name in PATCHABLE if given.get(name) is not None}
    if not wanted:
        raise InvalidInput("no_fields", "No fields provided for update")
    return _draft(wanted, "changes")


def check_fields(record_id: str | None, fields: MemoryFields, *, field: str) -> None:
    """Refuse a memory of a session that cannot become a record (http W-3, W-49).

    Raises:
        InvalidInput: a field has a value that a record may not have.
    """
    if record_id is not None:
        check_record_id(record_id, field=f"{field}.id")
    for name in _OF_MEMORIES:
        value = getattr(fields, name)
        if value is not None:
            _CHECKS[name](value, f"{field}.{name}")


def fields_of(draft: RecordDraft, before: MemoryFields | None, stream: Stream) -> MemoryFields:
    """Return the fields of a record in *stream* after *draft*, which is applied to its fields *before*.

    Only the first draft sets the creation time.
    """
    base = before or MemoryFields(text="", memory_type="semantic", extracted=True)
    names = ("text", "memory_type", "session_id", "topics", "entities", "event_date", "pinned", "extracted")
    more = ("extracted_from", "extraction_strategy", "extraction_strategy_config", "metadata")
    given = {name: getattr(draft, name) for name in (*names, *more) if getattr(draft, name) is not UNSET}
    if before is None and draft.created_at is not UNSET:
        given["created_at"] = draft.created_at
    return placed(replace(base, **given), stream)


def placed(fields: MemoryFields, stream: Stream) -> MemoryFields:
    """Return *fields* with the user and the namespace of *stream*."""
    return replace(fields, user_id=stream.user_id or None, namespace=stream.namespace)


def check_record_id(value: object, *, field: str) -> str:
    """Return the id of a record: any text of 1 to 255 characters and at most 512 bytes (http W-3).

    Raises:
        InvalidInput: ``bad_id``.
    """
    if not isinstance(value, str) or not value:
        raise InvalidInput("bad_id", "must be text and not empty", field=field)
    check_text(value, field=field)
    if len(value) > NAME_CHARACTERS or len(value.encode()) > NAME_BYTES:
        message = f"must have at most {NAME_CHARACTERS} characters and {NAME_BYTES} bytes"
        raise InvalidInput("bad_id", message, field=field, limit=NAME_CHARACTERS)
    return value


def _draft(item: object, field: str) -> RecordDraft:
    if not isinstance(item, Mapping):
        raise InvalidInput("wrong_type", "must be an object", field=field)
    read: dict[str, Any] = {}
    for name, check in _CHECKS.items():
        own = "discrete_memory_extracted" if name == "extracted" else name
        value = item.get(own)
        if value is not None:
            read[name] = check(value, f"{field}.{own}")
    return RecordDraft(**read)


def _record_text(value: object, field: str) -> str:
    text = _plain_text(value, field)
    if not text.strip():
        raise InvalidInput("empty_content", "must not be empty", field=field)
    if len(text.encode()) > CONTENT_BYTES:
        raise InvalidInput(
            "content_too_large", f"must have at most {CONTENT_BYTES} bytes", field=field, limit=CONTENT_BYTES
        )
    return text


def _plain_text(value: object, field: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput("wrong_type", "must be text", field=field)
    check_text(value, field=field)
    return value


def _memory_type(value: object, field: str) -> str:
    if value not in MEMORY_TYPES:
        raise InvalidInput("bad_memory_type", f"must be one of {', '.join(MEMORY_TYPES)}", field=field)
    return str(value)


def _tags(value: object, field: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise InvalidInput("wrong_type", "must be a list of texts", field=field)
    if len(value) > MOST_TAGS:
        raise InvalidInput("too_many_values", f"at most {MOST_TAGS} values", field=field, limit=MOST_TAGS)
    tags = tuple(check_record_id(element, field=field) for element in value)
    if any("," in tag for tag in tags):
        raise InvalidInput("comma_not_allowed", "no value has a comma", field=field)
    return tags


def _flag(value: object, field: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput("wrong_type", "must be true or false", field=field)
    return value


def _extracted(value: object, field: str) -> bool:
    if value not in {"t", "f"}:
        raise InvalidInput("wrong_type", "must be t or f", field=field)
    return value == "t"


def _object(value: object, field: str) -> JsonObject:
    if not isinstance(value, dict):
        raise InvalidInput("wrong_type", "must be an object", field=field)
    check_value(value, field=field)
    if len(canonical_json(value)) > METADATA_BYTES:
        raise InvalidInput(
            "metadata_too_large", f"must have at most {METADATA_BYTES} bytes of JSON", field=field, limit=METADATA_BYTES
        )
    return value


_CHECKS: Final = {
    "id": lambda value, field: check_record_id(value, field=field),
    "text": _record_text,
    "memory_type": _memory_type,
    "user_id": lambda value, field: check_name(value, field=field, may_be_empty=True),
    "session_id": lambda value, field: check_name(value, field=field),
    "namespace": lambda value, field: check_name(value, field=field),
    "topics": _tags,
    "entities": _tags,
    "event_date": lambda value, field: moment_of(value, field=field),
    "created_at": lambda value, field: moment_of(value, field=field),
    "last_accessed": lambda value, field: moment_of(value, field=field),
    "pinned": _flag,
    "extracted": _extracted,
    "extracted_from": _tags,
    "extraction_strategy": lambda value, field: check_record_id(value, field=field),
    "extraction_strategy_config": _object,
    "metadata": _object,
}
#: Fields of a memory whose type alone does not tell whether they can be stored.
_OF_MEMORIES: Final = (
    *("text", "user_id", "session_id", "namespace", "topics", "entities"),
    *("extracted_from", "extraction_strategy", "extraction_strategy_config", "metadata"),
)
