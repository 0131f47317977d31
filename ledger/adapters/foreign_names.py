"""Ids of other SDKs as names of users and sessions, and back. Source: adapters AD-3."""

import json
import re
from hashlib import sha256
from typing import Final
from urllib.parse import unquote_to_bytes

from ledger.errors import InvalidInput
from ledger.events import JsonObject
from ledger.events.names import check_name
from ledger.formats.importers.elements.damaged import clean

#: Between the id of a session and the path of an agent of it.
SEPARATOR: Final = "#"
_LONGEST: Final = 200
_PLAIN: Final = re.compile(r"[A-Za-z0-9._-]")


def name_of(key: str, *, field: str = "id", separators: str = "", longest: int = _LONGEST) -> str:
    """Return *key* if it can be a name, and else its bytes in percent notation after ``~``; a long one as a digest.

    *separators* are characters that join several names into one, and may be in none of them. A name has at most
    *longest* characters.

    Raises:
        InvalidInput: *key*, which the SDK calls *field*, is no text.
    """
    if not isinstance(key, str):
        raise InvalidInput("wrong_type", "must be text", field=field)
    if not key.startswith("~") and not set(separators) & set(key) and len(key) <= longest and _is_name(key):
        return key
    data = key.encode(errors="surrogatepass")
    encoded = "~" + "".join(chr(byte) if _PLAIN.match(chr(byte)) else f"%{byte:02X}" for byte in data)
    return encoded if len(encoded) <= longest else f"~~{sha256(data).hexdigest()}"


def key_of(name: str) -> str | None:
    """Return the key that `name_of` made *name* of; None for a digest."""
    if name.startswith("~~"):
        return None
    if not name.startswith("~"):
        return name
    return unquote_to_bytes(name[1:]).decode(errors="surrogatepass")


def storable(key: str) -> str | JsonObject:
    """Return *key* as a value of JSON; its own JSON, as ASCII text, if it has NUL or halves of characters."""
    return key if clean(key) == key else {"json": json.dumps(key)}


def stored_key(stored: str | JsonObject) -> str:
    """Return what `storable` made *stored* of."""
    return stored if isinstance(stored, str) else str(json.loads(stored["json"]))


def _is_name(key: str) -> bool:
    try:
        check_name(key, field="key")
    except InvalidInput:
        return False
    return True
