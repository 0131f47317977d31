"""Running compactions and the failures of each key, as a fold. Source: R-CMP-3, R-CMP-7, R-CMP-9."""

from collections.abc import Callable, Iterable

import msgspec
from msgspec.structs import replace

from ledger.errors import FailureReason
from ledger.events import (
    CompactionCompleted,
    CompactionContinued,
    CompactionDiscarded,
    CompactionFailed,
    CompactionRequested,
    ContextSet,
    DiscardReason,
    EntryAdded,
    EntryEdited,
    EntryRemoved,
    Ranges,
    RebuildCompleted,
    RecordedEvent,
    SessionCleared,
)
from projections.values import ranges


class InFlight(msgspec.Struct, frozen=True):
    """A request without outcome.

    *seen_entries* is how many entries had been added when it was planned; *spoiled* is why its result will be
    discarded, if anything that it covers has changed since.
    """

    version: int
    recorded_us: int
    request: CompactionRequested
    seen_entries: int
    spoiled: DiscardReason | None = None

    @property
    def failure_key(self) -> tuple[str, int]:
        """What failures are counted by: the key, and the block of a rolling key."""
        return self.request.key, self.request.block.number if self.request.block else 0

    @property
    def asked_model(self) -> str | None:
        """The model that its first call asks; None without a call, or if its summarizer names none."""
        return self.request.calls[0].model if self.request.calls else None


class Failures(msgspec.Struct, frozen=True):
    """Consecutive failures of one key (or block): since when, and what the last one was."""

    key: str
    block: int
    count: int
    seen_entries: int
    reason: FailureReason = "error"
    error: str = ""
    since_us: int = 0
    model: str | None = None
    #: Whether the summary was written without the model that failed: then nothing waits for a next attempt.
    replaced: bool = False


class Compactions(msgspec.Struct, frozen=True):
    """Running compactions, failures, and the watermark of each key."""

    in_flight: tuple[InFlight, ...] = ()
    failures: tuple[Failures, ...] = ()
    #: (key, seen_version of its last completed compaction): the watermark of R-003-8.
    watermarks: tuple[tuple[str, int], ...] = ()
    entries: int = 0

    def watermark(self, key: str) -> int:
        """Return the newest version that *key* has considered; older tool results no longer trigger it."""
        return next((version for own, version in self.watermarks if own == key), 0)

    def introduced(self, keys: Iterable[str], version: int) -> "Compactions":
        """Return the compactions with *keys*, new in the config, whose watermark is *version*."""
        new = set(keys)
        marks = tuple(mark for mark in self.watermarks if mark[0] not in new)
        return replace(self, watermarks=(*marks, *((key, version) for key in sorted(new))))

    def running(self, key: str) -> InFlight | None:
        """Return the running compaction of *key*, or None."""
        return next((flight for flight in self.in_flight if flight.request.key == key), None)

    def find(self, compaction_id: str) -> InFlight | None:
        """Return the compaction with this id, or None if it is not running."""
        return next((flight for flight in self.in_flight if flight.request.compaction_id == compaction_id), None)

    def reserved(self, covered: Ranges) -> bool:
        """Tell whether a running replace or erase covers some of *covered*."""
        return any(
            flight.request.effect != "overlay" and ranges.overlap(flight.request.covered, covered)
            for flight in self.in_flight
        )

    def failed(self, key: str, block: int = 0) -> int:
        """Return the number of consecutive failures."""
        found = self._failures(key, block)
        return found.count if found else 0

    def backs_off(self, key: str, block: int = 0) -> bool:
        """Tell whether too few entries were added since the last failure to try again."""
        found = self._failures(key, block)
        if found is None or found.replaced:
            return False
        pause: int = 2 ** min(found.count - 1, 6)
        return self.entries - found.seen_entries < pause

    def _failures(self, key: str, block: int) -> Failures | None:
        return next((found for found in self.failures if (found.key, found.block) == (key, block)), None)


