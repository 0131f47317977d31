"""Checked kept values, before they become events."""

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

import msgspec

from ledger.errors import InvalidInput
from ledger.events import KeptRemoved, KeptSet
from ledger.events.canonical import canonical_json
from ledger.events.limits import PAYLOAD_BYTES
from ledger.events.strict_json import check_flag, check_value

KEY_BYTES: Final = 440  # with the space, below the limit of an item id
_BESIDE_VALUE: Final = 2_048  # bytes of an event that are not its value
_JSON_BYTES: Final = PAYLOAD_BYTES - _BESIDE_VALUE
#: Of a value of bytes, which is stored as base64.
MOST_BYTES: Final = _JSON_BYTES * 3 // 4
_SPACE: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_REFUSED: Final = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_FIELDS: Final = frozenset({"space", "key", "value", "removed"})


class KeptDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A value to store under a key of a space, JSON or bytes; or, *removed*, one to hide."""

    space: str
    key: str
    value: Any = None
    removed: bool = False

    def to_event(self, write_id: str) -> KeptSet | KeptRemoved:
        """Return the event that stores the value, or hides it."""
        if self.removed:
            return KeptRemoved(write_id=write_id, space=self.space, key=self.key)
        if isinstance(self.value, bytes):
            digest = sha256(self.value).hexdigest()
            return KeptSet(write_id=write_id, space=self.space, key=self.key, content=self.value, digest=digest)
        return KeptSet(write_id=write_id, space=self.space, key=self.key, value=self.value)


def draft_kept(raw: Mapping[str, Any] | KeptDraft, *, field: str) -> KeptDraft:
    """Return *raw* as a checked draft.

    Raises:
        InvalidInput: ``unknown_field``, ``wrong_type``, ``bad_space``, ``bad_key``, ``too_large``, or what
            `strict_json.check_value` says of a JSON value.
    """
    if isinstance(raw, KeptDraft):
        raw = msgspec.structs.asdict(raw)
    if not isinstance(raw, Mapping):
        raise InvalidInput("wrong_type", "must be an object with space, key and value", field=field)
    unknown = sorted(set(map(str, raw)) - _FIELDS)
    if unknown:
        raise InvalidInput(
            "unknown_field", f"must be one of {', '.join(sorted(_FIELDS))}", field=f"{field}.{unknown[0]}"
        )
    removed = check_flag(raw.get("removed", False), field=f"{field}.removed")
    value = raw.get("value")
    if isinstance(value, bytes | bytearray | memoryview):
        value = bytes(value)
    else:
        check_value(value, field=f"{field}.value")
    draft = KeptDraft(
        space=check_space(raw.get("space"), field=f"{field}.space"),
        key=check_key(raw.get("key"), field=f"{field}.key"),
        value=None if removed else value,
        removed=removed,
    )
    size = -(-len(value) // 3) * 4 if isinstance(value, bytes) else len(canonical_json(value))
    if size > _JSON_BYTES:
        raise InvalidInput(
            "too_large",
            f"must have at most {_JSON_BYTES} bytes as JSON, or {MOST_BYTES} bytes; split it over several keys",
            field=f"{field}.value",
            limit=_JSON_BYTES,
        )
    return draft


def check_space(space: Any, *, field: str = "space") -> str:
    """Return the name of a space.

    Raises:
        InvalidInput: ``bad_space``.
    """
    if not isinstance(space, str) or not _SPACE.fullmatch(space):
        raise InvalidInput("bad_space", "must be 1 to 64 characters from A-Z a-z 0-9 . _ -", field=field)
    return space


def check_key(key: Any, *, field: str = "key", may_be_empty: bool = False) -> str:
    """Return a key, or the beginning of keys.

    Raises:
        InvalidInput: ``bad_key``.
    """
    is_key = isinstance(key, str) and (key or may_be_empty) and not _REFUSED.search(key)
    if not is_key or len(key.encode()) > KEY_BYTES:
        message = f"must be text of 1 to {KEY_BYTES} bytes without control characters; hash longer ones"
        raise InvalidInput("bad_key", message, field=field)
    return str(key)
