"""Compactions from plan to outcome: requested, carried out, recorded. Source: R-CMP-3 … R-CMP-11.

Adding entries never waits for a summarizer. A plan becomes a `compaction.requested` event before anything is
asked; the call then runs in a task of its own, with no transaction and no connection; its result is recorded
if what it covers has not changed meanwhile.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from uuid import UUID

import msgspec

from ledger.application.command_handler import CommandHandler, Decision, Idempotency
from ledger.codec import decode
from ledger.compaction.dialogue import Dialogue, begin
from ledger.compaction.result import CompactionResult, result_of, result_of_event
from ledger.compaction.summarizing import DEADLINE_S, execute
from ledger.errors import (
    CompactionInProgress,
    CompactionUnderWay,
    LedgerError,
    SummarizerFailed,
)
from ledger.events import (
    CompactionCompleted,
    CompactionDiscarded,
    CompactionRequested,
    PlannedCall,
    RecordedEvent,
    to_datetime,
)
from ledger.events import (
    CompactionFailed as FailedEvent,
)
from ledger.ids import Stream
from ledger.ports import Clock, Store, Summarizer
from ledger.session.commands import Command, CompleteCompaction, FailCompaction, RequestCompaction
from ledger.session.state import SessionState
from ledger.session.views import plan_automatic, plan_manual
from ledger.summarizers.heuristic import Heuristic
from ledger.tokenizers import TOKENIZERS
from projections import ranges
from projections.entries import Entry
from projections.history import HISTORY
from projections.prompts import SummaryRequest
from projections.strategies.base import CompactionPlan

log = logging.getLogger("ledger")

_OUTCOMES = (CompactionCompleted, FailedEvent, CompactionDiscarded)


class ManualCompaction(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller asks of a compaction: which, and in place of its config how much to keep and whom to ask."""

    key: str | None = None
    force: bool = False
    keep_tokens: int | None = None
    model: str | None = None


class _Job(msgspec.Struct, frozen=True):
    """A compaction that was requested, with everything its call needs."""

    stream: Stream
    actor: str
    asked: CompactionRequested
    dialogue: Dialogue
    summarizer: Summarizer
    on_failure: str
    tokenizer: str


class _Requested(msgspec.Struct, frozen=True):
    """What became of a plan: a job, an erasure that is done already, or nothing; and the state after it.

    *earlier* is the request of a first attempt with the same idempotency key.
    """

    state: SessionState
    job: _Job | None = None
    done: CompactionResult | None = None
    earlier: RecordedEvent | None = None