def evolve(state: Compactions, event: RecordedEvent) -> Compactions:
    """Return the compactions after *event*."""
    match event.payload:
        case EntryAdded():
            return Compactions(state.in_flight, state.failures, state.watermarks, state.entries + 1)
        case CompactionRequested() as payload:
            flight = InFlight(event.version, event.recorded_us, payload, state.entries)
            return replace(state, in_flight=(*state.in_flight, flight))
        case CompactionFailed(compaction_id=compaction_id, reason="abandoned"):
            # not a failure of the model: the next worker tries again at once (R-CMP-10, trust M-2)
            return replace(state, in_flight=_without(state, compaction_id))
        case CompactionFailed() as payload:
            return _fail(state, payload, event.recorded_us)
        case CompactionCompleted() as payload:
            return _spoil(_complete(state, payload, event.recorded_us), lambda flight: _overtaken(flight, payload))
        case CompactionDiscarded(compaction_id=compaction_id):
            return replace(state, in_flight=_without(state, compaction_id))
        case EntryEdited(entry_version=version) | EntryRemoved(entry_version=version):
            return _spoil(state, lambda flight: "changed" if ranges.contains(flight.request.covered, version) else None)
        case ContextSet():
            # the summary that it continues has changed, or there is one now (R-004-9)
            return _spoil(state, lambda flight: None if flight.request.effect == "overlay" else "changed")
        case RebuildCompleted():
            # what it would have replaced is no longer as it was planned
            return _spoil(replace(state, failures=(), watermarks=()), lambda _: "changed")
        case CompactionContinued(continuation=counted):
            failures = (
                Failures(
                    failed.key,
                    failed.block,
                    failed.count,
                    state.entries - failed.entries_since,
                    failed.reason,
                    since_us=event.recorded_us,
                )
                for failed in counted.failures
            )
            return replace(state, failures=tuple(failures), watermarks=counted.watermarks)
        case SessionCleared():
            # a request outlives a clear, so that a late result can be discarded with a reason (R-CMP-3)
            return Compactions(in_flight=_spoil(state, lambda flight: "cleared").in_flight)
        case _:
            return state


def _spoil(state: Compactions, reason: Callable[[InFlight], DiscardReason | None]) -> Compactions:
    if not state.in_flight:
        return state
    flights = tuple(replace(flight, spoiled=flight.spoiled or reason(flight)) for flight in state.in_flight)
    return replace(state, in_flight=flights)


def _overtaken(flight: InFlight, payload: CompactionCompleted) -> DiscardReason | None:
    """Return why *payload* makes *flight* useless, or None; an overlay hides nothing, so none conflicts (R-CMP-5)."""
    if flight.request.effect == "overlay" or payload.effect == "overlay":
        return None
    if ranges.overlap(flight.request.covered, payload.covered) or set(flight.request.folds) & set(payload.folds):
        return "erased" if payload.effect == "erase" else "covered"
    return None


def _fail(state: Compactions, payload: CompactionFailed, moment_us: int) -> Compactions:
    flight = state.find(payload.compaction_id)
    if flight is None:
        return state
    error = f"{payload.reason}: {payload.detail}" if payload.detail else payload.reason
    failure = Failures(
        *flight.failure_key, 1, flight.seen_entries, payload.reason, error, moment_us, flight.asked_model
    )
    return replace(
        state, in_flight=_without(state, payload.compaction_id), failures=_with_failure(state.failures, failure)
    )


def _complete(state: Compactions, payload: CompactionCompleted, moment_us: int) -> Compactions:
    flight = state.find(payload.compaction_id)
    if flight is None:
        return state
    marks = tuple(mark for mark in state.watermarks if mark[0] != payload.key)
    failures, over = state.failures, {flight.failure_key, (payload.key, 0)}
    if payload.model_failed:  # written without a model; the failure of the model is counted for the key
        failure = Failures(
            payload.key,
            0,
            1,
            flight.seen_entries,
            "error",
            payload.error or "",
            moment_us,
            flight.asked_model,
            replaced=True,
        )
        failures = _with_failure(failures, failure)
        over.remove((payload.key, 0))
    return replace(
        state,
        in_flight=_without(state, payload.compaction_id),
        failures=tuple(found for found in failures if (found.key, found.block) not in over),
        watermarks=(*marks, (payload.key, flight.request.seen_version)),
    )


def _with_failure(failures: tuple[Failures, ...], failure: Failures) -> tuple[Failures, ...]:
    """Return *failures* with one more, which goes on those of the same key and block."""
    same = next((found for found in failures if (found.key, found.block) == (failure.key, failure.block)), None)
    if same is not None:
        failure = replace(failure, count=same.count + 1, since_us=same.since_us)
    return (*(found for found in failures if found is not same), failure)


def _without(state: Compactions, compaction_id: str) -> tuple[InFlight, ...]:
    return tuple(flight for flight in state.in_flight if flight.request.compaction_id != compaction_id)
