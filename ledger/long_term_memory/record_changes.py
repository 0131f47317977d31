"""Change long-term memory: each change is events on the stream of its user, and can be undone."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import UNSET
from msgspec.structs import replace

from ledger.errors import InvalidInput, RecordNotFound
from ledger.events import RecordCreated
from ledger.events.ids import Stream
from ledger.long_term_memory import record_decisions
from ledger.long_term_memory.forget_policy import ForgetPolicy, forget_policy, forgotten, pinned_ids
from ledger.long_term_memory.record_decisions import KnownRecords, Promotion
from ledger.long_term_memory.record_drafts import RecordDraft, check_record_id, fields_of, record_changes, record_draft
from ledger.long_term_memory.record_results import ForgetResult, LongTermRecord, shown
from ledger.long_term_memory.record_search import RecordReads
from ledger.long_term_memory.record_writer import records_stream, streams_by_namespace
from ledger.long_term_memory.search_queries import count_of, scope_conditions
from ledger.ports import StreamWrite
from ledger.ports.record_store import RecordAccess, RecordBuilds, RecordLookup, RecordQuery, StoredRecord
from projections.records.records import identity

MOST_RECORDS: Final = 10_000
MOST_SCANNED: Final = 10_000
MOVED: Final = "moved"
DELETED: Final = "deleted"


class RecordChanges(RecordReads):
    """Create, change, delete, forget and merge records."""

    async def create(
        self, records: Sequence[Mapping[str, Any]], *, deduplicate: bool = True, delete: Sequence[str] = ()
    ) -> None:
        """Add *records*, or edit those whose ids are stored; the next read returns them.

        Absent fields keep their value. A record with the same text and fields as a live one is not added; the live one
        counts as read. The live records with the ids *delete* are deleted. All records of one namespace are added and
        deleted in one write, or none.

        Raises:
            InvalidInput: a record is wrong (*field* has its index), an id is in both lists, or there are too many.
        """
        if not isinstance(records, list | tuple):
            raise InvalidInput("wrong_type", "must be a list", field="memories")
        if len(records) + len(delete) > MOST_RECORDS:
            raise InvalidInput(
                "batch_size", f"must have at most {MOST_RECORDS} records", field="memories", limit=MOST_RECORDS
            )
        drafts = [record_draft(item, field=f"memories.{index}") for index, item in enumerate(records)]
        deleted = tuple(dict.fromkeys(check_record_id(item_id, field="delete") for item_id in delete))
        if not {draft.record_id for draft in drafts}.isdisjoint(deleted):
            raise InvalidInput("bad_value", "must not have the id of a record to add", field="delete")
        homes = await self._homes(drafts)
        by_namespace: dict[str, dict[Stream, None]] = {}
        for stream in homes:
            by_namespace.setdefault(stream.namespace, {})[stream] = None
        for streams in streams_by_namespace(await self._stored(*deleted) if deleted else []):
            by_namespace.setdefault(streams[0].namespace, {}).update(dict.fromkeys(streams))
        for own in by_namespace.values():
            here = [(draft, home) for draft, home in zip(drafts, homes, strict=True) if home in own]
            await self._create(list(own), here, deleted, deduplicate=deduplicate)

    async def patch(self, record_id: str, changes: Mapping[str, Any]) -> LongTermRecord:
        """Change fields of a live record and return it; nulls are ignored.

        With a new user or namespace the record moves to another stream: it is created there and deleted here, with the
        same id.

        Raises:
            InvalidInput: a field is wrong; ``no_fields``: there is nothing to change.
            RecordNotFound: there is no live record with this id.
        """
        draft = record_changes(changes)
        stored, name = await self._live(check_record_id(record_id, field="id"))
        here = records_stream(name, stored.user_id)
        there = records_stream(
            name if draft.namespace is UNSET else draft.namespace,
            stored.user_id if draft.user_id is UNSET else draft.user_id,
        )
        write_id = self._clock.ulid()
        if there == here:

            def changed(stream: Stream, known: KnownRecords) -> list[Any]:
                return list(record_decisions.edit(known, record_id, draft, stream=stream, write_id=write_id))

            await self._writer.write([here], RecordLookup(record_ids=(record_id,)), changed)
        else:
            await self._move(stored, here, there, draft, write_id)
        return await self._shown(record_id, there)

    async def delete(self, record_ids: Sequence[str]) -> int:
        """Delete the live records with these ids, and return how many were deleted."""
        ids = tuple(dict.fromkeys(check_record_id(item_id, field="memory_ids") for item_id in record_ids))
        write_id = self._clock.ulid()
        deleted = 0
        for streams in streams_by_namespace(await self._stored(*ids)):

            def deletions(stream: Stream, known: KnownRecords) -> list[Any]:
                return record_decisions.delete(known, ids, reason=DELETED, write_id=write_id)

            written = await self._writer.write(streams, RecordLookup(record_ids=ids), deletions)
            deleted += sum(len(write.events) for write in written)
        return deleted

    async def forget(
        self,
        policy: Mapping[str, Any] | ForgetPolicy,
        *,
        namespace: str | None = None,
        user_id: str | None = None,
        session_id: str | None = None,
        limit: int = 1_000,
        dry_run: bool = True,
        pinned: Sequence[str] | None = None,
    ) -> ForgetResult:
        """Delete records that *policy* forgets, among up to *limit* records, the oldest first.

        A dry run changes nothing and returns what would be deleted. A record that is changed meanwhile stays.

        Raises:
            InvalidInput: the policy or a bound is wrong.
        """
        rules = policy if isinstance(policy, ForgetPolicy) else forget_policy(policy)
        pinned_by_caller = pinned_ids(pinned)
        now = self._clock.now()
        most = count_of(limit, field="limit", least=1, most=MOST_SCANNED)
        scanned, names = await self._scanned(namespace, user_id, session_id, limit=most, now=now)
        expendable = forgotten(scanned, rules, now=now, pinned=pinned_by_caller)
        if dry_run:
            ids = [record.record.record_id for record in expendable]
            return ForgetResult(scanned=len(scanned), deleted=len(ids), deleted_ids=ids, dry_run=True)
        write_id = self._clock.ulid()
        deleted: list[str] = []
        for streams in streams_by_namespace([(record, names[record.namespace_id]) for record in expendable]):
            by_stream = {
                stream: [record.record for record in expendable if record.stream_id == stream.stream_id]
                for stream in streams
            }
            lookup = RecordLookup(record_ids=tuple(event.record_id for own in by_stream.values() for event in own))

            def deletions(stream: Stream, known: KnownRecords, own: Any = by_stream) -> list[Any]:
                return record_decisions.forget(known, own[stream], write_id=write_id)

            written = await self._writer.write(streams, lookup, deletions)
            deleted += [event.record_id for write in written for event in write.events]
        return ForgetResult(scanned=len(scanned), deleted=len(deleted), deleted_ids=deleted, dry_run=False)

    async def compact(self, *, namespace: str | None = None, user_id: str | None = None) -> int:
        """Merge the equal records of a user, and return how many remain.

        Without *namespace* or *user_id* it merges in every namespace of this memory, and for every user.
        """
        conditions = scope_conditions(namespace=namespace, user_id=user_id)

        async def look_up(builds: RecordBuilds, names: Mapping[Any, str]) -> list[tuple[StoredRecord, str]]:
            within = {
                namespace_id: build
                for namespace_id, build in builds.items()
                if namespace in {None, names[namespace_id]}
            }
            same = await self._store.records.duplicates(within, user_id=user_id)
            return [(record, names[record.namespace_id]) for record in same]

        write_id = self._clock.ulid()
        duplicates = await self._indexes.read(self._namespaces, look_up)
        for streams in streams_by_namespace(duplicates):
            ids = tuple(dict.fromkeys(item.record.record_id for item, _ in duplicates))

            def merged(stream: Stream, known: KnownRecords) -> list[Any]:
                return record_decisions.merge(known, write_id=write_id)

            await self._writer.write(streams, RecordLookup(record_ids=ids), merged)
        query = RecordQuery(
            conditions=tuple(condition for condition in conditions if condition.field != "namespace"),
            now=self._clock.now(),
            limit=1,
        )
        return (await self._found(query, conditions))[0].total

    async def writes_for_promotion(
        self, session: Stream, promotions: Sequence[Promotion], *, write_id: str
    ) -> list[StreamWrite]:
        """See `RecordWriter.writes_for_promotion`."""
        return await self._writer.writes_for_promotion(session, promotions, write_id=write_id)

    async def _homes(self, drafts: Sequence[RecordDraft]) -> list[Stream]:
        """Return the stream of each draft; without a user or namespace it is the stream where its id is live."""
        incomplete = [draft.record_id for draft in drafts if UNSET in {draft.user_id, draft.namespace}]
        live: dict[str, list[tuple[str, str]]] = {}
        for stored, name in await self._stored(*dict.fromkeys(incomplete)) if incomplete else []:
            if stored.record.live:
                live.setdefault(stored.record.record_id, []).append((name, stored.user_id))
        homes: list[Stream] = []
        for draft in drafts:
            places = [
                (name, user)
                for name, user in live.get(draft.record_id, [])
                if draft.namespace in {UNSET, name} and draft.user_id in {UNSET, user}
            ]
            name, user = places[0] if places else (self._default, "")
            homes.append(
                records_stream(
                    name if draft.namespace is UNSET else draft.namespace,
                    user if draft.user_id is UNSET else draft.user_id,
                )
            )
        return homes

    async def _create(
        self,
        streams: Sequence[Stream],
        drafts: Sequence[tuple[RecordDraft, Stream]],
        deleted: Sequence[str],
        *,
        deduplicate: bool,
    ) -> None:
        write_id = self._clock.ulid()
        touched: set[tuple[Stream, str]] = set()

        def decide_creation(stream: Stream, known: KnownRecords) -> list[Any]:
            own = [draft for draft, home in drafts if home == stream]
            creation = record_decisions.create(known, own, stream=stream, write_id=write_id, deduplicate=deduplicate)
            touched.update((stream, item) for item in creation.touched)
            return [*creation.events, *record_decisions.delete(known, deleted, reason=DELETED, write_id=write_id)]

        lookup = RecordLookup(
            record_ids=(*(draft.record_id for draft, _ in drafts), *deleted),
            identities=tuple(identity(fields_of(draft, None, home)) for draft, home in drafts) if deduplicate else (),
        )
        written = await self._writer.write(streams, lookup, decide_creation)
        created = {
            (write.stream, event.record_id)
            for write in written
            for event in write.events
            if isinstance(event, RecordCreated)
        }
        drafts_read = {(home, draft.record_id): draft for draft, home in drafts if draft.last_accessed is not UNSET}
        await self._seed([(place, drafts_read[place].last_accessed) for place in created & drafts_read.keys()])
        await self._touch([(stream.namespace_id, stream.stream_id, item) for stream, item in touched])

    async def _move(self, stored: StoredRecord, here: Stream, there: Stream, draft: RecordDraft, write_id: str) -> None:
        record_id = stored.record.record_id
        lookup = RecordLookup(record_ids=(record_id,))
        proved = (await self._writer.proved(here, {record_id: stored.record})).get(record_id)
        if proved is None or not proved.live:
            raise RecordNotFound(record_id)
        before = replace(proved.fields, created_at=proved.created_at)
        fields = fields_of(draft, before, there)

        def moved(stream: Stream, known: KnownRecords) -> list[Any]:
            if stream == there:
                return record_decisions.put(known, record_id, fields, write_id=write_id)
            return record_decisions.delete(known, [record_id], reason=MOVED, write_id=write_id)

        together = [[there, here]] if there.namespace == here.namespace else [[there], [here]]
        for streams in together:
            await self._writer.write(streams, lookup, moved)
        await self._seed([((there, record_id), stored.last_accessed)], count=stored.access_count)

    async def _scanned(
        self, namespace: str | None, user_id: str | None, session_id: str | None, *, limit: int, now: datetime
    ) -> tuple[list[StoredRecord], Mapping[Any, str]]:
        """Return up to *limit* live records in a scope, the oldest first, and the names of the namespaces."""
        conditions = scope_conditions(namespace=namespace, user_id=user_id, session_id=session_id)
        own = tuple(condition for condition in conditions if condition.field != "namespace")
        query = RecordQuery(conditions=own, now=now, oldest_first=True, limit=limit)
        hits, names = await self._found(query, conditions)
        return [hit.stored for hit in hits.hits], names

    async def _shown(self, record_id: str, stream: Stream) -> LongTermRecord:
        there = self.over([stream.namespace_id])  # a namespace may be newer than the caller's list
        for stored, name in await there._stored(record_id):  # noqa: SLF001 - a class may build its own kind
            if stored.stream_id == stream.stream_id and stored.record.live:
                return shown(stored, namespace=self._shown_name(name))
        raise RecordNotFound(record_id)

    async def _seed(self, accesses: Sequence[tuple[tuple[Stream, str], Any]], *, count: int = 0) -> None:
        """Record when new records were last read in another place."""
        rows = [
            RecordAccess(stream.namespace_id, stream.stream_id, item, moment, count)
            for (stream, item), moment in accesses
        ]
        await self._store.records.seed_accesses(rows)
