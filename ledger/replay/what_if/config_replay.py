"""Fold the recorded inputs of a session again under another memory config. Source: R-WIF-1 … R-WIF-7.

The state is that of `SESSION`. Beside it a replay notes the entries that compactions took out of the window, which no
state of a session holds: summaries are asked for with them. To fold `HISTORY` in its place, which holds what
was erased or cleared as well, makes a replay a tenth to a fifth slower; LAW-4 compares both.

Entries have the same versions as in the log, so that two windows can be compared. A compaction of the replay is not in
the log; it has the version of the newest input.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final, TypeAlias
from uuid import UUID

import msgspec

from ledger.errors import SummarizerFailed, UnknownEvent
from ledger.events import (
    CompactionCompleted,
    CompactionRequested,
    ContextSet,
    EntryAdded,
    EntryEdited,
    EntryRemoved,
    Event,
    Method,
    OpaqueEvent,
    RecordedEvent,
    SessionCleared,
    SessionOpened,
)
from ledger.llm.compaction.dialogue import dialogue_of
from ledger.llm.compaction.driving import drive, run_at_once
from ledger.llm.compaction.summarizing import converse
from ledger.llm.tokenizers import TOKENIZERS
from ledger.ports import SummaryText
from ledger.replay.what_if.recorded_answers import OnMiss, SummaryCache, answer_from
from ledger.replay.what_if.replayed import Replayed
from ledger.session.commands import CompleteCompaction, FailCompaction, RequestCompaction
from ledger.session.decide import decide
from ledger.session.evolve import SESSION, end_of_batch
from ledger.session.rebuild_commands import ReplayedCompaction
from ledger.session.state import SessionState
from ledger.session.views import plan_automatic
from projections.entries import Entry
from projections.memory_config import config as memory_config
from projections.memory_config.config import MemoryConfig
from projections.prompts import SummaryRequest
from projections.strategies import COMPACTIONS
from projections.strategies.base import CompactionConfig, CompactionPlan
from projections.summaries import CONTEXT_KEY
from projections.values import ranges

#: Called after each batch of entries and its compactions, with the state and, by version, oldest first, every entry
#: that was not cleared, erased or removed. The mapping changes after the call, the state does not.
Observe: TypeAlias = Callable[[SessionState, Mapping[int, Entry]], None]
Steps: TypeAlias = Generator[SummaryRequest, SummaryText, "Replayed"]

_NO_ID: Final = UUID(int=0)
_INPUTS: Final = (EntryAdded, EntryEdited, EntryRemoved, ContextSet, CompactionCompleted, SessionCleared, SessionOpened)


class Replay:
    """One replay of a session; `steps` yields each request to a model and receives the answer."""

    def __init__(
        self,
        config: MemoryConfig,
        *,
        method: Method = "heuristic",
        model: str | None = None,
        without: Iterable[str] = (),
        recount: bool = False,
        observe: Observe | None = None,
        names: str = "replay",
    ) -> None:
        self._config = config
        self._names = names
        self._method: Method = method
        self._model = model
        self._without = frozenset(without)
        self._recount = recount
        self._observe = observe
        self._state = SESSION.initial
        self._entries: dict[int, Entry] = {}  # those that were not cleared, erased or removed
        self._active: dict[str, int] = {}  # the version of each active entry, by id
        self._completed: list[CompactionCompleted] = []
        self._newest: list[ReplayedCompaction] = []
        self._removed: set[int] = set()
        #: The compaction that asks now.
        self.asking: CompactionConfig | None = None
        self._failed = 0
        self._requests = 0

    @property
    def version(self) -> int:
        """The version of the newest input so far."""
        return self._state.version

    def steps(self, events: Sequence[RecordedEvent]) -> Steps:
        """Replay *events*, oldest first, batch by batch, and return the end.

        Called again, it goes on with the events that follow; a batch must not be divided.

        Raises:
            UnknownEvent: a newer release wrote one of them.
        """
        for _, batch in groupby(events, key=lambda event: event.payload.write_id):
            added = False
            last: RecordedEvent | None = None
            for event in batch:
                item = self._input(event)
                if item is not None:
                    self._apply(item)
                    last, added = item, added or isinstance(item.payload, EntryAdded)
            if added and last is not None:
                yield from self._evaluate(last)
                if self._observe is not None:
                    self._observe(end_of_batch(self._state), self._entries)
        return Replayed(
            state=end_of_batch(self._state),
            completed=tuple(self._completed),
            failed=self._failed,
            newest=tuple(self._newest),
            removed=frozenset(self._removed),
            entries=self._entries,
        )

    def _input(self, event: RecordedEvent) -> RecordedEvent | None:
        """Return *event* as an input of the replay; None if it is not an input (R-WIF-2)."""
        payload = event.payload
        if isinstance(payload, OpaqueEvent):
            raise UnknownEvent(payload.type, payload.schema_version, version=event.version)
        if isinstance(payload, SessionOpened):
            opened = msgspec.structs.replace(payload, config=memory_config.dump(self._config))
            return msgspec.structs.replace(event, payload=opened)
        if not isinstance(payload, _INPUTS):
            return None
        if isinstance(payload, ContextSet | CompactionCompleted):
            written = self._written(payload)
            return None if written is None else msgspec.structs.replace(event, payload=written)
        if isinstance(payload, EntryAdded | EntryEdited | EntryRemoved):
            if payload.entry_id in self._without:
                return None
            if isinstance(payload, EntryEdited | EntryRemoved) and self._state.window.at(payload.entry_version) is None:
                return None  # it has left the window of the replay
        if self._recount and isinstance(payload, EntryAdded | EntryEdited):
            return msgspec.structs.replace(event, payload=self._recounted(payload))
        return event

    def _written(self, payload: ContextSet | CompactionCompleted) -> Event | None:
        """Return the summary in *payload* if it stands for something that the replay does not have (R-WIF-2)."""
        if isinstance(payload, ContextSet):  # it takes the place of the one before, not of the replay's own summaries
            folds = tuple(each.summary_id for each in self._state.summaries.live if each.key == CONTEXT_KEY)
            return msgspec.structs.replace(payload, folds=folds) if payload.summary_id or folds else None
        known = all(version in self._entries for version in ranges.versions(payload.covered))
        if payload.method != "imported" or payload.summary_id is None or (payload.covered and known):
            return None
        return msgspec.structs.replace(payload, effect="overlay", folds=())

    def _recounted(self, payload: EntryAdded | EntryEdited) -> Event:
        tokenizer = TOKENIZERS[self._config.tokenizer]
        if isinstance(payload, EntryAdded):
            count = tokenizer.count(payload)
        else:
            count = tokenizer.count_text(payload.content)
        return msgspec.structs.replace(payload, tokens=count.tokens, tokenizer=count.tokenizer, fallback=count.fallback)

    def _apply(self, event: RecordedEvent) -> None:
        if isinstance(event.payload, EntryAdded) and event.payload.entry_id in self._active:
            # it left the recorded window, but not that of the replay
            again = self._entries[self._active[event.payload.entry_id]]
            removal = EntryRemoved(
                write_id=event.payload.write_id,
                entry_id=again.entry_id,
                entry_version=again.version,
                tokens=again.tokens,
            )
            self._apply(msgspec.structs.replace(event, payload=removal))
        self._state = SESSION.evolve(self._state, event)
        match event.payload:
            case EntryAdded(entry_id=entry_id):
                self._entries[event.version] = self._state.window.entries.last
                self._active[entry_id] = event.version
            case EntryEdited(entry_version=version):
                entry = self._state.window.at(version)
                assert entry is not None
                self._entries[version] = entry
            case EntryRemoved(entry_version=version, entry_id=entry_id):
                del self._entries[version], self._active[entry_id]
                self._removed.add(version)
            case SessionCleared():
                self._entries.clear()
                self._active.clear()
                self._newest.clear()
                self._removed.clear()
            case CompactionCompleted(effect="replace" | "erase" as effect, covered=covered):
                for version in ranges.versions(covered):
                    entry = self._entries.pop(version, None) if effect == "erase" else self._entries.get(version)
                    if entry is not None and self._active.get(entry.entry_id) == version:
                        del self._active[entry.entry_id]

    def _evaluate(self, last: RecordedEvent) -> Generator[SummaryRequest, SummaryText, None]:
        """Run the compactions that the config plans now, one after the other. Source: R-WIF-3, R-CMP-8."""
        number = 0
        while number < len(self._config.compactions):
            compaction = self._config.compactions[number]
            plan = plan_automatic(self._state, compaction)
            if plan is not None:
                yield from self._execute(plan, compaction.on_failure, last)
            if plan is None or plan.block is None:  # of blocks all that are due follow each other
                number += 1

    def _execute(
        self, plan: CompactionPlan, on_failure: str, last: RecordedEvent
    ) -> Generator[SummaryRequest, SummaryText, CompactionCompleted | None]:
        self._requests += 1
        name, before = f"{self._names}-{self._requests}", self._state
        self.asking = before.config.compaction(plan.key)
        events = self._decide(RequestCompaction(name, name, plan), last)
        if not events or not isinstance(request := events[0], CompactionRequested):
            return None
        if request.action == "erase":
            return self._record(request, events[-1], 0)
        entries = tuple(self._entries[version] for version in ranges.versions(plan.covered) if version in self._entries)
        dialogue = converse(
            request,
            dialogue_of(before, plan, entries, model=self._model),
            method=self._method,
            on_failure=on_failure,
            tokenizer=TOKENIZERS[self._config.tokenizer],
            summary_id=name,
        )
        try:
            outcome = yield from dialogue
        except SummarizerFailed as failure:
            self._decide(FailCompaction(name, name, failure.reason, str(failure)[:500]), last)
            self._failed += 1
            return None
        task = before.window.opening if COMPACTIONS[plan.strategy].sees_opening else None
        completed = self._decide(CompleteCompaction(name, name, outcome), last)[0]
        return self._record(request, completed, task.version if task else 0)

    def _record(self, request: CompactionRequested, event: Event, task: int) -> CompactionCompleted | None:
        if isinstance(event, CompactionCompleted):
            self._completed.append(event)
            self._newest.append(ReplayedCompaction(request, event, task))
            return event
        self._failed += 1
        return None

    def _decide(
        self, command: RequestCompaction | CompleteCompaction | FailCompaction, last: RecordedEvent
    ) -> list[Event]:
        events = decide(self._state, command)
        for payload in events:
            self._apply(
                RecordedEvent(last.version, last.position, _NO_ID, last.occurred_us, last.recorded_us, "", payload)
            )
        return events


def replay(
    events: Sequence[RecordedEvent],
    config: MemoryConfig,
    cache: SummaryCache | None = None,
    *,
    model: str | None = None,
    on_miss: OnMiss = "raise",
    without: Iterable[str] = (),
    recount: bool = False,
    observe: Observe | None = None,
) -> Replayed:
    """Return the end of a replay of *events* under *config*; without a *cache* they are extracted.

    *model* is used if the config names none; a recorded answer is found only for the model that gave it.

    Raises:
        SummaryMissing: the cache has no answer to a request, and *on_miss* is ``raise``.
    """
    replayed = Replay(
        config,
        method="heuristic" if cache is None else "llm",
        model=model,
        without=without,
        recount=recount,
        observe=observe,
    )

    async def answer(request: SummaryRequest) -> SummaryText:
        return answer_from(cache or {}, request, on_miss=on_miss, tokenizer=config.tokenizer)

    return run_at_once(drive(replayed.steps(events), answer))
