"""Undo changes of a record of long-term memory. Source: http W-71."""

from collections.abc import Sequence
from typing import Any

from ledger.errors import InvalidInput, RecordNotFound, VersionNotFound
from ledger.events import RecordDeleted, RecordedEvent
from ledger.events.ids import Stream
from ledger.events.strict_json import check_integer
from ledger.long_term_memory import record_decisions
from ledger.long_term_memory.record_changes import MOVED, RecordChanges
from ledger.long_term_memory.record_decisions import KnownRecords
from ledger.long_term_memory.record_drafts import check_record_id
from ledger.long_term_memory.record_results import LongTermRecord
from ledger.long_term_memory.record_writer import records_stream
from ledger.ports.record_store import RecordLookup, StoredRecord
from projections.records.records import Record


class RecordRestore(RecordChanges):
    """Restore records to an earlier revision."""

    async def restore(
        self, record_id: str, revision: int, *, namespace: str | None = None, user_id: str | None = None
    ) -> LongTermRecord:
        """Restore the record to *revision*, see `history`, and return it.

        This undoes edits, deletions and forgetting, restores records that were merged into it since, and moves it back.
        *namespace* and *user_id* are needed only if the record has that revision in several places.

        Raises:
            RecordNotFound: there never was such a record.
            VersionNotFound: it has no such revision, or was not live at it.
            InvalidInput: ``ambiguous_revision``.
        """
        check_integer(revision, field="revision", least=1)
        stored, name, history, past = await self._at_revision(record_id, revision, namespace, user_id)
        stream = records_stream(name, stored.user_id)
        write_id = self._clock.ulid()
        merged = [item for event in history for item in getattr(event.payload, "merged", ())]

        def restored(stream: Stream, known: KnownRecords) -> list[Any]:
            return record_decisions.restore(record_id, past, known, history, write_id=write_id)

        await self._writer.write([stream], RecordLookup(record_ids=(record_id, *merged)), restored)
        if stored.record.status == MOVED:
            await self._undo_move(record_id, stream, history)
        return await self._shown(record_id, stream)

    async def _undo_move(self, record_id: str, here: Stream, history: Sequence[RecordedEvent]) -> None:
        """Delete the record in the stream that it was moved to from *here*: the one where the same write created it."""
        moves = [event.payload.write_id for event in history if isinstance(event.payload, RecordDeleted)]
        write_id = self._clock.ulid()
        for stored, name in await self._stored(record_id):
            stream = records_stream(name, stored.user_id)
            if stream == here or not stored.record.live:
                continue
            if any(event.payload.write_id in moves for event in await self._events(stored, name)):

                def deletions(stream: Stream, known: KnownRecords) -> list[Any]:
                    return record_decisions.delete(known, [record_id], reason=MOVED, write_id=write_id)

                await self._writer.write([stream], RecordLookup(record_ids=(record_id,)), deletions)

    async def _at_revision(
        self, record_id: str, revision: int, namespace: str | None, user_id: str | None
    ) -> tuple[StoredRecord, str, list[RecordedEvent], Record]:
        """Return the stored record, its namespace, the events about it, and what it was at *revision*."""
        stored_records = await self._stored(check_record_id(record_id, field="id"))
        if not stored_records:
            raise RecordNotFound(record_id)
        places = []
        for item, name in stored_records:
            if namespace in {None, name} and user_id in {None, item.user_id}:
                history = await self._events(item, name)
                then = [
                    record
                    for event, record in record_decisions.revisions(record_id, history)
                    if event.version == revision
                ]
                places += [(item, name, history, record) for record in then]
        if not places:
            raise VersionNotFound("the record has no such revision there; its history lists its revisions")
        live = [place for place in places if place[3].live]
        if not live:
            raise VersionNotFound(f"the record was {places[0][3].status} then; choose a revision at which it was live")
        if len(live) > 1:
            message = 'is in several users or namespaces; give user_id or namespace, with "" for no user'
            raise InvalidInput("ambiguous_revision", message, field="revision")
        return live[0]
