"""Read the values that are kept beside the window. Source: adapters LF-1, LF-2.

The store finds them by an index, so that reading one costs the same in a session that has thousands.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Final, Unpack

import msgspec
from msgspec.structs import replace

from ledger.application.handle import NamespaceHandle
from ledger.application.reading.session_reads import check_when
from ledger.events import KeptRemoved, KeptSet, RecordedEvent, SessionCleared, SessionOpened, StoredEvent
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.events.key_value_events import SEPARATOR
from ledger.events.names import text_after
from ledger.events.strict_json import check_integer
from ledger.results import KeptValue, When
from ledger.session.key_value_drafts import check_key, check_space
from projections.values import ranges

_MOST: Final = 10_000
#: Less than every character that a key may have.
_LEAST: Final = "\x01"


async def get_kept(
    handle: NamespaceHandle, session_id: str, space: str, key: str, **when: Unpack[When]
) -> KeptValue | None:
    """Return the newest value of a key; None if it has none, or it was removed.

    Raises:
        SessionNotFound, VersionNotFound: the session has no such version.
        InvalidInput: ``bad_space``, ``bad_key``, or as `get_state` does.
    """
    item_id = f"{check_space(space)}{SEPARATOR}{check_key(key)}"
    found = await _find(handle, session_id, when, _Query(item_id, item_id + _LEAST))
    return found[0] if found else None


async def get_kept_values(
    handle: NamespaceHandle, session_id: str, space: str, keys: Sequence[str], **when: Unpack[When]
) -> dict[str, KeptValue]:
    """Return the newest value of each of *keys* that has one, by key. Raises as `get_kept` does."""
    begin = f"{check_space(space)}{SEPARATOR}"
    items = {f"{begin}{check_key(key)}" for key in keys}
    version, moment = check_when(when)
    stream, user_id = handle.stream(session_id, when.get("user_id")), when.get("user_id")
    until = await _until(handle, stream, version, moment)
    began = await _start_of_life(handle, stream, until)
    if began is None:
        return {}
    stored = await read_items_of_life(handle, session_id, began, items, -1, until=until, user_id=user_id)
    return {
        event.payload.key: KeptValue.of(event, event.payload) for event in stored if isinstance(event.payload, KeptSet)
    }


async def read_items_of_life(
    handle: NamespaceHandle,
    session_id: str,
    began: int,
    item_ids: Collection[str],
    place: int,
    *,
    until: int | None = None,
    user_id: str | None = None,
) -> list[RecordedEvent]:
    """Return one event about each item that a life has since it *began*: at *place* 0 the oldest, at -1 the newest."""
    stream, events = handle.stream(session_id, user_id), handle.services.store.events
    if not item_ids:
        return []
    known = await events.find_items(stream, sorted(item_ids))
    seen = [[at for at in versions if began < at and (until is None or at <= until)] for versions in known.values()]
    chosen = ranges.ranges_of(sorted(versions[place] for versions in seen if versions))
    return [decode(event) for event in await events.read_versions(stream, chosen)]


async def list_kept(
    handle: NamespaceHandle,
    session_id: str,
    space: str,
    *,
    prefix: str = "",
    after: str | None = None,
    before: str | None = None,
    greatest_first: bool = False,
    limit: int = 100,
    every: bool = False,
    **when: Unpack[When],
) -> list[KeptValue]:
    """Return the newest value of each key of a space, in the order of keys by code point.

    Only keys that begin with *prefix*, and are greater than *after* and smaller than *before*; the *greatest_first* is
    the newest one where keys grow with time. With *every*, all values that each key had since it was last removed,
    the oldest first. Nothing for an unknown session.

    Raises:
        SessionNotFound, VersionNotFound: the session has no such version.
        InvalidInput: ``bad_space``, ``bad_key``, ``bad_limit``, or as `get_state` does.
    """
    check_integer(limit, field="limit", code="bad_limit", least=1, most=_MOST)
    query = _of_prefix(space, prefix, greatest_first=greatest_first, limit=limit, every=every)
    begin = f"{space}{SEPARATOR}"
    if after is not None:
        query = replace(query, first=max(query.first, begin + check_key(after, field="after") + _LEAST))
    if before is not None:
        query = replace(query, end=min(query.end, begin + check_key(before, field="before")))
    return await _find(handle, session_id, when, query)


async def newest_version(handle: NamespaceHandle, session_id: str) -> int:
    """Return the version that a session is at, 0 for an unknown one: one statement, and no state is made for it."""
    stream, states = handle.stream(session_id, None), handle.services.states
    if states.folded(stream) is not None:
        return (await states.newest(stream)).version
    return (await handle.services.store.events.head(stream))[0]


async def start_of_life(handle: NamespaceHandle, session_id: str, version: int) -> int | None:
    """Return the version at which the life of a session began that it has at its `newest_version`; None if it ended."""
    stream = handle.stream(session_id, None)
    state = await handle.services.states.known(stream, version)
    if state is not None:
        return state.began if state.opened else None
    return await _start_in_log(handle, stream, version)


async def list_kept_of_life(
    handle: NamespaceHandle,
    session_id: str,
    began: int,
    space: str,
    prefix: str,
    *,
    greatest_first: bool = False,
    limit: int | None = None,
    every: bool = False,
) -> list[KeptValue]:
    """Return what `list_kept` does, or all without a *limit*, of the life that *began* then: see `start_of_life`."""
    query = _of_prefix(space, prefix, greatest_first=greatest_first, limit=limit, every=every)
    return await _find_in_life(handle, handle.stream(session_id, None), began, None, query)


class _Query(msgspec.Struct, frozen=True):
    """The item ids from *first* to before *end*, and what of their values to read."""

    first: str
    end: str
    greatest_first: bool = False
    limit: int | None = 1
    every: bool = False


def _of_prefix(space: str, prefix: str, **options: Any) -> _Query:
    first = f"{check_space(space)}{SEPARATOR}" + check_key(prefix, field="prefix", may_be_empty=True)
    return _Query(first, text_after(first), **options)


async def _find(handle: NamespaceHandle, session_id: str, when: When, query: _Query) -> list[KeptValue]:
    version, moment = check_when(when)
    stream = handle.stream(session_id, when.get("user_id"))
    until = await _until(handle, stream, version, moment)
    began = await _start_of_life(handle, stream, until)
    return [] if began is None else await _find_in_life(handle, stream, began, until, query)


async def _find_in_life(
    handle: NamespaceHandle, stream: Stream, began: int, until: int | None, query: _Query
) -> list[KeptValue]:
    events, limit = handle.services.store.events, query.limit
    first, end = query.first, query.end
    found: list[StoredEvent] = []
    while limit is None or len(found) < limit:
        wanted = None if limit is None or query.every else limit - len(found)
        page = await events.read_kept(
            stream,
            first=first,
            end=end,
            after=began,
            until=until,
            greatest_first=query.greatest_first,
            limit=wanted,
            every=query.every,
        )
        found += _since_removed(page) if query.every else [event for event in page if event.type == KeptSet.type]
        if wanted is None or len(page) < wanted:
            break
        if query.greatest_first:
            end = page[-1].item_id or ""
        else:
            first = f"{page[-1].item_id}{_LEAST}"
    values = []
    for event in map(decode, found[:limit]):
        assert isinstance(event.payload, KeptSet)
        values.append(KeptValue.of(event, event.payload))
    return values


async def _until(handle: NamespaceHandle, stream: Stream, version: int | None, moment: datetime | None) -> int | None:
    events = handle.services.store.events
    if moment is not None:
        return await events.version_at(stream, moment)
    if version is not None:
        head, _ = await events.head(stream)
        if version > head or version < 1:
            raise await handle.services.states.absence(stream)
    return version


async def _start_of_life(handle: NamespaceHandle, stream: Stream, until: int | None) -> int | None:
    """Return the version at which the life began; None if it has ended, or there is none."""
    states = handle.services.states
    if until is None and states.folded(stream) is not None:
        state = await states.newest(stream)
        return state.began if state.opened else None
    return await _start_in_log(handle, stream, until)


async def _start_in_log(handle: NamespaceHandle, stream: Stream, until: int | None) -> int | None:
    events = handle.services.store.events
    opened = await events.find_types(stream, [SessionOpened.type, SessionCleared.type], until=until)
    for event in map(decode, reversed(await events.read_versions(stream, ranges.ranges_of(opened)))):
        if isinstance(event.payload, SessionCleared) and event.payload.ended:
            return None
        if isinstance(event.payload, SessionOpened) and event.payload.forked_from is None:
            return event.version
    return None


def _since_removed(events: Sequence[StoredEvent]) -> list[StoredEvent]:
    removed = {event.item_id: event.version for event in events if event.type == KeptRemoved.type}
    return [event for event in events if event.version > removed.get(event.item_id, 0)]
