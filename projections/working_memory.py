"""What clients of the working-memory API store beside the window, as a fold. Source: http W-18, W-20, W-47.

Each value names the version of its event, so that a snapshot does not have to copy it.
"""

from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from ledger.events import (
    LONGEST_TTL_SECONDS,
    CompactionCompleted,
    CompactionContinued,
    CompactionDiscarded,
    CompactionFailed,
    CompactionRequested,
    ConfigChanged,
    ContextRendered,
    ContextSet,
    DataChanged,
    EntriesExtracted,
    EntriesIndexed,
    EntriesReturned,
    EntryAdded,
    ExpirySet,
    Extraction,
    JsonObject,
    KnownToWriter,
    MemoryAdded,
    MemoryEdited,
    MemoryFields,
    MemoryPromoted,
    MemoryRemoved,
    OpaqueEvent,
    Ranges,
    RebuildAnswered,
    RebuildCompleted,
    RebuildFailed,
    RecordedEvent,
    SessionCleared,
    to_datetime,
    to_microseconds,
)
from ledger.events.canonical import canonical_json
from projections.values import ranges

_CONTEXTS: Final = 64

#: Events that do not come from a client: they do not postpone the expiry (http W-20).
NOT_FROM_CLIENTS: Final = (
    CompactionRequested,
    CompactionCompleted,
    CompactionFailed,
    CompactionDiscarded,
    CompactionContinued,
    RebuildAnswered,
    RebuildCompleted,
    RebuildFailed,
    EntriesReturned,
    ContextRendered,
    EntriesExtracted,
    EntriesIndexed,
    MemoryPromoted,
)


class Memory(msgspec.Struct, frozen=True):
    """A structured memory of the session; *persisted_us* is when it became a record, 0 if it has not."""

    version: int
    memory_id: str
    write_id: str
    fields: MemoryFields
    recorded_us: int
    persisted_us: int = 0
    listed: KnownToWriter | None = None
    edited_version: int | None = None

    @property
    def persisted_at(self) -> datetime | None:
        """When it became a record, or None."""
        return to_datetime(self.persisted_us) if self.persisted_us else None

    @property
    def created_at(self) -> datetime:
        """When it was created: the client's time, or else the time of recording."""
        return self.fields.created_at or to_datetime(self.recorded_us)


class EntryFlags(msgspec.Struct, frozen=True):
    """The entries from which memories were extracted, and those that became records, and when (microseconds)."""

    extracted: Ranges = ()
    persisted: tuple[tuple[int, int, int], ...] = ()

    def persisted_at(self, version: int) -> datetime | None:
        """Return when the entry of *version* became a record, or None."""
        return next((to_datetime(us) for first, last, us in self.persisted if first <= version <= last), None)

    def since(self, version: int) -> "EntryFlags":
        """Return the flags of entries from *version* on."""
        return EntryFlags(
            tuple(pair for pair in self.extracted if pair[1] >= version),
            tuple(run for run in self.persisted if run[1] >= version),
        )


class WorkingMemory(msgspec.Struct, frozen=True):
    """Session data, memories, lifetime, extraction strategy, and the number that a client stores as ``tokens``."""

    data: JsonObject = msgspec.field(default_factory=dict)
    #: The version that set each key of the data.
    set_at: dict[str, int] = msgspec.field(default_factory=dict)
    memories: tuple[Memory, ...] = ()
    ttl_seconds: int | None = None
    #: When a client last wrote; only recorded while there is a lifetime.
    touched_us: int = 0
    extraction: Extraction = Extraction()
    tokens: int = 0
    flags: EntryFlags = EntryFlags()
    #: Digests of the newest contexts of this life, oldest first.
    contexts: tuple[str, ...] = ()

    @property
    def expires_at(self) -> datetime | None:
        """The time at which the session expires, or None if it never does."""
        if self.ttl_seconds is None:
            return None
        return to_datetime(self.touched_us) + timedelta(seconds=self.ttl_seconds)

    def memory(self, memory_id: str) -> Memory | None:
        """Return the memory with this id."""
        return next((memory for memory in self.memories if memory.memory_id == memory_id), None)

    def had_context(self, text: str) -> bool:
        """Tell whether *text* is or was the context in this life."""
        return context_digest(text) in self.contexts


def context_digest(text: str) -> str:
    """Return the digest that identifies a context."""
    return sha256(text.encode()).hexdigest()[:16]


def evolve(state: WorkingMemory, event: RecordedEvent) -> WorkingMemory:
    """Return the working memory after *event*."""
    payload = event.payload
    changed = _changed(state, event)
    if changed.ttl_seconds is None or isinstance(payload, NOT_FROM_CLIENTS):
        return changed
    return replace(changed, touched_us=event.recorded_us)


