"""Compactions from plan to outcome: requested, carried out, recorded. Source: R-CMP-3 … R-CMP-11.

Adding entries never waits for a summarizer. A plan becomes a `compaction.requested` event before any model is
asked. The call runs in its own task, without a transaction or a connection. Its result is recorded if the entries it
covers have not changed meanwhile.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Unpack
from uuid import UUID

import msgspec

from ledger.application.background.compaction_log import log_outcome
from ledger.application.background.compaction_outcomes import next_evaluation, outcome_of, recorded_outcome
from ledger.application.background.compaction_requests import CompactionJob, CompactionRequests, RequestOutcome
from ledger.application.background.rebuilder import Rebuilder
from ledger.application.commands.command_handler import CommandHandler
from ledger.application.commands.write_requests import Idempotency, WriteOptions
from ledger.errors import CompactionInProgress, CompactionUnderWay, LedgerError
from ledger.events import CompactionCompleted, CompactionFailed, CompactionRequested, RecordedEvent
from ledger.events.ids import Stream
from ledger.history.state_loading import States
from ledger.llm.compaction.compaction_result import CompactionResult, result_of, result_of_event
from ledger.llm.summarizers.extractive import Extractive
from ledger.llm.summarizers.model_answers import CountedSummarizer, ModelCalls
from ledger.ports import Clock, Store, Summarizer
from ledger.replay.what_if.recorded_answers import SummaryCache
from ledger.session.commands import Command
from ledger.session.state import SessionState
from ledger.session.views import compaction_may_be_due, plan_automatic, plan_manual
from projections.strategies.base import CompactionPlan

log = logging.getLogger("ledger")


class ManualCompaction(msgspec.Struct, frozen=True, kw_only=True):
    """A caller's compaction: which one, and what replaces its config: the tokens to keep, the model to ask."""

    key: str | None = None
    force: bool = False
    keep_tokens: int | None = None
    model: str | None = None


