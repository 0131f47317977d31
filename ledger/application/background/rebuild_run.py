"""One run of a rebuild: replays the history, asks models, records what they write, and switches in one write."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from msgspec.structs import asdict

from ledger.application.commands.command_handler import CommandHandler
from ledger.application.commands.write_requests import Decision
from ledger.errors import SummarizerFailed
from ledger.events import ModelOutput, RebuildAnswered, RecordedEvent, ReturnedEntry, to_microseconds
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.llm.compaction.driving import drive
from ledger.llm.summarizers.model_answers import ModelCalls
from ledger.ports import Clock, Store, Summarizer, SummaryText
from ledger.replay.what_if.config_replay import Replay
from ledger.replay.what_if.recorded_answers import Answered, KnownAnswers, SummaryCache, cache_of
from ledger.replay.what_if.replayed import Replayed
from ledger.replay.what_if.run import AnswerSource, answer_source
from ledger.session.commands import Command
from ledger.session.rebuild_commands import AnswerRebuild, CompleteRebuild
from ledger.session.state import SessionState
from projections import working_memory
from projections.entries import Entry
from projections.log.history import HISTORY, History
from projections.memory_config import config as memory_config
from projections.prompts import SummaryRequest
from projections.rebuilds import Rebuild
from projections.values import ranges
from projections.working_memory import EntryFlags, WorkingMemory

_EVENTS_AT_ONCE: Final = 500  # then other work of the process has its turn


class Ended(Exception):
    """A rebuild cannot go on."""


class Paused(Exception):
    """A rebuild called models as often as one run may; that is recorded, and a worker goes on."""


class RebuildRun:
    """One rebuild, from its request to the switch, or to the first text after *most* calls of models."""

    def __init__(
        self,
        store: Store,
        commands: CommandHandler,
        clock: Clock,
        models: ModelCalls,
        tried: SummaryCache,
        stream: Stream,
        rebuild: Rebuild,
        actor: str,
        *,
        most: int | None,
    ) -> None:
        self._store = store
        self._commands = commands
        self._clock = clock
        self._models = models
        self._tried = tried
        self._stream = stream
        self._rebuild = rebuild
        self._actor = actor
        self._most = most
        self._asked = 0
        self._history: History = HISTORY.initial
        self._flags = WorkingMemory()

    async def write(self, command: Command) -> bool:
        """Record *command*; return False if the rebuild does not run any more."""

        async def commands_for(state: SessionState) -> Sequence[Command]:
            return [command]

        return bool((await self._commands.write(self._stream, commands_for, actor=self._actor)).events)

    async def execute(self, summarizer: Summarizer) -> None:
        """Replay all events, those that come meanwhile too, and make the session what the replay ended in.

        Raises:
            Ended: the model does not answer, or there is none.
            Paused: the rest is a worker's.
            LedgerError: the store is not available; or a newer release wrote an event.
        """
        events, seen = await self._events_after(0), 0
        if not events:
            return
        source = answer_source(summarizer, events)
        config = memory_config.load(self._rebuild.config)
        replay = Replay(config, method=source.method, model=source.model, names=self._rebuild.rebuild_id)
        # a call that failed is made again
        cache = {digest: found for digest, found in cache_of(events).items() if isinstance(found, Answered)}

        async def answer(request: SummaryRequest) -> SummaryText:
            known = cache.get(request.request_hash)
            if known is None:
                known = cache[request.request_hash] = await self._ask(replay, source, request)
            return SummaryText(known.text, known.input_tokens, known.output_tokens)

        while events:
            for part in _parts(events):
                replayed = await drive(replay.steps(part), answer)
                self._history = HISTORY.fold(part, self._history)
                for event in part:
                    self._flags = working_memory.evolve(self._flags, event)
                await asyncio.sleep(0)
            seen = events[-1].version
            events = await self._events_after(seen) or await self._switch(replayed, seen)

    async def _events_after(self, version: int) -> list[RecordedEvent]:
        return [decode(stored) for stored in await self._store.events.read_stream(self._stream, after=version)]

    async def _ask(self, replay: Replay, source: AnswerSource, request: SummaryRequest) -> Answered:
        """Return the text that the model writes, or wrote for a what-if, and record it first.

        Raises:
            Ended: there is no model, it does not answer, or the rebuild does not run any more.
            Paused: it is recorded, and the last that this run may ask for.
            SummarizerFailed: what the model wrote is of no use, or the strategy writes a summary without a model.
        """
        found: SummaryText | KnownAnswers | None = self._tried.get(request.request_hash)
        if not isinstance(found, Answered):
            found = await self._called(replay, source, request)
        is_last = self._most is not None and self._asked >= self._most
        answered = RebuildAnswered(
            write_id=self._clock.ulid(),
            rebuild_id=self._rebuild.rebuild_id,
            until=replay.version,
            output=ModelOutput(
                request_hash=request.request_hash,
                text=found.text,
                input_tokens=found.input_tokens,
                output_tokens=found.output_tokens,
            ),
            model=request.model,
            paused=is_last,
        )
        if not await self.write(AnswerRebuild(answered)):
            raise Ended("it was superseded")
        if is_last:
            raise Paused
        return Answered(found.text, found.input_tokens, found.output_tokens)

    async def _called(self, replay: Replay, source: AnswerSource, request: SummaryRequest) -> SummaryText:
        if source.summarizer is None:
            raise Ended("a summary has no recorded text, and there is no model; set a summarizer and ask again")
        self._asked += 1
        try:
            return await self._models.answer(source.summarizer, request)
        except SummarizerFailed as fault:
            fails = replay.asking is None or replay.asking.on_failure == "fail"
            if fails and fault.reason in {"error", "timeout"}:
                raise Ended(f"{fault.reason}: {fault}") from fault
            raise

    async def _switch(self, replayed: Replayed, seen: int) -> list[RecordedEvent]:
        """Make the session what the replay ended in; return the events after *seen* if there are newer ones."""

        async def decision_for(state: SessionState) -> Decision[bool]:
            if state.version != seen:
                return Decision([], True)
            return Decision([self._completion(state, replayed)], False)

        _, is_behind = await self._commands.write_with_note(self._stream, decision_for, actor=self._actor)
        return await self._events_after(seen) if is_behind else []

    def _completion(self, state: SessionState, replayed: Replayed) -> CompleteRebuild:
        wanted, active = replayed.state.window.entries, state.window.entries
        erased = ranges.union(each.outcome.covered for each in replayed.newest if each.outcome.effect == "erase")
        returned, removed = [], set(replayed.removed)
        for past in self._history.entries:
            if past.status == "removed":
                removed.add(past.version)
            elif past.status != "cleared":
                comes_back = wanted.has(past.version) and not active.has(past.version)
                was_erased = past.status == "erased"
                if comes_back or (was_erased and not ranges.contains(erased, past.version)):
                    returned.append(_returned(past, self._flags.flags, erased=was_erased))
        return CompleteRebuild(
            write_id=self._clock.ulid(),
            rebuild_id=self._rebuild.rebuild_id,
            wanted=replayed.state,
            compactions=replayed.newest,
            returned=tuple(returned),
            removed=frozenset(removed),
        )


def _parts(events: Sequence[RecordedEvent]) -> Iterator[list[RecordedEvent]]:
    """Yield *events* in parts that divide no batch."""
    part: list[RecordedEvent] = []
    for _, batch in groupby(events, key=lambda event: event.payload.write_id):
        part.extend(batch)
        if len(part) >= _EVENTS_AT_ONCE:
            yield part
            part = []
    if part:
        yield part


def _returned(entry: Entry, flags: EntryFlags, *, erased: bool) -> ReturnedEntry:
    persisted = flags.persisted_at(entry.version)
    fields = {name: value for name, value in asdict(entry).items() if name in Entry.__struct_fields__}
    return ReturnedEntry(
        **fields,
        extracted=ranges.contains(flags.extracted, entry.version),
        persisted_us=to_microseconds(persisted) if persisted else 0,
        erased=erased,
    )
