"""An entry as a caller sends it, checked and normalised.

All input passes here: library arguments, importers, the command line. The result has a known kind and role, text
that can be stored, and JSON within the limits.

Source: R-GEN-5, R-GEN-6, R-000-9, R-TOK-3; trust N-4, N-5, I-31, I-33.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, cast, get_args

import msgspec

from ledger.errors import InvalidInput
from ledger.events import EntryAdded, JsonObject, Kind, Role, ToolStatus
from ledger.events.canonical import canonical_json
from ledger.events.field_messages import unknown_field
from ledger.events.limits import CONTENT_BYTES, METADATA_BYTES, NAME_BYTES, PAYLOAD_BYTES
from ledger.events.names import check_entry_id
from ledger.events.strict_json import INT_MAX, check_text, check_value
from projections.content_facts import facts_of

_KIND_ALIASES: Final = {"tool_use": "tool_call", "user_prompt": "message"}
_ROLE_ALIASES: Final = {"human": "user", "ai": "assistant"}
_ROLE_OF_KIND: Final[dict[str, Role]] = {
    "tool_call": "assistant",
    "step_result": "assistant",
    "tool_result": "tool",
    "context": "tool",
    "system_instruction": "system",
    "step_prompt": "user",
}
_KINDS: Final = frozenset(get_args(Kind))
_ROLES: Final = frozenset(get_args(Role))
_MAY_BE_BLANK: Final = frozenset({"tool_call", "tool_result"})


class EntryDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A checked entry that is not stored: it has no version, and may have no id and no token count."""

    kind: Kind
    role: Role
    content: str
    entry_id: str | None = None
    tokens: int | None = None
    data: Any = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_status: ToolStatus | None = None
    arguments: Any = None
    created_at: datetime | None = None
    metadata: JsonObject | None = None

    def to_event(self, *, write_id: str, entry_id: str, tokens: int, tokenizer: str, fallback: bool) -> EntryAdded:
        """Return the event that adds this entry."""
        return EntryAdded(
            write_id=write_id,
            entry_id=entry_id,
            kind=self.kind,
            role=self.role,
            content=self.content,
            tokens=tokens,
            tokenizer=tokenizer,
            fallback=fallback,
            data=self.data,
            tool_name=self.tool_name,
            tool_call_id=self.tool_call_id,
            tool_status=self.tool_status,
            arguments=self.arguments,
            created_at=self.created_at,
            metadata=self.metadata,
            facts=facts_of(self.content, self.data, self.metadata),
        )


_FIELDS: Final = frozenset(EntryDraft.__struct_fields__)


def draft_entry(raw: Mapping[str, Any] | EntryDraft, *, field: str = "") -> EntryDraft:
    """Return *raw* checked: unknown fields, kinds and roles refused, aliases resolved, defaults filled in.

    Without ``kind``, the role ``tool`` means a tool result, any other role a message. A tool call without content
    gets ``name(arguments)``; the content of a tool result that is not text becomes canonical JSON. *field* is the
    start of the path in an error, e.g. ``entries[57]``.

    Raises:
        InvalidInput: with a code of trust §8 or §9.
    """
    if isinstance(raw, EntryDraft):
        raw = msgspec.structs.asdict(raw)
    if not isinstance(raw, Mapping):
        raise InvalidInput("wrong_type", "must be an object, such as {'role': 'user', 'content': 'Hello'}", field=field)
    at = f"{field}." if field else ""
    if not raw.keys() <= _FIELDS:
        name = str(next(name for name in raw if name not in _FIELDS))[:80]
        raise InvalidInput("unknown_field", unknown_field(name, _FIELDS, where="of an entry"), field=at + name)
    kind, role = _kind_and_role(raw, at)
    checked = {name: check(raw[name], field=at + name) for name, check in _CHECKS.items() if raw.get(name) is not None}
    if kind == "tool_call" and not checked.get("tool_name"):
        raise InvalidInput("missing_field", "a tool call must name its tool", field=f"{at}tool_name")
    content = _content(raw.get("content"), kind, checked, f"{at}content")
    draft = EntryDraft(kind=kind, role=role, content=content, **checked)
    _check_size(draft, field)
    return draft


def check_metadata(metadata: Any, *, field: str = "metadata") -> JsonObject | None:
    """Return *metadata* if it is a JSON object of at most 16 KiB.

    Raises:
        InvalidInput: ``metadata_too_large``, or the JSON is not valid.
    """
    if metadata is None:
        return None
    if not isinstance(metadata, dict):
        raise InvalidInput("wrong_type", "must be a JSON object", field=field)
    check_value(metadata, field=field)
    stored = canonical_json(metadata)
    if len(stored) > METADATA_BYTES:
        message = f"must have at most {METADATA_BYTES} bytes as JSON; put the rest in `data`"
        raise InvalidInput("metadata_too_large", message, field=field, limit=METADATA_BYTES)
    return cast(JsonObject, msgspec.json.decode(stored))