class Compactor:
    """Plans, runs and records compactions; what it writes is recorded as caused by the *actor* who asked."""

    def __init__(
        self,
        store: Store,
        commands: CommandHandler,
        clock: Clock,
        *,
        lease_s: float,
        completed: Callable[[Stream, CompactionResult], None],
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._store = store
        self._commands = commands
        self._clock = clock
        self._lease = timedelta(seconds=lease_s)
        self._completed = completed
        self._deadline_s = deadline_s
        self._default: Summarizer = Heuristic()
        self._of_session: dict[UUID, Summarizer] = {}
        self._running: dict[str, tuple[Stream, asyncio.Task[RecordedEvent | None]]] = {}

    def set_summarizer(self, stream: Stream | None, summarizer: Summarizer | None) -> None:
        """Let *summarizer*, or the heuristic, write the summaries of one session, or of all without their own."""
        if stream is None:
            self._default = summarizer or Heuristic()
        elif summarizer is None:
            self._of_session.pop(stream.stream_id, None)
        else:
            self._of_session[stream.stream_id] = summarizer

    @property
    def default_summarizer(self) -> Summarizer:
        """Who writes the summaries of sessions without a summarizer of their own."""
        return self._default

    def summarizer_of(self, stream: Stream) -> Summarizer:
        """Return who writes the summaries of a session."""
        return self._of_session.get(stream.stream_id, self._default)

    async def evaluate(self, stream: Stream, state: SessionState, *, actor: str, skip: int = 0) -> None:
        """Start what the config's compactions, from number *skip* on, plan after a batch.

        Never raises what concerns only the compaction: the batch is stored, and the next one plans anew.
        """
        # R-CMP-8
        try:
            if self._stale(state):
                state = await self._abandon_stale(stream, actor)
            for index, compaction in enumerate(state.config.compactions[skip:], start=skip):
                if plan_automatic(state, compaction) is None:
                    continue
                requested = await self._request(stream, partial(_automatic, compaction.key), actor=actor)
                if requested.job is not None:
                    self._start(requested.job, then_from=index)
                    return
                state = requested.state  # an erasure is done at once, and the next one looks at what is left
        except LedgerError as fault:
            log.warning("a compaction was not started: %s", fault.code)

    async def compress(
        self,
        stream: Stream,
        request: ManualCompaction,
        *,
        actor: str,
        wait_s: float | None = None,
        expected_version: int | None = None,
        idempotency: Idempotency | None = None,
    ) -> CompactionResult:
        """Compact now and return the result.

        Raises:
            CompactionUnderWay: it is not done after *wait_s* seconds.
            CompactionInProgress, NotEnoughEntries, InvalidInput: nothing was planned.
            CompactionFailed: the summarizer gave nothing usable; that is recorded, and nothing left the window.
            Unavailable: whether its outcome was recorded is not known.
        """
        # R-000-5
        await self._abandon_stale(stream, actor)
        requested = await self._request(
            stream,
            lambda state: plan_manual(state, request.key, force=request.force, keep_tokens=request.keep_tokens),
            actor=actor,
            model=request.model,
            expected_version=expected_version,
            idempotency=idempotency,
        )
        if requested.earlier is not None:
            return await self._result_of(stream, requested.earlier, wait_s)
        if requested.done is not None:
            return requested.done
        if requested.job is None:
            raise CompactionInProgress(request.key or "other")
        task = self._start(requested.job, then_from=None)
        try:
            await asyncio.wait([task], timeout=wait_s)
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            raise
        if not task.done():
            raise CompactionUnderWay(requested.job.asked.compaction_id)
        return result_of_event(task.result())

    async def _result_of(self, stream: Stream, request: RecordedEvent, wait_s: float | None) -> CompactionResult:
        """Return what came of a *request* recorded before, in this process or another."""
        asked = request.payload
        assert isinstance(asked, CompactionRequested)
        _, running = self._running.get(asked.compaction_id, (stream, None))
        if running is not None:
            await asyncio.wait([running], timeout=wait_s)
        for stored in await self._store.events.read_stream(stream, after=request.version):
            event = decode(stored)
            if isinstance(event.payload, _OUTCOMES) and event.payload.compaction_id == asked.compaction_id:
                return msgspec.structs.replace(result_of_event(event), replayed=True)
        raise CompactionUnderWay(asked.compaction_id)

    async def settle(self, stream: Stream | None = None) -> None:
        """Wait until no compaction of *stream*, or of any session, is under way in this process."""
        while tasks := [
            task for own, task in self._running.values() if stream is None or own.stream_id == stream.stream_id
        ]:
            await asyncio.wait(tasks)  # unlike gather: who gives up waiting gives up no compaction

    async def close(self, *, grace_s: float) -> None:
        """Give compactions under way *grace_s* seconds, then give them up, which is recorded."""
        try:
            async with asyncio.timeout(grace_s):
                await self.settle()
        except TimeoutError:
            for _, task in self._running.values():
                task.cancel()
            await self.settle()

    async def _request(
        self,
        stream: Stream,
        plan_for: Callable[[SessionState], CompactionPlan | None],
        *,
        actor: str,
        model: str | None = None,
        expected_version: int | None = None,
        idempotency: Idempotency | None = None,
    ) -> _Requested:
        """Record what *plan_for* plans on the newest state, which may be nothing."""
        summarizer = self.summarizer_of(stream)

        async def decision_for(state: SessionState) -> Decision[Callable[[CompactionRequested], _Job] | None]:
            plan = plan_for(state)
            if plan is None:
                return Decision([], None)
            if plan.action == "erase":
                return Decision([RequestCompaction(self._clock.ulid(), self._clock.ulid(), plan)], None)
            compaction = state.config.compaction(plan.key)
            assert compaction is not None
            dialogue = begin(
                state, plan, await self._covered(stream, state, plan), model=summarizer.model, instead=model
            )
            question = dialogue.first
            calls: tuple[PlannedCall, ...] = ()
            if isinstance(question, SummaryRequest) and summarizer.method != "heuristic":
                calls = (_planned_call(question),)

            def job(asked: CompactionRequested) -> _Job:
                return _Job(stream, actor, asked, dialogue, summarizer, compaction.on_failure, state.config.tokenizer)

            return Decision([RequestCompaction(self._clock.ulid(), self._clock.ulid(), plan, calls)], job)

        written, job = await self._commands.write_noting(
            stream, decision_for, actor=actor, expected_version=expected_version, idempotency=idempotency
        )
        if written.replayed:
            return _Requested(written.state, earlier=written.events[0])
        payloads = [event.payload for event in written.events]
        if not payloads or not isinstance(asked := payloads[0], CompactionRequested):
            return _Requested(written.state)
        if asked.action == "erase":
            erased = payloads[-1]
            assert isinstance(erased, CompactionCompleted)
            done = result_of(written.events[-1], erased)
            self._completed(stream, done)
            return _Requested(written.state, done=done)
        assert job is not None
        return _Requested(written.state, job=job(asked))

    async def _covered(self, stream: Stream, state: SessionState, plan: CompactionPlan) -> tuple[Entry, ...]:
        """Return the entries *plan* covers; a block may reach back to ones that have left the window (R-001-6)."""
        active = state.window.within(plan.covered)
        if len(active) == ranges.size(plan.covered):
            return active
        events = await self._store.events.read_stream(stream, until=state.version)
        past = HISTORY.fold(decode(event) for event in events).within(plan.covered)
        return tuple(past.entry for past in past if past.status in {"active", "covered"})

    async def _abandon_stale(self, stream: Stream, actor: str) -> SessionState:
        """Record compactions that some process took on and never ended (R-CMP-10)."""

        async def commands_for(state: SessionState) -> Sequence[Command]:
            return [
                FailCompaction(self._clock.ulid(), compaction_id, "abandoned", "its process is gone")
                for compaction_id in self._stale(state)
            ]

        return (await self._commands.write(stream, commands_for, actor=actor)).state

    def _stale(self, state: SessionState) -> list[str]:
        """Return the compactions that are past their lease, and not ours."""
        taken_before = self._clock.now() - self._lease
        return [
            flight.request.compaction_id
            for flight in state.compactions.in_flight
            if flight.request.compaction_id not in self._running and to_datetime(flight.recorded_us) < taken_before
        ]

    def _start(self, job: _Job, *, then_from: int | None) -> "asyncio.Task[RecordedEvent | None]":
        task = asyncio.create_task(self._run(job, then_from))
        self._running[job.asked.compaction_id] = (job.stream, task)
        task.add_done_callback(lambda _: self._running.pop(job.asked.compaction_id, None))
        return task

    async def _run(self, job: _Job, then_from: int | None) -> RecordedEvent | None:
        """Call the summarizer, record the outcome, and go on planning where the evaluation stopped."""
        outcome = await self._outcome(job)

        async def commands_for(state: SessionState) -> Sequence[Command]:
            return [outcome]

        try:
            written = await self._commands.write(job.stream, commands_for, actor=job.actor)
        except LedgerError as fault:  # if it is lost, the request is taken for abandoned after its lease
            if then_from is None:
                raise
            log.warning("the outcome of a compaction was not recorded: %s", fault.code)
            return None
        if not written.events:
            return None
        event = written.events[0]
        if isinstance(event.payload, CompactionCompleted):
            self._completed(job.stream, result_of(event, event.payload))
        if then_from is not None:
            queue = job.asked.block is not None and isinstance(event.payload, CompactionCompleted)
            skip = then_from if queue else then_from + 1
            await self.evaluate(job.stream, written.state, actor=job.actor, skip=skip)
        return event

    async def _outcome(self, job: _Job) -> CompleteCompaction | FailCompaction:
        compaction_id = job.asked.compaction_id
        try:
            outcome = await execute(
                job.asked,
                job.dialogue,
                job.summarizer,
                on_failure=job.on_failure,
                tokenizer=TOKENIZERS[job.tokenizer],
                clock=self._clock,
                deadline_s=self._deadline_s,
            )
        except SummarizerFailed as failure:
            return FailCompaction(self._clock.ulid(), compaction_id, failure.reason, str(failure)[:500])
        except asyncio.CancelledError:  # we are closing: say so, then go
            return FailCompaction(self._clock.ulid(), compaction_id, "abandoned", "the ledger was closed")
        return CompleteCompaction(self._clock.ulid(), compaction_id, outcome)


def _automatic(key: str, state: SessionState) -> CompactionPlan | None:
    compaction = state.config.compaction(key)
    return plan_automatic(state, compaction) if compaction else None


def _planned_call(request: SummaryRequest) -> PlannedCall:
    return PlannedCall(
        request_hash=request.request_hash,
        template_hash=request.template_hash,
        model=request.model,
        parameters=request.parameters or None,
    )
