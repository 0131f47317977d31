"""A session's state as one JSON object, in the shape of seed 000, for ``export_session``. Source: R-000-15.

Unlike an export file it has no history and no proofs, only the current entries, summaries and totals.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from operator import eq

import msgspec

from ledger.events import EntryAdded, JsonObject
from ledger.session.commands import IMPORTED, ImportedSummary, ReplaceState
from ledger.session.continuation import continuation_of
from ledger.session.evolve import end_of_batch
from ledger.session.state import SessionState
from ledger.session.views import stats_of
from projections.log.history import History, PastEntry
from projections.summaries import Summary
from projections.values import ranges


def export_state(session_id: str, state: SessionState, history: History) -> JsonObject:
    """Return the state as JSON: entries since the last clear, live summaries, total tokens; times in ISO 8601.

    A ``continuation``, if there is one, is what strategies had counted; give it back as it is.
    """
    state = end_of_batch(state)
    present = [item for item in history.current() if item.status != "removed"]
    ids = {item.version: item.entry_id for item in present}
    covered = {
        summary.summary_id: [version for version in _covered_versions(summary, history) if version in ids]
        for summary in state.summaries.live
    }
    left = {item.version for item in present if item.status == "covered"}
    hiding = {
        summary.summary_id
        for summary in state.summaries.live
        if not summary.overlay
        or (summary.block is None and (own := covered[summary.summary_id]) and left.issuperset(own))  # restored
    }
    owner = {version: summary_id for summary_id, versions in covered.items() for version in versions}
    owner.update((version, summary_id) for summary_id in hiding for version in covered[summary_id])
    batches = [None, *(item.write_id for item in present)]
    continuation = msgspec.json.decode(msgspec.json.encode(continuation_of(state, list(ids))))
    return {
        "sessionId": session_id,
        "entries": [
            _entry(item, None if item.status == "erased" else owner.get(item.version), same_batch=same)
            for item, same in zip(present, map(eq, batches, batches[1:]), strict=True)
        ],
        "summaries": [
            _summary(summary, covered[summary.summary_id], ids, hides=summary.summary_id in hiding)
            # a summary whose entries were removed comes first
            for summary in sorted(state.summaries.live, key=lambda summary: min(covered[summary.summary_id], default=0))
        ],
        "totalTokens": stats_of(state).total_tokens,
        **({"continuation": continuation} if continuation else {}),
    }


def _covered_versions(summary: Summary, history: History) -> list[int]:
    """Return the versions that a summary covers, also through the summaries it folds."""
    if summary.overlay:
        return list(ranges.versions(summary.covered))
    summaries = {other.summary_id: other for other in history.summaries}
    versions: set[int] = set()
    waiting = [summary]
    while waiting:
        item = waiting.pop()
        if not item.overlay:
            versions.update(ranges.versions(item.covered))
        waiting.extend(summaries[folded] for folded in item.folds if folded in summaries)
    return sorted(versions)


def _entry(entry: PastEntry, summary_id: str | None, *, same_batch: bool) -> JsonObject:
    exported = {
        "id": entry.entry_id,
        "type": entry.kind,
        "role": entry.role,
        "content": entry.content,
        "timestamp": entry.created_at.isoformat(),
        "tokenCount": entry.tokens,
        "tokenizer": entry.tokenizer,
        "compressed": entry.status != "active",
        "erased": True if entry.status == "erased" else None,
        "summaryId": summary_id,
        "metadata": entry.metadata,
        "data": entry.data,
        "toolName": entry.tool_name,
        "toolCallId": entry.tool_call_id,
        "toolStatus": entry.tool_status,
        "arguments": entry.arguments,
        "sameBatch": True if same_batch else None,
    }
    return {name: value for name, value in exported.items() if value is not None}


def _summary(summary: Summary, covered: Sequence[int], ids: Mapping[int, str], *, hides: bool) -> JsonObject:
    exported: JsonObject = {
        "id": summary.summary_id,
        "content": summary.text,
        "originalEntryIds": [ids[version] for version in covered],
        "tokenCount": summary.tokens,
        "tokenizer": summary.tokenizer,
        "originalTokenCount": summary.tokens_before,
        "compressionRatio": summary.compression_ratio,
        "createdAt": summary.created_at.isoformat(),
    }
    if summary.key != IMPORTED:
        exported["key"] = summary.key
    if summary.block is not None:
        exported["block"] = msgspec.to_builtins(summary.block)
    place = bisect_left(list(ids), summary.first_version)
    if place != (bisect_left(list(ids), covered[0]) if covered else 0):
        exported["place"] = place
    if not hides:
        exported["overlay"] = True
    if summary.starts_at and summary.ends_at:
        exported["timeRange"] = {"start": summary.starts_at.isoformat(), "end": summary.ends_at.isoformat()}
    return exported


def whole_state(state: SessionState, history: History, new_id: Callable[[], str]) -> ReplaceState:
    """Return the command that adds all entries of *state* again, with what became of them and their live summaries.

    It adds those that were removed since the last clear no more. *new_id* returns ids of writes and compactions.
    """
    state = end_of_batch(state)
    present = [item for item in history.current() if item.status != "removed"]
    exported = {item["id"]: item for item in export_state("", state, history)["summaries"]}
    by_id = {item.entry_id: place for place, item in enumerate(present)}
    hidden: set[int] = set()
    summaries = []
    for summary in state.summaries.live:
        found = exported[summary.summary_id]
        covered = tuple(sorted(by_id[entry_id] for entry_id in found["originalEntryIds"]))
        hides = not found.get("overlay", False) and any(present[place].status != "active" for place in covered)
        hidden.update(covered if hides else ())
        summaries.append(
            ImportedSummary(
                compaction_id=new_id(),
                entries=covered,
                hides=hides,
                summary_id=summary.summary_id,
                key=summary.key,
                text=summary.text,
                tokens=summary.tokens,
                tokens_before=summary.tokens_before,
                tokenizer=summary.tokenizer,
                created_at=summary.created_at,
                starts_at=summary.starts_at,
                ends_at=summary.ends_at,
                block=summary.block,
                place=found.get("place"),
                model=summary.model,
                trust=summary.trust,
            )
        )
    left = {place: item.status == "erased" for place, item in enumerate(present) if item.status != "active"}
    summaries += without_summary(present, {place: left[place] for place in left.keys() - hidden}, new_id)
    batches = {write_id: new_id() for write_id in dict.fromkeys(item.write_id for item in present)}
    entries = tuple(_again(item, batches[item.write_id], state) for item in present)
    return ReplaceState(new_id(), entries, tuple(summaries), versions=tuple(item.version for item in present))


def without_summary(
    entries: Sequence[PastEntry | EntryAdded], left: Mapping[int, bool], new_id: Callable[[], str]
) -> list[ImportedSummary]:
    """Return what stands for the *entries* that have *left*: their places, each with whether it was erased."""
    found = []
    for erased in sorted({*left.values()}):
        places = tuple(sorted(place for place in left if left[place] is erased))
        tokens = sum(entries[place].tokens for place in places)
        found.append(
            ImportedSummary(compaction_id=new_id(), entries=places, hides=True, erases=erased, tokens_before=tokens)
        )
    return found


def _again(entry: PastEntry, write_id: str, state: SessionState) -> EntryAdded:
    flags = state.working.flags
    return EntryAdded(
        write_id=write_id,
        entry_id=entry.entry_id,
        kind=entry.kind,
        role=entry.role,
        content=entry.content,
        tokens=entry.tokens,
        tokenizer=entry.tokenizer,
        fallback=entry.fallback,
        data=entry.data,
        tool_name=entry.tool_name,
        tool_call_id=entry.tool_call_id,
        tool_status=entry.tool_status,
        arguments=entry.arguments,
        created_at=entry.created_at,
        metadata=entry.metadata,
        facts=entry.facts,
        persisted_at=flags.persisted_at(entry.version),
        extracted=ranges.contains(flags.extracted, entry.version),
        past=True,
    )
