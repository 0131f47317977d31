"""The session's own JSON object, beside its window."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Unpack

from ledger.application.handle import NamespaceHandle
from ledger.application.reading.session_reads import partial_state
from ledger.application.session_start import opening_commands, starts_life
from ledger.errors import InvalidInput
from ledger.events import JsonObject
from ledger.events.canonical import canonical_json
from ledger.events.limits import METADATA_BYTES, PAYLOAD_BYTES
from ledger.events.strict_json import check_value
from ledger.results import Guard, PatchedData, When
from ledger.session.commands import ChangeData, Command
from ledger.session.merge.merge_fields import members_to_set
from ledger.session.state import SessionState

_CHANGE_BYTES: Final = PAYLOAD_BYTES - METADATA_BYTES


async def get_data(handle: NamespaceHandle, session_id: str, **when: Unpack[When]) -> JsonObject:
    """Return the session's own JSON object; empty for an unknown session."""
    return dict((await partial_state(handle, session_id, when)).working.data)


async def patch_data(
    handle: NamespaceHandle, session_id: str, patch: Mapping[str, Any], **guard: Unpack[Guard]
) -> PatchedData:
    """Merge *patch* (RFC 7396) into the session's own JSON object and return that.

    Concurrent patches of different keys all survive. A key whose value is None is removed.

    Raises:
        InvalidInput: *patch* is not a JSON object, or the result is over a limit.
        VersionConflict: the session is not at *expected_version*.
    """
    # http W-66
    if not isinstance(patch, Mapping):
        raise InvalidInput("wrong_type", "must be a JSON object", field="patch")
    wanted = dict(patch)
    check_value(wanted, field="patch")
    stream = handle.stream(session_id, guard.get("user_id"))

    async def commands_for(state: SessionState) -> Sequence[Command]:
        data = {} if starts_life(handle, state) else state.working.data
        changed = {key: _merged(data.get(key), value) for key, value in wanted.items() if value is not None}
        removed = tuple(key for key, value in wanted.items() if value is None)
        return [*opening_commands(handle, stream, state), data_change(handle, state, changed, removed)]

    written = await handle.change(stream, commands_for, "patch_data", {"patch": wanted}, guard)
    state = await handle.services.states.past(stream, version=written.version) if written.replayed else written.state
    return PatchedData(data=dict(state.working.data), version=written.version, replayed=written.replayed)


async def set_data(
    handle: NamespaceHandle,
    session_id: str,
    values: Mapping[str, Any],
    *,
    remove: Sequence[str] = (),
    **guard: Unpack[Guard],
) -> PatchedData:
    """Set whole keys of the session's own JSON object, remove others, and return the object.

    A value replaces the one that is there, also an object; None is stored as null. Concurrent changes of different
    keys all survive.

    Raises:
        InvalidInput: *values* is not a JSON object, *remove* is not a list of its keys, or the result is over a limit.
        VersionConflict: the session is not at *expected_version*.
    """
    # adapters LF-10
    wanted, removed = check_keys_to_set(values, remove)
    stream = handle.stream(session_id, guard.get("user_id"))

    async def commands_for(state: SessionState) -> Sequence[Command]:
        change = data_change(handle, state, wanted, removed)
        return [*opening_commands(handle, stream, state), change]

    body = {"values": wanted, "remove": removed}
    written = await handle.change(stream, commands_for, "set_data", body, guard)
    state = await handle.services.states.past(stream, version=written.version) if written.replayed else written.state
    return PatchedData(data=dict(state.working.data), version=written.version, replayed=written.replayed)


def check_keys_to_set(
    values: Mapping[str, Any], remove: Sequence[str], *, fields: tuple[str, str] = ("values", "remove")
) -> tuple[JsonObject, tuple[str, ...]]:
    """Return the keys of session data to set and to remove.

    Raises:
        InvalidInput: one of them is not valid; *fields* are the names of both arguments.
    """
    if not isinstance(values, Mapping):
        raise InvalidInput("wrong_type", "must be a JSON object", field=fields[0])
    wanted = dict(values)
    check_value(wanted, field=fields[0])
    if isinstance(remove, str) or not isinstance(remove, Sequence) or not all(isinstance(key, str) for key in remove):
        raise InvalidInput("wrong_type", "must be a list of keys", field=fields[1])
    if both := wanted.keys() & set(remove):
        raise InvalidInput("bad_value", f"must not have {min(both)[:80]!r}, which is set", field=fields[1])
    return wanted, tuple(remove)


def data_change(
    handle: NamespaceHandle, state: SessionState, wanted: JsonObject, removed: Sequence[str] = ()
) -> ChangeData:
    """Return the command that sets whole keys of the session data in *state*, and removes others.

    Raises:
        InvalidInput: the data would be over a limit.
    """
    starts = starts_life(handle, state)
    data = {} if starts else state.working.data
    check_value({key: data[key] for key in data if key not in removed} | wanted, field="data")
    change = members_to_set(data, wanted), [key for key in removed if key in data]  # what the event will have
    if len(canonical_json(change)) > _CHANGE_BYTES:
        message = f"a change must have at most {_CHANGE_BYTES} bytes as JSON; change keys one after the other"
        raise InvalidInput("data_too_large", message, field="data", limit=_CHANGE_BYTES)
    return ChangeData(handle.services.clock.ulid(), wanted, tuple(removed), starts)


def _merged(current: Any, patch: Any) -> Any:
    """Return *current* after a merge patch (RFC 7396), which removes every null."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(current) if isinstance(current, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(merged.get(key), value)
    return merged
