"""Rules for names: namespaces, users, sessions, actors, entry ids. Source: trust N-3, N-4, N-10."""

import re
import unicodedata
from functools import lru_cache
from typing import Final

from ledger.errors import InvalidInput
from ledger.events.ids import Stream
from ledger.events.limits import NAME_BYTES

NAME_CHARACTERS: Final = 255
#: The namespace of sessions for which none is given.
DEFAULT_NAMESPACE: Final = "default"
#: Names of the streams that are not sessions; names from clients cannot contain a slash (trust R-1).
NO_SESSIONS: Final = frozenset({"/records", "/summary-views", "/access", "/ledger"})

_REFUSED = re.compile(
    "[\x00-\x1f\x7f-\x9f/\\\\"  # controls and path separators
    "\xa0\u1680\u2000-\u200a\u202f\u205f\u3000"  # white space other than U+0020
    "\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\uffff"  # invisible and direction-changing characters
    "\U000e0000-\U000e007f\ud800-\udfff]"  # tags, lone surrogates
)
_HIDDEN = re.compile("[\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\uffff\U000e0000-\U000e007f]")
_ENTRY_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_IDEMPOTENCY_KEY = re.compile(r"[\x21-\x7e]{1,255}")


def is_visible(character: str) -> bool:
    """Tell whether a terminal shows *character* as it is; line feed, tab and all blanks count (trust I-34, I-59)."""
    shown = character.isprintable() or unicodedata.category(character) == "Zs"
    return character in "\n\t" or (shown and not _HIDDEN.match(character))


def check_name(name: object, *, field: str, may_be_empty: bool = False) -> str:
    """Return *name* if it is valid for a namespace, user, session or actor.

    Names are compared by code point, without case folding; the only white space allowed is U+0020, inside the name.

    Raises:
        InvalidInput: ``bad_name``, or ``wrong_type`` if it is not text.
    """
    if not isinstance(name, str):
        raise InvalidInput("wrong_type", "must be text", field=field)
    if not name:
        if may_be_empty:
            return name
        raise InvalidInput("bad_name", "must not be empty", field=field)
    if name in {".", ".."}:
        raise InvalidInput("bad_name", "must not be `.` or `..`, which a URL cannot contain", field=field)
    if _REFUSED.search(name) or name != name.strip():
        message = "must not contain slashes, control characters or invisible characters, or begin or end with a space"
        raise InvalidInput("bad_name", message, field=field)
    return _short(name, field)


def check_beginning(text: object, *, field: str) -> str:
    """Return *text* if a name can begin with it; it may end with a space.

    Raises:
        InvalidInput: ``bad_name``, or ``wrong_type`` if it is not text.
    """
    if not isinstance(text, str) or not text:
        return check_name(text, field=field)
    if _REFUSED.search(text):
        message = "must not contain slashes, control characters or invisible characters"
        raise InvalidInput("bad_name", message, field=field)
    return _short(text, field)


def text_after(beginning: str) -> str:
    """Return the least text, by code point, that is greater than every text with this beginning; empty if none is."""
    shorter = beginning.rstrip("\U0010ffff")
    if not shorter:
        return ""
    follows = ord(shorter[-1]) + 1
    return shorter[:-1] + chr(0xE000 if follows == 0xD800 else follows)


def _short(name: str, field: str) -> str:
    if len(name) > NAME_CHARACTERS or len(name.encode()) > NAME_BYTES:
        message = f"must have at most {NAME_CHARACTERS} characters and {NAME_BYTES} bytes"
        raise InvalidInput("bad_name", message, field=field)
    return name


def check_actor(actor: object, *, field: str) -> str:
    """Return *actor* if it is valid: a name, or empty; it may contain slashes, as subjects of JWTs do.

    Raises:
        InvalidInput: see `check_name`.
    """
    check_name(actor.replace("/", "|") if isinstance(actor, str) else actor, field=field, may_be_empty=True)
    return str(actor)


def named_stream(namespace: str, session_id: str, user_id: str = "") -> Stream:
    """Return the stream of a session, after checking its names.

    Raises:
        InvalidInput: see `check_name`.
    """
    if type(session_id) is str and type(user_id) is str:
        return _session_stream(namespace, session_id, user_id)
    return _session_stream.__wrapped__(namespace, session_id, user_id)


@lru_cache(maxsize=4_096)
def _session_stream(namespace: str, session_id: str, user_id: str) -> Stream:
    name = check_name(session_id, field="session_id")
    user = check_name(user_id, field="user_id", may_be_empty=True)
    return Stream.of(namespace, name, user)


def stored_stream(namespace: str, session_id: str, user_id: str = "") -> Stream:
    """Return a stream, named in an export file, that is not a session (trust R-1).

    Raises:
        InvalidInput: it has the name of a session, or see `check_name`.
    """
    if session_id not in NO_SESSIONS:
        raise InvalidInput("bad_name", f"must be one of {', '.join(sorted(NO_SESSIONS))}", field="session_id")
    return Stream.of(namespace, session_id, check_name(user_id, field="user_id", may_be_empty=True))


def check_entry_id(entry_id: object, *, field: str = "id") -> str:
    """Return a client's entry id.

    Raises:
        InvalidInput: ``bad_id``.
    """
    if not isinstance(entry_id, str) or not _ENTRY_ID.fullmatch(entry_id):
        raise InvalidInput("bad_id", "must be 1 to 128 characters from A-Z a-z 0-9 . _ : -", field=field)
    return entry_id


def is_entry_id(text: str) -> bool:
    """Tell whether *text* can be the id of an entry."""
    return _ENTRY_ID.fullmatch(text) is not None


def check_idempotency_key(key: object) -> str:
    """Return a client's idempotency key.

    Raises:
        InvalidInput: ``bad_idempotency_key``.
    """
    if not isinstance(key, str) or not _IDEMPOTENCY_KEY.fullmatch(key):
        message = "must be 1 to 255 printable ASCII characters without spaces"
        raise InvalidInput("bad_idempotency_key", message, field="idempotency_key")
    return key
