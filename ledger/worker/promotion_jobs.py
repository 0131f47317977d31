"""Records of long-term memory from a session: its memories and, if configured, its messages.

What was noted just now is promoted before the jobs of all older sessions are known.

Source: http W-49, W-50.
"""

import logging
from typing import Final
from uuid import uuid5

from msgspec.structs import replace

from ledger.errors import LedgerError
from ledger.events import EntriesIndexed, MemoryAdded, MemoryEdited, MemoryFields, MemoryPromoted, RecordSource
from ledger.events.ids import Stream
from ledger.history.entry_reads import read_entries
from ledger.history.item_history import read_items
from ledger.indexes.jobs import WorkPlan
from ledger.indexes.jobs.due import due_jobs
from ledger.indexes.stored_projections.build_choice import live_build
from ledger.indexes.stored_projections.log_pages import read_page
from ledger.long_term_memory import Promotion
from ledger.session.commands import MarkIndexed, PromoteMemory
from ledger.session.state import SessionState
from ledger.worker.completion import Ending, JobResult, complete
from ledger.worker.namespace_jobs import WorkedNamespace
from projections.entries import Entry
from projections.log import backlog as backlogs
from projections.log.backlog import Backlog
from projections.values import ranges
from projections.working_memory import Memory

#: The limits of one append; the rest waits for the next attempt.
MOST_MEMORIES: Final = 500
MOST_MESSAGES: Final = 1_000

#: Events at the end of the log that are looked at, if the index of jobs is further behind.
NEWEST: Final = 500

MESSAGE: Final = "message"
_NOTED: Final = {MemoryAdded.type, MemoryEdited.type}

log = logging.getLogger("ledger")


async def promote(worked: WorkedNamespace, stream: Stream) -> Ending:
    """Store the oldest memories that have no record yet as records, with their current or last text."""
    _, read = await worked.read(stream)
    wanted = read.unpromoted[:MOST_MEMORIES]
    memories = await _memories(worked, stream, wanted)
    if not memories:
        return "done"
    write_id = worked.handle.services.clock.ulid()

    def decide_promotion(now: SessionState, left: Backlog) -> JobResult | None:
        if not left.is_unpromoted_still(read, wanted):
            return None
        promotions = tuple(
            Promotion(
                record_id=memory_id,
                fields=_promoted(fields, stream, now),
                source=RecordSource(stream.session_id, ((version, version),), stream.user_id),
            )
            for version, (memory_id, fields) in memories.items()
        )
        marks = (
            MemoryPromoted(write_id=write_id, memory_id=memory_id, memory_version=version, record_id=memory_id)
            for version, (memory_id, _) in memories.items()
        )
        return JobResult(promotions, tuple(PromoteMemory(mark, read.life) for mark in marks))

    return await complete(worked, stream, decide_promotion, write_id=write_id)


async def promote_newest(worked: WorkedNamespace) -> None:
    """Promote the memories that the newest events note, if the index of jobs lacks more than these.

    So the first worker of a long log does not let them wait for it. Two workers may do this at once, because a
    promotion is decided on the session as it is; what fails here is done as a job later.
    """
    last, builds = await worked.handle.indexes.builds.checkpoints()
    live = live_build(worked.jobs, builds, last=last)
    if last - (live.position if live else 0) <= NEWEST:
        return
    page = await read_page(worked.store, worked.name, after=last - NEWEST, limit=NEWEST)
    for stream, events in page.sessions.items():
        if _NOTED.isdisjoint(event.type for event in events):
            continue
        try:
            state, backlog = await worked.read(stream)
            if any(job.kind == "promote" for job in due_jobs(state, backlog, WorkPlan())):
                await promote(worked, stream)
        except LedgerError as fault:
            log.warning("memories of a session were not promoted at once: %s", fault.code)


async def index(worked: WorkedNamespace, stream: Stream) -> Ending:
    """Store the oldest messages that have no record yet as records."""
    _, read = await worked.read(stream)
    entries = await read_entries(worked.store, stream, backlogs.first(read.unindexed, MOST_MESSAGES))
    if not entries:
        return "done"
    covered = ranges.ranges_of(sorted(entries))
    write_id = worked.handle.services.clock.ulid()
    promotions = tuple(_of_message(entries[version], stream) for version in sorted(entries))

    def decide_index(now: SessionState, left: Backlog) -> JobResult | None:
        if not left.is_unindexed_still(read, covered):
            return None
        return JobResult(promotions, (MarkIndexed(EntriesIndexed(write_id=write_id, covered=covered), read.life),))

    return await complete(worked, stream, decide_index, write_id=write_id)


async def _memories(
    worked: WorkedNamespace, stream: Stream, wanted: tuple[int, ...]
) -> dict[int, tuple[str, MemoryFields]]:
    """Return the memories added at the versions *wanted*, by version: id and last fields, with its own time."""
    found = await read_items(worked.store, stream, ranges.ranges_of(wanted))
    memories = {at: version.item for at, version in found.items() if isinstance(version.item, Memory)}
    return {
        at: (memory.memory_id, replace(memory.fields, created_at=memory.created_at)) for at, memory in memories.items()
    }


def _promoted(fields: MemoryFields, stream: Stream, state: SessionState) -> MemoryFields:
    extraction = state.working.extraction
    return replace(
        fields,
        user_id=fields.user_id if fields.user_id is not None else stream.user_id or None,
        namespace=fields.namespace if fields.namespace is not None else stream.namespace,
        session_id=fields.session_id if fields.session_id is not None else stream.session_id,
        extraction_strategy=extraction.strategy,
        extraction_strategy_config=extraction.config,
    )


def _of_message(entry: Entry, stream: Stream) -> Promotion:
    fields = MemoryFields(
        text=f"{entry.role}: {entry.content}",
        memory_type=MESSAGE,
        user_id=stream.user_id or None,
        session_id=stream.session_id,
        namespace=stream.namespace,
        created_at=entry.created_at,
        extraction_strategy=MESSAGE,
    )
    source = RecordSource(stream.session_id, ((entry.version, entry.version),), stream.user_id)
    other_id = str(uuid5(stream.stream_id, entry.entry_id))
    return Promotion(record_id=entry.entry_id, fields=fields, source=source, id_if_taken=other_id)
