"""How a job ends: one append of its whole result, at the version of the session it was decided on.

That version is the guard. A worker that ends the same job a second time, or after the session was cleared, finds the
backlog changed and appends nothing (http W-48).
"""

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import msgspec

from ledger.events.ids import Stream
from ledger.long_term_memory import Promotion
from ledger.ports import AppendRequest, StreamWrite
from ledger.ports.contention import until_uncontended
from ledger.ports.event_encoding import stream_write
from ledger.session.commands import Command
from ledger.session.decide import decide
from ledger.session.state import SessionState
from ledger.worker.namespace_jobs import ACTOR, WorkedNamespace
from projections.log.backlog import Backlog

#: How an attempt ended. *late*: what it had read has changed since.
Ending: TypeAlias = Literal["done", "late"]


class JobResult(msgspec.Struct, frozen=True):
    """The result of a job: records of long-term memory, and commands to the session they come from."""

    promotions: tuple[Promotion, ...]
    commands: tuple[Command, ...]


#: Decides the result of a job for the session as it is now; returns None if the job is late.
DecideCompletion: TypeAlias = Callable[[SessionState, Backlog], JobResult | None]


async def complete(
    worked: WorkedNamespace, stream: Stream, decide_result: DecideCompletion, *, write_id: str
) -> Ending:
    """Append the result of a job in one request: all of it or nothing.

    Raises:
        Unavailable: other writers were faster on every attempt, or the store cannot be reached.
    """
    services = worked.handle.services

    async def attempt(number: int) -> Ending:
        state, backlog = await worked.read(stream)
        result = decide_result(state, backlog)
        events = [event for command in result.commands for event in decide(state, command)] if result else []
        if result is None or not events:
            return "late"
        records = await _records(worked, stream, result.promotions, write_id)
        session = stream_write(stream, events, expected_version=state.version, clock=services.clock, actor=ACTOR)
        await services.store.events.append(AppendRequest(writes=(*records, session)))
        return "done"

    return await until_uncontended(attempt)


async def _records(
    worked: WorkedNamespace, stream: Stream, promotions: Sequence[Promotion], write_id: str
) -> Sequence[StreamWrite]:
    if not promotions:
        return ()
    return await worked.handle.long_term.writes_for_promotion(stream, promotions, write_id=write_id)
