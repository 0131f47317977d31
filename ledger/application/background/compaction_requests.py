"""From a plan to a recorded request, with everything that its summarizer call needs. Source: R-CMP-3."""

from collections.abc import Callable, Container, Sequence
from datetime import timedelta
from functools import partial

import msgspec

from ledger.application.background.compaction_log import log_outcome
from ledger.application.commands.command_handler import CommandHandler
from ledger.application.commands.write_requests import Decision, WriteOptions
from ledger.events import CompactionCompleted, CompactionRequested, PlannedCall, RecordedEvent, to_datetime
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.llm.compaction.compaction_result import CompactionResult, result_of
from ledger.llm.compaction.dialogue import Dialogue, dialogue_of
from ledger.ports import Clock, Store, Summarizer
from ledger.session.commands import Command, FailCompaction, RequestCompaction
from ledger.session.state import SessionState
from projections.entries import Entry
from projections.log.history import HISTORY
from projections.prompts import SummaryRequest
from projections.strategies.base import CompactionPlan
from projections.values import ranges


class CompactionJob(msgspec.Struct, frozen=True):
    """A compaction that was requested at *version*, with everything its call needs."""

    stream: Stream
    actor: str
    request: CompactionRequested
    version: int
    dialogue: Dialogue
    summarizer: Summarizer
    on_failure: str
    tokenizer: str


class RequestOutcome(msgspec.Struct, frozen=True):
    """The state after a plan, and its result: a job, a finished erasure, or neither if nothing was planned.

    *earlier* is the request of a first attempt with the same idempotency key.
    """

    state: SessionState
    job: CompactionJob | None = None
    done: CompactionResult | None = None
    earlier: RecordedEvent | None = None


class CompactionRequests:
    """Records what a plan asks for, on the newest state of a session, and what no process will carry out.

    *running* has the ids of the compactions of this process. Those of another one are stale *lease_s* seconds after
    their request.
    """

    def __init__(
        self, store: Store, commands: CommandHandler, clock: Clock, *, lease_s: float, running: Container[str]
    ) -> None:
        self._store = store
        self._commands = commands
        self._clock = clock
        self._lease = timedelta(seconds=lease_s)
        self._running = running

    async def request(
        self,
        stream: Stream,
        plan_for: Callable[[SessionState], CompactionPlan | None],
        summarizer: Summarizer,
        *,
        actor: str,
        model: str | None = None,
        options: WriteOptions | None = None,
    ) -> RequestOutcome:
        """Record what *plan_for* plans, which may be nothing; *model* is asked in place of the configured one."""

        async def decision_for(
            state: SessionState,
        ) -> Decision[Callable[[CompactionRequested, int], CompactionJob] | None]:
            plan = plan_for(state)
            if plan is None:
                return Decision([], None)
            if plan.action == "erase":
                return Decision([RequestCompaction(self._clock.ulid(), self._clock.ulid(), plan)], None)
            compaction = state.config.compaction(plan.key)
            assert compaction is not None
            entries = await self._covered(stream, state, plan)
            dialogue = dialogue_of(state, plan, entries, model=summarizer.model, instead=model)
            calls: tuple[PlannedCall, ...] = ()
            if isinstance(dialogue.first, SummaryRequest) and summarizer.method != "heuristic":
                calls = (_planned_call(dialogue.first),)
            command = RequestCompaction(self._clock.ulid(), self._clock.ulid(), plan, calls)
            job = partial(
                CompactionJob,
                stream,
                actor,
                dialogue=dialogue,
                summarizer=summarizer,
                on_failure=compaction.on_failure,
                tokenizer=state.config.tokenizer,
            )
            return Decision([command], job)

        written, job = await self._commands.write_with_note(stream, decision_for, actor=actor, **(options or {}))
        if written.replayed:
            return RequestOutcome(written.state, earlier=written.events[0])
        if not written.events or not isinstance(request := written.events[0].payload, CompactionRequested):
            return RequestOutcome(written.state)
        if request.action == "erase":
            erased = written.events[-1].payload
            assert isinstance(erased, CompactionCompleted)
            log_outcome(stream, written.events[-1])
            return RequestOutcome(written.state, done=result_of(written.events[-1], erased))
        assert job is not None
        return RequestOutcome(written.state, job=job(request, written.events[0].version))

    def stale(self, state: SessionState) -> list[str]:
        """Return the compactions of other processes whose lease has passed."""
        if not state.compactions.in_flight:
            return []
        taken_before = self._clock.now() - self._lease
        return [
            flight.request.compaction_id
            for flight in state.compactions.in_flight
            if flight.request.compaction_id not in self._running and to_datetime(flight.recorded_us) < taken_before
        ]

    async def abandon_stale(self, stream: Stream, *, actor: str) -> SessionState:
        """Record the stale compactions of the newest state as abandoned; return the state after it."""

        async def commands_for(state: SessionState) -> Sequence[Command]:
            return [
                FailCompaction(self._clock.ulid(), compaction_id, "abandoned", "its process is gone")
                for compaction_id in self.stale(state)
            ]

        written = await self._commands.write(stream, commands_for, actor=actor)
        for event in written.events:
            log_outcome(stream, event)
        return written.state

    async def _covered(self, stream: Stream, state: SessionState, plan: CompactionPlan) -> tuple[Entry, ...]:
        """Return the entries that *plan* covers; a block may include some that have left the window (R-001-6)."""
        active = state.window.within(plan.covered)
        if len(active) == ranges.size(plan.covered):
            return active
        events = await self._store.events.read_stream(stream, until=state.version)
        past = HISTORY.fold(decode(event) for event in events).within(plan.covered)
        return tuple(item for item in past if item.status in {"active", "covered"})


def _planned_call(request: SummaryRequest) -> PlannedCall:
    return PlannedCall(
        request_hash=request.request_hash,
        template_hash=request.template_hash,
        model=request.model,
        parameters=request.parameters or None,
    )