class Compactor:
    """Plans, runs and records compactions; the events name the *actor* that asked for them."""

    def __init__(
        self,
        store: Store,
        states: States[SessionState],
        commands: CommandHandler,
        clock: Clock,
        *,
        lease_s: float,
        completed: Callable[[Stream, CompactionResult], None],
        failed: Callable[[Stream, CompactionFailed], None],
        models: ModelCalls,
        tried: SummaryCache | None = None,
    ) -> None:
        self._store = store
        self._states = states
        self._commands = commands
        self._clock = clock
        self._completed = completed
        self._failed = failed
        self._models = models
        self._default: Summarizer = Extractive()
        self._of_session: dict[UUID, Summarizer] = {}
        self._most_in_a_row: int | None = None
        self._running: dict[str, tuple[Stream, asyncio.Task[RecordedEvent | None]]] = {}
        self._requests = CompactionRequests(store, commands, clock, lease_s=lease_s, running=self._running)
        self.rebuilder = Rebuilder(
            store,
            commands,
            clock,
            lease_s=lease_s,
            models=models,
            summarizer_of=self.summarizer_of,
            tried={} if tried is None else tried,
        )

    @property
    def most_in_a_row(self) -> int | None:
        """After how many calls of models after one write no further compaction starts; a worker does the rest.

        A compaction without a model counts as one call. None is all. It bounds the calls for a rebuild, too.
        """
        return self._most_in_a_row

    @most_in_a_row.setter
    def most_in_a_row(self, most: int | None) -> None:
        self._most_in_a_row = self.rebuilder.most_in_a_row = most

    def set_summarizer(self, stream: Stream | None, summarizer: Summarizer | None) -> None:
        """Use *summarizer*, or the extractive one, for one session, or for all that have no summarizer of their own."""
        if stream is None:
            self._default = summarizer or Extractive()
        else:
            self._of_session[stream.stream_id] = summarizer or Extractive()

    @property
    def default_summarizer(self) -> Summarizer:
        """The summarizer of sessions that have none of their own."""
        return self._default

    def summarizer_of(self, stream: Stream) -> Summarizer:
        """Return the summarizer of a session."""
        return self._of_session.get(stream.stream_id, self._default)

    async def evaluate_added(self, stream: Stream, version: int, *, actor: str) -> None:
        """Evaluate as `evaluate` does, after entries up to *version* were added.

        If their number and tokens alone show that nothing is due, the session's state is not needed.
        """
        try:
            cached = self._states.folded(stream, version)
            if cached is not None and cached[0].rebuild is not None:
                self.rebuilder.resume(stream, cached[0], actor=actor)
            if cached is not None and not compaction_may_be_due(*cached) and not self._requests.stale(cached[0]):
                return
            state = await self._states.known(stream, version) or await self._states.newest(stream)
        except LedgerError as fault:
            log.warning("a compaction was not started: %s", fault.code)
            return
        await self.evaluate(stream, state, actor=actor)

    async def evaluate(self, stream: Stream, state: SessionState, *, actor: str, skip: int = 0, calls: int = 0) -> None:
        """Start what the config's compactions, from number *skip* on, plan after a batch, unless *calls* are enough.

        A failure is logged, not raised: the batch is stored, and the next batch plans again.
        """
        # R-CMP-8
        self.rebuilder.resume(stream, state, actor=actor)
        if self.most_in_a_row is not None and calls >= self.most_in_a_row:
            return  # what else is due is a job of a worker after `jobs.due.UNSTARTED_S`
        try:
            state = await self.abandon_stale(stream, state, actor=actor)
            for index, compaction in enumerate(state.config.compactions[skip:], start=skip):
                if await self._states.view(stream, state, partial(plan_automatic, state, compaction)) is None:
                    continue
                requested = await self._request(stream, partial(_automatic, compaction.key), actor=actor, state=state)
                if requested.job is not None:
                    self._start(requested.job, then_from=index, calls=calls)
                    return
                state = requested.state  # an erasure is done at once; the next compaction sees what remains
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
            CompactionUnderWay: it is not finished after *wait_s* seconds.
            CompactionInProgress, NotEnoughEntries, InvalidInput: nothing was planned.
            CompactionNotCompleted: the summarizer returned nothing usable; that is recorded, and no entry left the
                window.
            Unavailable: it is unknown whether the outcome was recorded.
        """
        # R-000-5
        await self._requests.abandon_stale(stream, actor=actor)
        requested = await self._request(
            stream,
            lambda state: plan_manual(state, request.key, force=request.force, keep_tokens=request.keep_tokens),
            actor=actor,
            model=request.model,
            expected_version=expected_version,
            idempotency=idempotency,
        )
        if requested.earlier is not None:
            return await self._earlier_result(stream, requested.earlier, wait_s)
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
            raise CompactionUnderWay(requested.job.request.compaction_id)
        return result_of_event(task.result())

    async def _earlier_result(self, stream: Stream, request: RecordedEvent, wait_s: float | None) -> CompactionResult:
        """Return the result of a *request* that was recorded before, in this process or another."""
        assert isinstance(request.payload, CompactionRequested)
        compaction_id = request.payload.compaction_id
        _, running = self._running.get(compaction_id, (stream, None))
        if running is not None:
            await asyncio.wait([running], timeout=wait_s)
        outcome = await recorded_outcome(self._store, stream, compaction_id, after=request.version)
        if outcome is None:
            raise CompactionUnderWay(compaction_id)
        return msgspec.structs.replace(result_of_event(outcome), replayed=True)

    async def settle(self, stream: Stream | None = None) -> None:
        """Wait until this process runs no compaction and no rebuild of *stream*, or of any session."""
        while tasks := [
            *(task for own, task in self._running.values() if stream is None or own.stream_id == stream.stream_id),
            *self.rebuilder.tasks(stream),
        ]:
            await asyncio.wait(tasks)  # unlike gather: a cancelled wait cancels no compaction

    async def close(self, *, grace_s: float) -> None:
        """Wait *grace_s* seconds for running compactions, then cancel them, which is recorded."""
        try:
            async with asyncio.timeout(grace_s):
                await self.settle()
        except TimeoutError:
            for task in [*(task for _, task in self._running.values()), *self.rebuilder.tasks()]:
                task.cancel()
            await self.settle()

    async def _request(
        self,
        stream: Stream,
        plan_for: Callable[[SessionState], CompactionPlan | None],
        *,
        actor: str,
        model: str | None = None,
        **options: Unpack[WriteOptions],
    ) -> RequestOutcome:
        outcome = await self._requests.request(
            stream, plan_for, self.summarizer_of(stream), actor=actor, model=model, options=options
        )
        if outcome.done is not None:
            self._completed(stream, outcome.done)
        return outcome

    async def abandon_stale(self, stream: Stream, state: SessionState, *, actor: str) -> SessionState:
        """Record as abandoned the compactions that a process started and never ended; return the state after it."""
        # R-CMP-10
        return await self._requests.abandon_stale(stream, actor=actor) if self._requests.stale(state) else state

    def _start(
        self, job: CompactionJob, *, then_from: int | None, calls: int = 0
    ) -> "asyncio.Task[RecordedEvent | None]":
        task = asyncio.create_task(self._run(job, then_from, calls))
        self._running[job.request.compaction_id] = (job.stream, task)
        task.add_done_callback(lambda _: self._running.pop(job.request.compaction_id, None))
        return task

    async def _run(self, job: CompactionJob, then_from: int | None, calls: int) -> RecordedEvent | None:
        """Call the summarizer, record the outcome, and continue the evaluation where it stopped.

        *calls* were made before, since the same write.
        """
        summarizer = CountedSummarizer(job.summarizer)
        outcome = await outcome_of(job, summarizer, clock=self._clock, models=self._models)

        async def commands_for(state: SessionState) -> Sequence[Command]:
            return [outcome]

        try:
            written = await self._commands.write(job.stream, commands_for, actor=job.actor)
        except LedgerError as fault:  # the request then counts as abandoned after its lease
            if then_from is None:
                raise
            log.warning("the outcome of a compaction was not recorded: %s", fault.code)
            return None
        if not written.events:
            return None
        event = written.events[0]
        log_outcome(job.stream, event)
        if isinstance(event.payload, CompactionCompleted):
            self._completed(job.stream, result_of(event, event.payload))
        elif isinstance(event.payload, CompactionFailed) and event.payload.reason != "abandoned":
            self._failed(job.stream, event.payload)
        skip = next_evaluation(job, event, then_from)
        if skip is not None:
            await self.evaluate(
                job.stream, written.state, actor=job.actor, skip=skip, calls=calls + max(1, summarizer.calls)
            )
        return event


def _automatic(key: str, state: SessionState) -> CompactionPlan | None:
    compaction = state.config.compaction(key)
    return plan_automatic(state, compaction) if compaction else None
