"""What a name may be: namespaces, users, sessions, actors, entry ids. Source: trust N-3, N-4, N-10."""

import re
import unicodedata
from typing import Final

from ledger.errors import InvalidInput
from ledger.ids import Stream
from ledger.limits import NAME_BYTES

NAME_CHARACTERS: Final = 255
#: Where sessions are that name no namespace.
DEFAULT_NAMESPACE: Final = "default"
#: What streams are called that are no session; a client's names have no such character (trust R-1).
NO_SESSIONS: Final = frozenset({"/records", "/access", "/ledger"})

_REFUSED = re.compile(
    "[\x00-\x1f\x7f-\x9f/\\\\"  # controls and path separators
    "\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\uffff"  # invisible and direction-changing characters
    "\U000e0000-\U000e007f\ud800-\udfff]"  # tags, lone surrogates
)
_HIDDEN = re.compile("[\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\uffff\U000e0000-\U000e007f]")
_ENTRY_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_IDEMPOTENCY_KEY = re.compile(r"[\x21-\x7e]{1,255}")


def is_visible(character: str) -> bool:
    """Tell whether a terminal shows *character* as itself (trust I-34, I-59).

    Line feed, tab and the blanks of all scripts count as visible.
    """
    shown = character.isprintable() or unicodedata.category(character) == "Zs"
    return character in "\n\t" or (shown and not _HIDDEN.match(character))


def check_name(name: object, *, field: str, may_be_empty: bool = False) -> str:
    """Return *name* if it may stand for a namespace, user, session or actor.

    Names are compared by code point and never folded; white space is refused but U+0020 inside.

    Raises:
        InvalidInput: ``bad_name``, or ``wrong_type`` if it is no text.
    """
    if not isinstance(name, str):
        raise InvalidInput("wrong_type", "must be text", field=field)
    if not name:
        if may_be_empty:
            return name
        raise InvalidInput("bad_name", "must not be empty", field=field)
    namespaces = any(character.isspace() and character != " " for character in name)
    if _REFUSED.search(name) or name in {".", ".."} or name != name.strip() or namespaces:
        raise InvalidInput(
            "bad_name",
            "holds a slash, a control or an invisible character",
            field=field,
        )
    if len(name) > NAME_CHARACTERS or len(name.encode()) > NAME_BYTES:
        raise InvalidInput("bad_name", f"has more than {NAME_CHARACTERS} characters or {NAME_BYTES} bytes", field=field)
    return name


def named_stream(namespace: str, session_id: str, user_id: str = "") -> Stream:
    """Return the stream of a session whose names come from outside.

    Raises:
        InvalidInput: see `check_name`.
    """
    name = check_name(session_id, field="session_id")
    user = check_name(user_id, field="user_id", may_be_empty=True)
    return Stream.of(namespace, name, user)


def stored_stream(namespace: str, session_id: str, user_id: str = "") -> Stream:
    """Return a stream of a file of ours that is no session (trust R-1).

    Raises:
        InvalidInput: it has the name of a session, or see `check_name`.
    """
    if session_id not in NO_SESSIONS:
        raise InvalidInput("bad_name", "is none of a stream that is no session", field="session_id")
    return Stream.of(namespace, session_id, check_name(user_id, field="user_id", may_be_empty=True))


def check_entry_id(entry_id: object, *, field: str = "id") -> str:
    """Return a client's entry id.

    Raises:
        InvalidInput: ``bad_id``.
    """
    if not isinstance(entry_id, str) or not _ENTRY_ID.fullmatch(entry_id):
        raise InvalidInput("bad_id", "entry ids have 1-128 of A-Z a-z 0-9 . _ : -", field=field)
    return entry_id


def check_idempotency_key(key: object) -> str:
    """Return a client's idempotency key.

    Raises:
        InvalidInput: ``bad_idempotency_key``.
    """
    if not isinstance(key, str) or not _IDEMPOTENCY_KEY.fullmatch(key):
        raise InvalidInput(
            "bad_idempotency_key", "has 1-255 printable ASCII characters, no space", field="idempotency_key"
        )
    return key