def _changed(state: WorkingMemory, event: RecordedEvent) -> WorkingMemory:
    match event.payload:
        case EntryAdded() | EntriesReturned() | EntriesExtracted() | EntriesIndexed() as payload:
            flags = _flags(state.flags, event, payload)
            return state if flags is state.flags else replace(state, flags=flags)
        case DataChanged() as payload:
            return _with_data(state, event.version, payload)
        case ExpirySet(ttl_seconds=ttl_seconds):
            allowed = None if ttl_seconds is None else min(max(ttl_seconds, 1), LONGEST_TTL_SECONDS)
            return replace(state, ttl_seconds=allowed)
        case ConfigChanged(extraction=extraction, tokens=tokens):
            return replace(state, extraction=extraction, tokens=tokens)
        case CompactionCompleted() as payload if payload.summary_id is not None:
            spent = sum(
                (model_output.input_tokens or 0) + (model_output.output_tokens or 0) for model_output in payload.outputs
            )
            return _with_context(replace(state, tokens=state.tokens + spent), payload.text)
        case RebuildAnswered(output=output):
            return replace(state, tokens=state.tokens + (output.input_tokens or 0) + (output.output_tokens or 0))
        case ContextSet(summary_id=str(), text=text):
            return _with_context(state, text)
        case MemoryAdded() | MemoryEdited() | MemoryRemoved() | MemoryPromoted():
            return replace(state, memories=_memories(state.memories, event, event.payload))
        case SessionCleared(ended=ended):
            return WorkingMemory() if ended else replace(state, flags=EntryFlags())
        case OpaqueEvent():
            raise AssertionError("the fold of the session stops before it")
        case _:
            return state


def _flags(
    flags: EntryFlags, event: RecordedEvent, payload: EntryAdded | EntriesReturned | EntriesExtracted | EntriesIndexed
) -> EntryFlags:
    match payload:
        case EntryAdded():
            if payload.extracted:
                flags = replace(flags, extracted=ranges.add(flags.extracted, event.version))
            if payload.persisted_at is not None:
                run = (event.version, event.version, to_microseconds(payload.persisted_at))
                flags = replace(flags, persisted=(*flags.persisted, run))
            return flags
        case EntriesReturned(entries=back):
            extracted = tuple((each.version, each.version) for each in back if each.extracted)
            persisted = tuple((each.version, each.version, each.persisted_us) for each in back if each.persisted_us)
            return EntryFlags(ranges.union([flags.extracted, extracted]), (*flags.persisted, *persisted))
        case EntriesExtracted(covered=covered):
            return replace(flags, extracted=ranges.union([flags.extracted, covered]))
        case EntriesIndexed(covered=covered):
            runs = tuple((first, last, event.recorded_us) for first, last in covered)
            return replace(flags, persisted=(*flags.persisted, *runs))


def _with_data(state: WorkingMemory, version: int, payload: DataChanged) -> WorkingMemory:
    removed_keys = set(payload.removed)
    remaining: dict[str, Any] = {key: value for key, value in state.data.items() if key not in removed_keys}
    places = {key: at for key, at in state.set_at.items() if key not in removed_keys}
    return replace(state, data=remaining | payload.set, set_at=places | dict.fromkeys(payload.set, version))


def _with_context(state: WorkingMemory, text: str) -> WorkingMemory:
    if not text:
        return state
    digest = context_digest(text)
    others = tuple(context for context in state.contexts if context != digest)
    return replace(state, contexts=(*others, digest)[-_CONTEXTS:])


def _memories(
    memories: tuple[Memory, ...],
    event: RecordedEvent,
    payload: MemoryAdded | MemoryEdited | MemoryRemoved | MemoryPromoted,
) -> tuple[Memory, ...]:
    if isinstance(payload, MemoryAdded):
        return (*memories, memory_of(event, payload))
    found = payload.memory_version
    if isinstance(payload, MemoryRemoved):
        return tuple(memory for memory in memories if memory.version != found)
    if isinstance(payload, MemoryEdited):
        return tuple(
            memory_edited(memory, event, payload) if memory.version == found else memory for memory in memories
        )
    return tuple(
        replace(memory, persisted_us=event.recorded_us) if memory.version == found else memory for memory in memories
    )


def memory_of(event: RecordedEvent, payload: MemoryAdded) -> Memory:
    """Return the memory that *event* added."""
    return Memory(
        event.version,
        payload.memory_id,
        payload.write_id,
        payload.fields,
        event.recorded_us,
        to_microseconds(payload.persisted_at) if payload.persisted_at else 0,
        payload.listed,
    )


def memory_edited(memory: Memory, event: RecordedEvent, payload: MemoryEdited) -> Memory:
    """Return *memory* as *event* changed it, in the same place."""
    return replace(memory, fields=payload.fields, edited_version=event.version)


class ServedView(msgspec.Struct, frozen=True):
    """A view that was served with messages left out: its version, that of its first message, those left out."""

    version: int
    first: int
    omitted: Ranges

    @property
    def key(self) -> str:
        """The last part of its ETag, different for each view of a session (http W-9)."""
        return sha256(canonical_json([self.version, self.first, self.omitted])).hexdigest()[:16]
