"""Read the events of a session in pages, forwards or backwards, of some types or one actor. Source: http W-67."""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec.structs import asdict, replace

from ledger.errors import LedgerError, SessionNotFound
from ledger.events import StoredEvent
from ledger.events.chain import ZERO_HASH, check_versions, digest_of, follows
from ledger.events.codec import NO_CONTENT, decode
from ledger.events.ids import Stream
from ledger.history.log_reads import LoggedEvent, logged
from ledger.history.origins import Origins
from ledger.ports import Store
from projections.log.timeline import describe
from projections.values import ranges

_FIRST_LOOK: Final = 1_000  # events that the first look for a type or an actor looks at; each later look doubles it
_LARGEST_LOOK: Final = 20_000
_LINE: Final = 300  # characters

#: Whether the hash of an event follows from its bytes and the event before; *first* if it does and none is before it.
Link: TypeAlias = Literal["ok", "first", "broken", "unchecked"]


class ListedEvent(LoggedEvent, frozen=True, kw_only=True):
    """An event with a line of text for people, and whether its link in the hash chain holds."""

    text: str
    link: Link


class LogPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the log, full unless it is the last.

    Read the next one after version *next_after*, or before *next_before* if the newest come first; both are None at
    the end. *version* is that of the session.
    """

    events: tuple[ListedEvent, ...]
    next_after: int | None = None
    next_before: int | None = None
    version: int


async def read_log(
    store: Store,
    stream: Stream,
    *,
    after: int,
    before: int | None = None,
    limit: int,
    types: Sequence[str] | None = None,
    actor: str | None = None,
) -> LogPage:
    """Return up to *limit* events of a session between two versions, newest first if *before* is given.

    Raises:
        SessionNotFound: the session has no events.
        LogCorrupted: a version is missing.
    """
    newest, _ = await store.events.head(stream)
    if not newest:
        raise SessionNotFound(stream.session_id)
    backwards = before is not None
    first, last = after + 1, newest if before is None else min(newest, before - 1)
    if types is None and actor is None:
        span = range(first, last + 1)
        found = list((span[::-1] if backwards else span)[: limit + 1])
    else:
        found = await _find(store, stream, first, last, limit + 1, types, actor, backwards=backwards)
    versions, more = found[:limit], len(found) > limit
    stored: Sequence[StoredEvent] = ()
    if versions and types is None and actor is None:
        start = max(0, min(versions) - 2)  # the hash of the event before is the first link
        stored = await store.events.read_stream(stream, after=start, until=max(versions))
        check_versions(stored, after=start)
    elif versions:
        wanted = ranges.union([tuple((max(1, each - 1), each) for each in sorted(versions))])
        stored = await store.events.read_versions(stream, wanted)
    origins = await Origins.of(store, stream.namespace_id, stored)
    by_version = {event.version: event for event in stored}
    end = versions[-1] if more else None
    return LogPage(
        events=tuple(
            _listed(by_version[version], by_version.get(version - 1), stream, origins)
            for version in versions
            if version in by_version
        ),
        next_after=None if backwards else end,
        next_before=end if backwards else None,
        version=newest,
    )


async def _find(
    store: Store,
    stream: Stream,
    first: int,
    last: int,
    limit: int,
    types: Sequence[str] | None,
    actor: str | None,
    *,
    backwards: bool,
) -> list[int]:
    """Return the first *limit* versions from *first* to *last* that match, or the last ones, newest first."""
    found: list[int] = []
    size = _FIRST_LOOK
    while first <= last and len(found) < limit:
        start = max(first, last - size + 1) if backwards else first
        end = last if backwards else min(last, first + size - 1)
        versions = await store.events.find_versions(stream, after=start - 1, until=end, types=types, actor=actor)
        found += reversed(versions) if backwards else versions
        first, last = (first, start - 1) if backwards else (end + 1, last)
        size = min(2 * size, _LARGEST_LOOK)
    return found[:limit]


def _listed(event: StoredEvent, before: StoredEvent | None, stream: Stream, origins: Origins) -> ListedEvent:
    previous = before.hash if before else ZERO_HASH
    known = before is not None or event.version == 1
    try:
        line = describe(decode(event).payload)
        shown = logged(event, stream.user_id, stream.session_id, previous.hex(), origins)
    except (LedgerError, msgspec.MsgspecError):  # what was changed is shown as far as it can be
        line = "its payload cannot be read; run `memory-ledger verify`"
        shown = logged(_without_payload(event), stream.user_id, stream.session_id, previous.hex(), origins)
    return ListedEvent(**asdict(shown), text=line[:_LINE], link=_link(event, previous, known=known))


def _without_payload(event: StoredEvent) -> StoredEvent:
    return replace(event, structure=b"{}", content=None, content_digest=None, codec=NO_CONTENT)


def _link(event: StoredEvent, previous: bytes, *, known: bool) -> Link:
    if not known:
        return "unchecked"
    if digest_of(event.content) != event.content_digest or not follows(event, previous):
        return "broken"
    return "first" if event.version == 1 else "ok"
