"""From a body to events. Source: http W-51, W-60, W-61."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from ledger.events import ConfigChanged, ContextSet, DataChanged, Event, ExpirySet, SessionOpened, SessionRestored
from ledger.session.put.body import Body, BodyMemory, BodyMessage
from ledger.session.put.fields import FieldChanges, compare_fields
from ledger.session.put.items import compare
from ledger.session.put.memories import known_memory, memories_then, memory_events
from ledger.session.put.messages import Counting, entries_then, known_entry, message_events
from ledger.session.put.past import Remembered
from ledger.session.put.seen import Seen, ServedView, Unmarked
from ledger.session.state import SessionState
from projections import config
from projections.config import MemoryConfig


class PutSession(msgspec.Struct, frozen=True, kw_only=True):
    """Bring the session to what *body* says, as far as *seen* proves that its writer knew what it changes.

    *count* counts tokens, *new_id* makes ids for what has none. *opening* begins a life where there is none,
    *restoring* goes on with one that has expired. *config* is the memory config from now on, if messages change.
    """

    write_id: str
    body: Body
    seen: Seen
    count: Counting
    new_id: Callable[[], str]
    remembered: Remembered = Remembered()
    views: tuple[ServedView, ...] = ()
    opening: SessionOpened | None = None
    restoring: bool = False
    config: MemoryConfig | None = None


def changes(state: SessionState, put: PutSession) -> list[Event]:
    """Return the events, oldest first; none if the session is already what the body says and never expires."""
    begun, base = _begun(state, put)
    version = state.version + len(begun)
    messages = compare(
        put.body.messages,
        [known_entry(entry) for entry in base.window.entries],
        put.seen,
        past=put.remembered.messages,
        then=entries_then(put.seen),
        views=put.views,
        version=version,
    )
    memories = compare(
        put.body.memories,
        [known_memory(memory) for memory in base.working.memories],
        put.seen,
        past=put.remembered.memories,
        then=memories_then(put.seen),
        version=version,
    )
    new_list = isinstance(put.seen, Unmarked) and bool(put.body.messages) and not messages.recognised
    fields = compare_fields(put.body, base, put.seen, new_list=new_list)
    said = message_events(base, messages, write_id=put.write_id, count=put.count, new_id=put.new_id)
    events = [
        *begun,
        *said,
        *memory_events(base, memories, put.seen, write_id=put.write_id, new_id=put.new_id),
        *_field_events(base, put, fields, new_config=put.config if said else None),
    ]
    if not events and base.working.ttl_seconds is not None:
        return [ExpirySet(write_id=put.write_id, ttl_seconds=base.working.ttl_seconds)]  # http W-20
    return events


def ids_in_doubt(state: SessionState, body: Body) -> tuple[list[str], list[str]]:
    """Return the ids of messages and memories in *body* whose past must be looked up.

    Those that are not active, and those active ones that were edited and are sent with another text (W-53, W-56).
    """
    entries = {entry.entry_id: (entry.edited_version, (entry.role, entry.content)) for entry in state.window.entries}
    memories = {
        memory.memory_id: (memory.edited_version, (memory.fields.text, memory.fields.memory_type))
        for memory in state.working.memories
    }
    return _doubtful(body.messages, entries), _doubtful(body.memories, memories)


def _doubtful(
    sent: Sequence[BodyMessage | BodyMemory], active: Mapping[str, tuple[int | None, tuple[str, str]]]
) -> list[str]:
    return [
        one.id
        for one in sent
        if one.id is not None
        and (one.id not in active or (active[one.id][0] is not None and active[one.id][1] != one.says))
    ]


def _begun(state: SessionState, put: PutSession) -> tuple[list[Event], SessionState]:
    """Return the event that begins or resumes a life, if there is one, and the state the body is compared with."""
    if put.opening is not None:
        return [put.opening], SessionState(version=state.version, config=config.load(put.opening.config))
    return [SessionRestored(write_id=put.write_id)] if put.restoring else [], state


def _field_events(
    state: SessionState, put: PutSession, found: FieldChanges, *, new_config: MemoryConfig | None
) -> list[Event]:
    events: list[Event] = []
    if found.set or found.removed:
        events.append(DataChanged(write_id=put.write_id, set=found.set, removed=found.removed))
    if found.context_changed:
        events.append(_context(state, put, found.context))
    wanted = new_config or state.config
    if wanted != state.config or found.extraction is not None or found.tokens is not None:
        events.append(
            ConfigChanged(
                write_id=put.write_id,
                config=config.dump(wanted),
                extraction=found.extraction or state.working.extraction,
                tokens=state.working.tokens if found.tokens is None else found.tokens,
            )
        )
    if found.ttl_changed:
        events.append(ExpirySet(write_id=put.write_id, ttl_seconds=found.ttl_seconds))
    return events


def _context(state: SessionState, put: PutSession, text: str) -> ContextSet:
    folds = tuple(summary.summary_id for summary in state.summaries.live)
    if not text:
        return ContextSet(write_id=put.write_id, folds=folds)
    counted = put.count(None, text)
    return ContextSet(
        write_id=put.write_id,
        summary_id=put.new_id(),
        text=text,
        tokens=counted.tokens,
        tokenizer=counted.tokenizer,
        fallback=counted.fallback,
        folds=folds,
    )
