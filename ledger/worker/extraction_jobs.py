"""Extraction of memories from messages: a model finds them, its answer is checked, records and mark are stored.

Source: http W-48.
"""

from collections.abc import Sequence
from typing import Final

from ledger.events import EntriesExtracted, Extraction, MemoryFields, ModelOutput, Ranges, RecordSource
from ledger.events.ids import Stream
from ledger.history.entry_reads import read_entries
from ledger.llm.extraction import ExtractedMemory, extraction_request, longest_memory, memories_in
from ledger.llm.summarizers.usable import cleaned
from ledger.long_term_memory import Promotion
from ledger.session.commands import MarkExtracted
from ledger.session.state import SessionState
from ledger.worker.completion import Ending, JobResult, complete
from ledger.worker.namespace_jobs import WorkedNamespace
from projections.entries import Entry
from projections.log import backlog as backlogs
from projections.log.backlog import Backlog
from projections.values import ranges

#: The limits of one model call; later messages wait for the next attempt.
MOST_MESSAGES: Final = 100
MOST_CHARACTERS: Final = 40_000


async def extract(worked: WorkedNamespace, stream: Stream) -> Ending:
    """Extract memories from the oldest messages that have not been through extraction.

    No transaction is open and no connection is in use during the model call (trust M-1, P-15). If messages are edited
    or removed meanwhile, the attempt is late; added messages do not matter (http B2).

    Raises:
        SummarizerFailed: the model returned nothing usable; nothing was written.
    """
    state, read = await worked.read(stream)
    entries = await _oldest(worked, stream, read.unextracted)
    if not entries:
        return "done"
    covered = ranges.ranges_of(entry.version for entry in entries)
    extraction = state.working.extraction
    found, output = await _ask_model(worked, [entry for entry in entries if entry.content.strip()], extraction)
    write_id = worked.handle.services.clock.ulid()
    promotions = tuple(
        Promotion(
            record_id=worked.handle.services.clock.ulid(),
            fields=_fields(memory, stream, extraction, entries),
            source=RecordSource(stream.session_id, covered, stream.user_id),
        )
        for memory in found
    )
    extracted = EntriesExtracted(
        write_id=write_id,
        covered=covered,
        strategy=extraction.strategy,
        record_ids=tuple(promotion.record_id for promotion in promotions),
        model=worked.summarizer.model,
        outputs=output,
    )

    def decide_extraction(now: SessionState, left: Backlog) -> JobResult | None:
        if not left.is_still(read, covered):
            return None
        return JobResult(promotions, (MarkExtracted(extracted, read.life, read.cleared_version),))

    return await complete(worked, stream, decide_extraction, write_id=write_id)


async def _ask_model(
    worked: WorkedNamespace, entries: Sequence[Entry], extraction: Extraction
) -> tuple[tuple[ExtractedMemory, ...], tuple[ModelOutput, ...]]:
    """Return the memories that the model finds in *entries*, and its raw answer."""
    if not entries:
        return (), ()
    model = worked.summarizer
    request = extraction_request(entries, extraction, model=model.model)
    answer = await worked.handle.services.models.answer(model, request)
    found = memories_in(cleaned(answer.text), source=request.source, longest=longest_memory(extraction))
    output = ModelOutput(
        request_hash=request.request_hash,
        text=answer.text,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
    )
    return found, (output,)


async def _oldest(worked: WorkedNamespace, stream: Stream, wanted: Ranges) -> list[Entry]:
    """Return the first of the *wanted* entries that fit into one model call, with their current text; at least one."""
    read = await read_entries(worked.store, stream, backlogs.first(wanted, MOST_MESSAGES))
    taken: list[Entry] = []
    characters = 0
    for entry in (read[version] for version in sorted(read)):
        characters += len(entry.content)
        if taken and characters > MOST_CHARACTERS:
            break
        taken.append(entry)
    return taken


def _fields(memory: ExtractedMemory, stream: Stream, extraction: Extraction, entries: Sequence[Entry]) -> MemoryFields:
    """Return a memory as the fields of a record, with its source (http W-29)."""
    return MemoryFields(
        text=memory.text,
        memory_type=memory.memory_type,
        user_id=stream.user_id or None,
        session_id=stream.session_id,
        namespace=stream.namespace,
        topics=memory.topics,
        entities=memory.entities,
        event_date=memory.event_date,
        extracted=True,
        extracted_from=tuple(dict.fromkeys(entry.entry_id for entry in entries)),
        extraction_strategy=extraction.strategy,
        extraction_strategy_config=extraction.config,
    )
