"""Keys of the Claude Agent SDK as users and sessions, and back. Source: adapters AD-3, CL-1."""

from collections.abc import Mapping
from typing import Any, Final

from ledger.adapters.foreign_names import SEPARATOR, key_of, name_of, storable, stored_key
from ledger.errors import InvalidInput
from ledger.events import JsonObject
from ledger.memory import MemoryLedger
from ledger.ports.session_index import IndexedSession

#: The key of the session data that has a key of the SDK.
KEYS: Final = "claude_key"


def names_of(key: Mapping[str, Any]) -> tuple[str, str]:
    """Return user and session of a key of the SDK.

    Raises:
        InvalidInput: a part is no text, or the ``subpath`` is empty.
    """
    for name in ("project_key", "session_id"):
        if not isinstance(key.get(name), str):
            raise InvalidInput("wrong_type", "must be text", field=f"key.{name}")
    session, subpath = name_part(key["session_id"]), key.get("subpath")
    if subpath is None:
        return name_part(key["project_key"]), session
    if not isinstance(subpath, str) or not subpath:
        raise InvalidInput("wrong_type", "must be text; leave it out for the session itself", field="key.subpath")
    return name_part(key["project_key"]), f"{session}{SEPARATOR}{name_part(subpath)}"


def name_part(part: str) -> str:
    """Return a part of a key as a name."""
    return name_of(part, separators=SEPARATOR)


def readable_key(key: Mapping[str, Any]) -> JsonObject:
    """Return what a key has, as session data."""
    return {name: storable(key[name]) for name in ("project_key", "session_id", "subpath") if key.get(name) is not None}


async def session_key(ledger: MemoryLedger, row: IndexedSession) -> str:
    """Return the ``session_id`` of a listed session."""
    key = key_of(row.session_id)
    if key is None:
        key = stored_key((await ledger.get_data(row.session_id, user_id=row.user_id))[KEYS]["session_id"])
    return key


async def subkey(ledger: MemoryLedger, row: IndexedSession) -> str:
    """Return the ``subpath`` of a listed transcript of an agent."""
    key = key_of(row.session_id.partition(SEPARATOR)[2])
    if key is None:
        key = stored_key((await ledger.get_data(row.session_id, user_id=row.user_id))[KEYS]["subpath"])
    return key