def check_content(content: Any, *, field: str = "content") -> str:
    """Return *content* if it is text of at most 1 MiB.

    Raises:
        InvalidInput: ``wrong_type``, ``content_too_large``, ``nul_not_allowed`` or ``invalid_unicode``.
    """
    if not isinstance(content, str):
        raise InvalidInput("wrong_type", "must be text", field=field)
    check_text(content, field=field)
    if len(content) * 4 > CONTENT_BYTES and len(content.encode()) > CONTENT_BYTES:
        message = f"must have at most {CONTENT_BYTES} bytes"
        raise InvalidInput("content_too_large", message, field=field, limit=CONTENT_BYTES)
    return content if type(content) is str else str.__str__(content)


def check_filled(text: str, kind: str, *, field: str = "content") -> str:
    """Return *text* unless it is empty or blank; that of a tool call or result may be (trust I-33).

    Raises:
        InvalidInput: ``empty_content``.
    """
    if kind not in _MAY_BE_BLANK and not text.strip():
        raise InvalidInput("empty_content", "must not be empty or blank", field=field)
    return text


def _kind_and_role(raw: Mapping[str, Any], at: str) -> tuple[Kind, Role]:
    given_kind, given_role = raw.get("kind"), raw.get("role")
    role = _ROLE_ALIASES.get(given_role, given_role) if isinstance(given_role, str) else given_role
    if role is not None and not (isinstance(role, str) and role in _ROLES):
        raise InvalidInput("unknown_role", "must be user, assistant, system or tool", field=f"{at}role")
    if given_kind is None:
        given_kind = "tool_result" if role == "tool" else "message"
    kind = _KIND_ALIASES.get(given_kind, given_kind) if isinstance(given_kind, str) else given_kind
    if not (isinstance(kind, str) and kind in _KINDS):
        raise InvalidInput("unknown_kind", f"must be one of {', '.join(sorted(_KINDS))}", field=f"{at}kind")
    if kind != "message":
        return cast(Kind, kind), _ROLE_OF_KIND[kind]
    if given_kind == "user_prompt":
        role = role or "user"
    if role not in {"user", "assistant", "system"}:
        raise InvalidInput("unknown_role", "must be user, assistant or system for a message", field=f"{at}role")
    return "message", cast(Role, role)


def _content(content: Any, kind: str, checked: Mapping[str, Any], field: str) -> str:
    if kind == "tool_call" and content is None:
        content = f"{checked['tool_name']}({canonical_json(checked.get('arguments', {})).decode()})"
    elif kind == "tool_result" and not isinstance(content, str):
        content = "" if content is None else canonical_json(_json(content, field=field)).decode()
    return check_filled(check_content(content, field=field), kind, field=field)


def _json(value: Any, *, field: str) -> Any:
    """Return a copy of *value* as it will be read back; the caller's changes to the original do not reach a state."""
    check_value(value, field=field)
    stored = canonical_json(value)
    if len(stored) > PAYLOAD_BYTES - 2 * CONTENT_BYTES:
        raise InvalidInput("data_too_large", "must have at most 6 MiB as JSON", field=field)
    return msgspec.json.decode(stored)


def _check_size(draft: EntryDraft, field: str) -> None:
    """Refuse an entry that is too large as one payload, although each part is within its limit (trust N-5)."""
    has_json = draft.data is not None or draft.arguments is not None
    if has_json and len(canonical_json(draft)) > PAYLOAD_BYTES - METADATA_BYTES:
        raise InvalidInput("data_too_large", "an entry must have at most 8 MiB as JSON", field=field)


def _short_text(value: Any, *, field: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput("wrong_type", "must be text", field=field)
    check_text(value, field=field)
    if len(value.encode()) > NAME_BYTES:
        raise InvalidInput("name_too_long", f"must have at most {NAME_BYTES} bytes", field=field, limit=NAME_BYTES)
    return value


def _tokens(tokens: Any, *, field: str) -> int:
    if isinstance(tokens, bool) or not isinstance(tokens, int) or not 0 <= tokens <= INT_MAX:
        raise InvalidInput("wrong_type", "must be an integer of at least 0", field=field)
    return tokens


def _status(status: Any, *, field: str) -> ToolStatus:
    if status not in ("ok", "error"):
        raise InvalidInput("unknown_status", "must be ok or error", field=field)
    return cast(ToolStatus, status)


def check_time(moment: Any, field: str) -> datetime | None:
    """Return a time in UTC, given as an aware datetime or as text in ISO 8601 with an offset.

    Raises:
        InvalidInput: ``bad_time``.
    """
    if moment is None:
        return None
    with suppress(msgspec.ValidationError, UnicodeEncodeError, OverflowError):
        parsed = msgspec.convert(moment, datetime) if isinstance(moment, str) else moment
        if isinstance(parsed, datetime) and parsed.tzinfo is not None:
            return parsed.astimezone(UTC)
    raise InvalidInput("bad_time", "must be a time with an offset, such as 2026-01-31T09:30:00Z", field=field)


#: The checks of the fields that an entry may lack.
_CHECKS: Final[dict[str, Callable[..., Any]]] = {
    "arguments": _json,
    "tool_name": _short_text,
    "entry_id": check_entry_id,
    "tokens": _tokens,
    "data": _json,
    "tool_call_id": _short_text,
    "tool_status": _status,
    "created_at": check_time,
    "metadata": check_metadata,
}
