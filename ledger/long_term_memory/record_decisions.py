"""Decide on the records of one stream: the stored records and a request in, events out. Pure. No change, no event."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from ledger.events import (
    MemoryFields,
    RecordCreated,
    RecordDeleted,
    RecordedEvent,
    RecordEdited,
    RecordEvent,
    RecordMerged,
    RecordRestored,
    RecordSource,
)
from ledger.events.ids import Stream
from ledger.long_term_memory.record_drafts import RecordDraft, fields_of
from projections.records.records import MERGED, Record, fold, identity

#: The stored records of a stream by id, live or not.
KnownRecords = Mapping[str, Record]


class Creation(msgspec.Struct, frozen=True):
    """The events of a creation; *touched* are the live records that equal a draft, which was not added."""

    events: tuple[RecordEvent, ...]
    touched: tuple[str, ...] = ()


class Promotion(msgspec.Struct, frozen=True, kw_only=True):
    """A memory of a session that becomes a record: its id, fields and source."""

    record_id: str
    fields: MemoryFields
    source: RecordSource | None = None
    id_if_taken: str | None = None
    """The id to use where a record of another session has its id, which a session chooses for itself alone."""


def create(
    known: KnownRecords, drafts: Iterable[RecordDraft], *, stream: Stream, write_id: str, deduplicate: bool
) -> Creation:
    """Return the result of adding *drafts*: a stored id is edited, an equal live record is touched instead of added.

    Messages are the exception: equal ones are all added. Source: http W-26, W-50.
    """
    same_identity = {identity(record.fields): record.record_id for record in known.values() if record.live}
    now = {record.record_id: record.fields for record in known.values() if record.live}
    events: list[RecordEvent] = []
    touched: list[str] = []
    for draft in drafts:
        record_id = draft.record_id
        before = now.get(record_id)
        fields = fields_of(draft, before, stream)
        same = same_identity.get(identity(fields))
        if before is None and deduplicate and same is not None and fields.extraction_strategy != "message":
            touched.append(same)
            continue
        events += _put(record_id, before, fields, write_id=write_id)
        now[record_id] = fields
        same_identity.setdefault(identity(fields), record_id)
    return Creation(tuple(events), tuple(touched))


def promote(known: KnownRecords, promotions: Iterable[Promotion], *, write_id: str) -> list[RecordEvent]:
    """Return the events that make records of a session's memories: created, or edited by id. Source: http W-49."""
    now = {record.record_id: record.fields for record in known.values() if record.live}
    events: list[RecordEvent] = []
    for promotion in promotions:
        record_id = promotion.record_id
        if promotion.id_if_taken is not None and _is_of_another(now.get(record_id), promotion.fields):
            record_id = promotion.id_if_taken
        events += _put(record_id, now.get(record_id), promotion.fields, write_id=write_id, source=promotion.source)
        now[record_id] = promotion.fields
    return events


def edit(
    known: KnownRecords, record_id: str, changes: RecordDraft, *, stream: Stream, write_id: str
) -> list[RecordEvent]:
    """Return the events that change a live record; none if it is deleted. Source: http W-27."""
    record = known.get(record_id)
    if record is None or not record.live:
        return []
    return _put(record_id, record.fields, fields_of(changes, record.fields, stream), write_id=write_id)


def put(known: KnownRecords, record_id: str, fields: MemoryFields, *, write_id: str) -> list[RecordEvent]:
    """Return the events that give a record exactly *fields*: it was moved here, or moved back."""
    record = known.get(record_id)
    return _put(record_id, record.fields if record and record.live else None, fields, write_id=write_id)


def delete(known: KnownRecords, record_ids: Iterable[str], *, reason: str, write_id: str) -> list[RecordEvent]:
    """Return the events that delete the live records among *record_ids*. Source: http W-27."""
    live = [key for key in dict.fromkeys(record_ids) if key in known and known[key].live]
    return [RecordDeleted(write_id=write_id, record_id=record, reason=reason) for record in live]


def forget(known: KnownRecords, scanned: Iterable[Record], *, write_id: str) -> list[RecordEvent]:
    """Return the events that forget the *scanned* records; a record that was changed since stays. Source: http W-28."""
    same = [record.record_id for record in scanned if known.get(record.record_id) == record]
    return delete(known, same, reason="forgotten", write_id=write_id)


def merge(known: KnownRecords, *, write_id: str) -> list[RecordEvent]:
    """Return the events that merge equal records of *known* into one: a pinned one, else the oldest.

    Messages are never merged. Source: http W-28, W-50.
    """
    groups: dict[bytes, list[Record]] = defaultdict(list)
    for record in known.values():
        if record.live and record.fields.extraction_strategy != "message":
            groups[identity(record.fields)].append(record)
    events: list[RecordEvent] = []
    for same in groups.values():
        target, *others = sorted(
            same, key=lambda record: (not record.fields.pinned, record.created_at, record.record_id)
        )
        if others:
            merged = tuple(record.record_id for record in others)
            events.append(RecordMerged(write_id=write_id, record_id=target.record_id, merged=merged))
    return events


def restore(
    record_id: str, past: Record, known: KnownRecords, history: Sequence[RecordedEvent], *, write_id: str
) -> list[RecordEvent]:
    """Return the events that restore a record to *past*, a revision at which it was live.

    *history* are the events about it. Records that were merged into it after that revision are restored too, if they
    are still merged into it. Source: http W-71.
    """
    events: list[RecordEvent] = []
    now, fields = known.get(record_id), _with_age(past)
    if now is None or not now.live or _with_age(now) != fields:
        events.append(RecordRestored(write_id=write_id, record_id=record_id, revision=past.version, fields=fields))
    for event in history:
        payload = event.payload
        if event.version <= past.version or not isinstance(payload, RecordMerged) or payload.record_id != record_id:
            continue
        for item in payload.merged:
            source = known.get(item)
            if source is not None and source.status == MERGED and source.merges[-1] == event.version:
                revision = event.version - 1
                events.append(
                    RecordRestored(write_id=write_id, record_id=item, revision=revision, fields=source.fields)
                )
    return events


def revisions(record_id: str, history: Sequence[RecordedEvent]) -> list[tuple[RecordedEvent, Record]]:
    """Return the record after each event about it, oldest first; *history* are those events, in order."""
    states: list[tuple[RecordedEvent, Record]] = []
    known: dict[str, Record] = {}
    for event in history:
        known = fold([event], known)
        if record_id in known and known[record_id].version == event.version:
            states.append((event, known[record_id]))
    return states


def _with_age(record: Record) -> MemoryFields:
    """Return the fields of *record* with its creation time, which a restored record would otherwise lose."""
    return replace(record.fields, created_at=record.created_at)


def _is_of_another(before: MemoryFields | None, fields: MemoryFields) -> bool:
    """Tell whether *before* is not an earlier version of *fields*."""
    if before is None:
        return False
    return (before.extraction_strategy, before.session_id) != (fields.extraction_strategy, fields.session_id)


def _put(
    record_id: str,
    before: MemoryFields | None,
    fields: MemoryFields,
    *,
    write_id: str,
    source: RecordSource | None = None,
) -> list[RecordEvent]:
    if before is None:
        return [RecordCreated(write_id=write_id, record_id=record_id, fields=fields, source=source)]
    if before == fields:
        return []
    return [RecordEdited(write_id=write_id, record_id=record_id, fields=fields, source=source)]
