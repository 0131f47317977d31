"""Sessions whose automatic compactions run to completion after each batch, by a summarizer that follows a script."""

import asyncio
from bisect import bisect
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple
from uuid import UUID

from ledger.errors import SummarizerFailed
from ledger.events import CompactionCompleted, CompactionRequested, Event, Ranges
from ledger.llm.compaction.dialogue import Dialogue, dialogue_of
from ledger.llm.compaction.summarizing import execute
from ledger.llm.summarizers.model_answers import ModelCalls
from ledger.llm.tokenizers import TOKENIZERS
from ledger.ports import Summarizer, SummaryText
from ledger.session.commands import CompleteCompaction, FailCompaction, RequestCompaction
from ledger.session.views import plan_automatic, plan_manual
from projections.log.history import HISTORY
from projections.log.timeline import spans
from projections.prompts import SummaryRequest
from projections.strategies.base import CompactionConfig, CompactionPlan
from projections.values import ranges
from tests.support.notation import batches
from tests.support.specification import Session


def text_of(tokens: int) -> str:
    """Return text of that many tokens, by o200k_base and by approximation."""
    return " ".join(["the"] * tokens)


def exact(request: SummaryRequest) -> str:
    return text_of(request.target_tokens or 5)


def too_long(request: SummaryRequest) -> str:
    return text_of(sum(entry.tokens for entry in request.entries) + sum(map(len, request.folded)))


def raises(request: SummaryRequest) -> str:
    raise RuntimeError("the model is down")


class Scripted:
    """A `ports.Summarizer`: text, or functions of the request, one for each call; the last one goes on."""

    method = "llm"
    model: str | None = "scripted"

    def __init__(self, *script: str | Callable[[SummaryRequest], str]) -> None:
        self.script = script or (exact,)
        self.asked: list[SummaryRequest] = []

    async def summarize(self, request: SummaryRequest) -> SummaryText:
        answer = self.script[min(len(self.asked), len(self.script) - 1)]
        self.asked.append(request)
        return SummaryText(answer if isinstance(answer, str) else answer(request))


class SetClock:
    """A clock that does not move until it is set, and numbers its ids."""

    def __init__(self) -> None:
        self.moment = datetime(2024, 1, 1, tzinfo=UTC)
        self.ids = 0

    def now(self) -> datetime:
        return self.moment

    def advance(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)

    def event_id(self) -> UUID:
        self.ids += 1
        return UUID(int=self.ids)

    def ulid(self) -> str:
        self.ids += 1
        return f"ulid{self.ids}"


class Job(NamedTuple):
    """A compaction in progress: its request, and everything its call needs."""

    asked: CompactionRequested
    compaction: CompactionConfig
    begin: Callable[[], Dialogue]

    @property
    def request(self) -> SummaryRequest:
        return self.begin().first


class Driven(Session):
    """What `compactor.Compactor` does, one step after the other."""

    def __init__(self, settings: dict | None = None, summarizer: Summarizer | None = None) -> None:
        super().__init__(settings)
        self.summarizer = summarizer or Scripted()
        self.clock = SetClock()
        self.jobs: list[Job] = []

    def append(self, notation: str, tokens: int = 10, **fields) -> "Driven":
        """Add batches and evaluate nothing, as while a summarizer hangs."""
        super().add(notation, tokens, **fields)
        return self

    def add(self, notation: str, tokens: int = 10, **fields) -> "Driven":
        for items in batches(notation):
            self.append(f"[{' '.join(items)}]", tokens, **fields).settle()
        return self

    def settle(self) -> None:
        """Evaluate once, in list order; after a block the next one of its queue (R-CMP-8, R-001-6)."""
        number = 0
        while number < len(self.state.config.compactions):
            plan = self.plan(number)
            job = self.request(plan)
            if job:
                self.answer(job)
            if plan is None or plan.block is None:
                number += 1

    def compress(self, *, force: bool = False) -> Event | None:
        return self.answer(self.request(plan_manual(self.state, None, force=force)))

    def plan(self, number: int = 0) -> CompactionPlan | None:
        return plan_automatic(self.state, self.state.config.compactions[number])

    def plan_manual(self, key: str | None = None, *, force: bool = False) -> CompactionPlan:
        return plan_manual(self.state, key, force=force)

    def request(self, plan: CompactionPlan | None) -> Job | None:
        """Record the request; return None if there is no plan, or other compactions hold the entries."""
        before = self.state
        asked = self.do(RequestCompaction(next(self.ids), next(self.ids), plan)) if plan else []
        if not asked or plan.action == "erase":
            return None
        past = HISTORY.fold(self.events).within(plan.covered)
        entries = tuple(past_entry for past_entry in past if past_entry.status in {"active", "covered"})
        start = partial(dialogue_of, before, plan, entries, model=self.summarizer.model)
        self.jobs.append(Job(asked[0], before.config.compaction(plan.key), start))
        return self.jobs[-1]

    def answer(self, job: Job, summarizer: Summarizer | None = None) -> Event | None:
        """Call the summarizer and return the recorded outcome; None if the request is obsolete."""
        return next(iter(self.do(self.outcome(job, summarizer or self.summarizer))), None)

    def outcome(self, job: Job, summarizer: Summarizer) -> CompleteCompaction | FailCompaction:
        called = execute(
            job.asked,
            job.begin(),
            summarizer,
            on_failure=job.compaction.on_failure,
            tokenizer=TOKENIZERS[self.state.config.tokenizer],
            models=ModelCalls(),
            clock=self.clock,
        )
        try:
            return CompleteCompaction(next(self.ids), job.asked.compaction_id, asyncio.run(called))
        except SummarizerFailed as failed:
            return FailCompaction(next(self.ids), job.asked.compaction_id, failed.reason, str(failed))

    @property
    def completed(self) -> list[CompactionCompleted]:
        return [event.payload for event in self.events if isinstance(event.payload, CompactionCompleted)]

    def places(self, covered: Ranges) -> str:
        """Return *covered* by the places of its entries among all entries, e.g. ``1-91``."""
        return spans(ranges.ranges_of(self.added.index(version) + 1 for version in ranges.versions(covered)))

    def entries_at(self, kind: type[Event]) -> list[int]:
        """Return how many entries there were at each event of *kind*."""
        versions = [event.version for event in self.events if isinstance(event.payload, kind)]
        return [bisect(self.added, version) for version in versions]
