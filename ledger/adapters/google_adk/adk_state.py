"""State of Google ADK as session data: which part is stored where, and each value as JSON. Source: adapters GA-1."""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pydantic_core import PydanticSerializationError, to_jsonable_python

from ledger.adapters.foreign_names import key_of, name_of, stored_key
from ledger.adapters.packed_items import has_whole_float
from ledger.errors import InvalidInput
from ledger.events import JsonObject
from ledger.events.strict_json import check_value

APP: Final = "app:"
USER: Final = "user:"
TEMPORARY: Final = "temp:"
#: Between the names of an app and of a user; it is in neither of them.
SEPARATOR: Final = "|"
#: The key of the session data that has the SDK's own names and the time of creation.
ABOUT: Final = "~adk"
#: In the place of a value, or under another key, if session data cannot have one of them: both as ASCII text.
_TEXT: Final = "~json"
#: Of two names with a separator, which together are one of at most 255 characters and 512 bytes.
_LONGEST_ASCII: Final = 120
_LONGEST: Final = 60


class AdkNames(NamedTuple):
    """The user and the session of the ledger that have something of the SDK."""

    user_id: str
    session_id: str


def session_names(app_name: str, user_id: str, session_id: str) -> AdkNames:
    """Return where a session is."""
    return AdkNames(f"{_name(app_name)}{SEPARATOR}{_name(user_id)}", _name(session_id))


def user_names(app_name: str, user_id: str) -> AdkNames:
    """Return where the state of a user is; no session has this name."""
    return AdkNames(f"{_name(app_name)}{SEPARATOR}{_name(user_id)}", f"{SEPARATOR}user")


def app_names(app_name: str) -> AdkNames:
    """Return where the state of an app is; no user has this name."""
    return AdkNames(f"{_name(app_name)}{SEPARATOR}", f"{SEPARATOR}app")


def original(name: str, about: Mapping[str, Any], field: str) -> str:
    """Return the SDK's name that *name* was made of; if that was long, as it is noted in *about*."""
    found = key_of(name)
    return stored_key(about.get(field, name)) if found is None else found


def json_state(state: Mapping[str, Any]) -> JsonObject:
    """Return *state* as JSON; what is none, such as a function, as its text, as in the SDK's own services.

    Raises:
        InvalidInput: ``wrong_type``: it is no JSON.
    """
    try:
        found: JsonObject = to_jsonable_python(state, serialize_unknown=True)
    except (PydanticSerializationError, ValueError) as fault:
        raise InvalidInput("wrong_type", f"must be JSON: {fault}", field="state") from fault
    return found


class StateParts(NamedTuple):
    """A change of state as keys of session data: of the session, of the user and of the app."""

    session: JsonObject
    user: JsonObject
    app: JsonObject


def parts_of(state: Mapping[str, Any]) -> StateParts:
    """Divide *state*, JSON by key, by the prefixes of the keys; what is temporary is left out."""
    parts = StateParts({}, {}, {})
    for key, value in state.items():
        for prefix, part in ((APP, parts.app), (USER, parts.user), (TEMPORARY, None), ("", parts.session)):
            if key.startswith(prefix):
                if part is not None:
                    own = key.removeprefix(prefix)
                    part[_data_key(own)] = _stored(own, value)
                break
    return parts


def state_of(data: Mapping[str, Any], prefix: str = "") -> JsonObject:
    """Return the state that is in session *data*, its keys with *prefix*."""
    found: JsonObject = {}
    for data_key, stored in data.items():
        if data_key == ABOUT:
            continue
        key, value = json.loads(stored[_TEXT]) if isinstance(stored, dict) and _TEXT in stored else (data_key, stored)
        found[f"{prefix}{key}"] = value
    return found


def _data_key(key: str) -> str:
    """Return *key* if session data can have it and it is not one of ours, or else another name for it."""
    return key if not key.startswith("~") and _is_plain({key: None}) else name_of(key, longest=_LONGEST)


def _stored(key: str, value: Any) -> Any:
    own = isinstance(value, dict) and _TEXT in value
    if _data_key(key) == key and not own and _is_plain(value) and not has_whole_float(value):
        return value
    return {_TEXT: json.dumps([key, value])}


def _is_plain(value: Any) -> bool:
    try:
        check_value({"": value}, field="state")
    except InvalidInput:
        return False
    return True


def _name(name: str) -> str:
    return name_of(name, separators=SEPARATOR, longest=_LONGEST_ASCII if name.isascii() else _LONGEST)
