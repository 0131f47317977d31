"""Every summary that a session ever had: how it ended, what it was made of, and what asked for it."""

from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec.structs import asdict

from ledger.application.auditing.entry_causes import dropped_at
from ledger.application.handle import NamespaceHandle
from ledger.application.reading.session_reads import existing_state
from ledger.events import CompactionCompleted, CompactionRequested, ContextSet, Ranges, RecordedEvent
from ledger.events.codec import decode
from ledger.events.strict_json import check_integer
from ledger.history.departures import SummaryEnd, SummaryStatus, find_summary, read_ends, read_request, summary_in
from ledger.history.lineage_reads import read_origins
from ledger.results import When
from ledger.session.state import SessionState
from projections.log.lineage import SummaryOrigin
from projections.summaries import Summary
from projections.values import ranges

MOST_SUMMARIES: Final = 1_000
_NODES: Final = 500  # summaries of a tree
_DEPTH: Final = 30


class PastSummary(Summary, frozen=True, kw_only=True):
    """A summary and how it ended; *ended_version* is None while it is live, and for one that its strategy dropped."""

    status: SummaryStatus
    ended_version: int | None = None
    folded_into: str | None = None


class PastSummaries(msgspec.Struct, frozen=True, kw_only=True):
    """A page of summaries, oldest first, as of *version*; *next_after* is None at the end."""

    summaries: tuple[PastSummary, ...]
    next_after: int | None
    version: int


class SummaryNode(msgspec.Struct, frozen=True, kw_only=True):
    """A summary, the *versions* of the entries that it covers itself, and what it folds; *cut* if that is too much."""

    summary_id: str
    version: int
    versions: Ranges
    entries: int
    folds: "tuple[SummaryNode, ...]" = ()
    cut: bool = False


class RequestedSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What asked for a summary: the event, why it was due, and the tokens that it was to replace."""

    version: int
    reasons: tuple[str, ...]
    tokens: int


class SummaryOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A model call that wrote a summary."""

    model: str | None
    input_tokens: int | None
    output_tokens: int | None


class SummaryRecord(PastSummary, frozen=True, kw_only=True):
    """A summary with everything that it was made of; *latency_ms* is from its request to its completion."""

    tree: SummaryNode
    requested: RequestedSummary | None = None
    outputs: tuple[SummaryOutput, ...] = ()
    latency_ms: int | None = None


async def list_summaries(
    handle: NamespaceHandle,
    session_id: str,
    *,
    version: int | None = None,
    after: int = 0,
    limit: int = 200,
    user_id: str | None = None,
) -> PastSummaries:
    """Return the summaries created after version *after*, as they are now or were at *version*, oldest first.

    Raises:
        SessionNotFound: the session has no events.
        VersionNotFound: it has no such version.
        InvalidInput: ``bad_version`` or ``bad_limit``.
    """
    check_integer(after, field="after", code="bad_version", least=0)
    check_integer(limit, field="limit", code="bad_limit", least=1, most=MOST_SUMMARIES)
    state = await existing_state(handle, session_id, **_when(version, user_id))
    stream, events = handle.stream(session_id, user_id), handle.services.store.events
    types = [CompactionCompleted.type, ContextSet.type]
    found = await events.find_types(stream, types, after=after, until=state.version, limit=limit)
    stored = await events.read_versions(stream, ranges.ranges_of(found)) if found else []
    summaries = [summary for event in map(decode, stored) if (summary := summary_in(event)) is not None]
    ended = {each.summary_id: each.version for each in summaries if not _is_live(state, each)}
    ends = await read_ends(handle.services.store, stream, ended, until=state.version)
    return PastSummaries(
        summaries=tuple(_past(state, summary, ends.get(summary.summary_id)) for summary in summaries),
        next_after=found[-1] if len(found) == limit and found[-1] < state.version else None,
        version=state.version,
    )


async def get_summary(
    handle: NamespaceHandle,
    session_id: str,
    summary_id: str,
    *,
    version: int | None = None,
    user_id: str | None = None,
) -> SummaryRecord:
    """Return a summary as it is now or was at *version*: how it ended, all that it folds, and what asked for it.

    Raises:
        SessionNotFound: the session has no events.
        NotFound: it has no such version, or had no such summary by then.
    """
    state = await existing_state(handle, session_id, **_when(version, user_id))
    stream, store = handle.stream(session_id, user_id), handle.services.store
    summary, event = await find_summary(store, stream, summary_id, until=state.version)
    end = None
    if not _is_live(state, summary):
        ends = await read_ends(store, stream, {summary_id: summary.version}, until=state.version)
        end = ends.get(summary_id)
        if end is None:
            end = SummaryEnd(await dropped_at(handle, stream, summary_id, summary.version, state.version), "evicted")
    lineage = await read_origins(store, stream, [summary])
    asked = await read_request(store, stream, event)
    outputs: tuple[SummaryOutput, ...] = ()
    if isinstance(event.payload, CompactionCompleted):
        outputs = tuple(
            SummaryOutput(model=event.payload.model, input_tokens=each.input_tokens, output_tokens=each.output_tokens)
            for each in event.payload.outputs
        )
    return SummaryRecord(
        **asdict(_past(state, summary, end)),
        tree=tree_of(lineage.summaries, summary_id),
        requested=_requested(asked),
        outputs=outputs,
        latency_ms=(event.recorded_us - asked.recorded_us) // 1_000 if asked else None,
    )


def tree_of(summaries: Iterable[SummaryOrigin], summary_id: str) -> SummaryNode:
    """Return *summary_id* with what it folds, directly or not; a tree that is too large or too deep is cut."""
    by_id = {each.summary_id: each for each in summaries}
    nodes = 0

    def node(name: str, depth: int) -> SummaryNode:
        nonlocal nodes
        nodes += 1
        origin = by_id[name]
        known = [fold for fold in origin.folds if fold in by_id]
        folds = [node(fold, depth + 1) for fold in known if depth < _DEPTH and nodes < _NODES]
        return SummaryNode(
            summary_id=name,
            version=origin.version,
            versions=origin.covered,
            entries=ranges.size(origin.covered),
            folds=tuple(folds),
            cut=len(folds) < len(known),
        )

    return node(summary_id, 1)


def _past(state: SessionState, summary: Summary, end: SummaryEnd | None) -> PastSummary:
    if _is_live(state, summary):
        return PastSummary(**asdict(summary), status="live")
    if end is None:
        return PastSummary(**asdict(summary), status="evicted")
    return PastSummary(**asdict(summary), status=end.status, ended_version=end.version, folded_into=end.into)


def _is_live(state: SessionState, summary: Summary) -> bool:
    live = state.summaries.find(summary.summary_id)
    return live is not None and live.version == summary.version


def _requested(asked: RecordedEvent | None) -> RequestedSummary | None:
    if asked is None or not isinstance(payload := asked.payload, CompactionRequested):
        return None
    return RequestedSummary(version=asked.version, reasons=payload.reasons, tokens=payload.tokens)


def _when(version: int | None, user_id: str | None) -> When:
    return {"user_id": user_id} if version is None else {"user_id": user_id, "version": version}
