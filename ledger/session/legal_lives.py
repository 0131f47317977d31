"""Check that the events of a session lie in one of its lives: a history that no writer writes was not written by one.

It is a part of what `decide` refuses, chosen to need a few bytes for each session and hardly any decoding: what changes
a session before it is opened, or after its end; a second opening in a life that cannot have expired; an edit, a
removal or a return of an entry from before the last clear.
"""

from typing import Final
from uuid import UUID

import msgspec

from ledger.events import EVENT_TYPES, ForkedFrom, StoredEvent
from ledger.events.codec import UNREADABLE

#: Types that need a life. The others may follow its end: the result of a compaction, a config, what a model was shown.
_OF_A_LIFE: Final = frozenset(
    {
        "compaction.completed",
        "compaction.requested",
        "context.set",
        "data.changed",
        "entries.extracted",
        "entries.indexed",
        "entries.returned",
        "entry.added",
        "entry.edited",
        "entry.removed",
        "kept.removed",
        "kept.set",
        "memory.added",
        "memory.edited",
        "memory.promoted",
        "memory.removed",
        "rebuild.completed",
        "rebuild.requested",
        "session.cleared",
        "session.restored",
    }
)


class _Life(msgspec.Struct, gc=False):
    """The newest life of a session: whether it is open, whether it may expire, and where its entries start."""

    is_open: bool = False
    may_expire: bool = False
    starts_after: int = 0
    is_known: bool = True


class _Returned(msgspec.Struct):
    version: int


class _Fields(msgspec.Struct):
    """The fields of payloads that say what becomes of a life."""

    ended: bool = False
    forked_from: ForkedFrom | None = None
    entry_version: int | None = None
    entries: tuple[_Returned, ...] = ()


_fields = msgspec.json.Decoder(_Fields)


class Lives:
    """Follows the lives of sessions, event by event, each stream in version order."""

    def __init__(self) -> None:
        self._lives: dict[int, _Life] = {}

    def distrust(self, stream_id: UUID) -> None:
        """Judge no further event of a stream, because one before it is not as it was written."""
        self._life(stream_id).is_known = False

    def problem(self, event: StoredEvent) -> str | None:
        """Return what is wrong with *event* after those before it in its stream, or None."""
        life = self._life(event.stream_id)
        if event.type == "entry.added" and life.is_open:
            return None
        known = EVENT_TYPES.get(event.type)
        if known is None or event.schema_version > known.schema_version:  # a newer release may end lives in other ways
            life.is_known = False
        if not life.is_known:
            return None
        if event.type in _OF_A_LIFE and not life.is_open:
            self.distrust(event.stream_id)  # one finding for a whole run of them
            return "its session was not open: it comes before an opening or after the end"
        match event.type:
            case "session.opened":
                return _open(life, event)
            case "session.cleared":
                life.is_open, life.starts_after = not _read(event).ended, event.version
            case "expiry.set":
                life.may_expire = True
            case "entry.edited" | "entry.removed" | "entries.returned":
                fields = _read(event)
                changed = [each.version for each in fields.entries]
                changed += [] if fields.entry_version is None else [fields.entry_version]
                unknown = [version for version in changed if not life.starts_after < version < event.version]
                if unknown:
                    return f"it changes entry {unknown[0]}, which its session does not show"
            case _:
                pass
        return None

    def _life(self, stream_id: UUID) -> _Life:
        number = stream_id.int
        return self._lives.get(number) or self._lives.setdefault(number, _Life())


def _open(life: _Life, event: StoredEvent) -> str | None:
    was_open, could_expire = life.is_open, life.may_expire
    life.is_open = True
    if _read(event).forked_from is not None:
        life.may_expire = True  # as the parent may
        return None
    life.may_expire, life.starts_after = False, event.version
    return "its session was open and could not expire" if was_open and not could_expire else None


def _read(event: StoredEvent) -> _Fields:
    try:
        return _fields.decode(event.structure)
    except UNREADABLE:  # reported where the payload is read for itself
        return _Fields()
