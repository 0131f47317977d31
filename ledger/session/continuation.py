"""What strategies had counted, beside entries and summaries, so that they go on after an import or a restore.

Entries get other versions there. In between they are numbered by their *places*: from 1, among those that come along.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from ledger.events import (
    Continuation,
    CountedAnswer,
    CountedFailures,
    CountedItems,
    JsonObject,
    Numbered,
    Ranges,
    StrategyProgress,
)
from ledger.session.evolve import end_of_batch, progress_from
from ledger.session.state import SessionState
from projections.compactions import Compactions
from projections.items import Items, Numbering
from projections.strategies import COMPACTIONS
from projections.strategies.interactions import Triggers
from projections.values import ranges


def continuation_of(state: SessionState, versions: Sequence[int]) -> Continuation:
    """Return what was counted up to *state*, by places; *versions* are those of the entries that come along."""
    state = end_of_batch(state)
    counted, config = state.compactions, state.config
    keys = {compaction.key for compaction in config.compactions}
    marked = {compaction.key for compaction in config.compactions if isinstance(compaction, Triggers)}
    progress = tuple(
        StrategyProgress(config=compaction.model_dump(mode="json"), folded=folded_json(folded))
        for compaction in config.compactions
        if (folded := state.progress_of(compaction.key)) is not None and _goes_along(compaction.type)
    )
    counts_items = bool(progress) or config.window.type == "rolling"
    found = Continuation(
        items=counted_items(state.items) if counts_items else None,
        watermarks=tuple(sorted((key, mark) for key, mark in counted.watermarks if key in marked)),
        failures=tuple(
            sorted(
                (failed for failed in counted_failures(counted) if failed.key in keys),
                key=lambda failed: (failed.key, failed.block),
            )
        ),
        progress=progress,
    )
    places = renumbered(found, lambda version: bisect_left(versions, version) + 1, among=versions)
    return replace(places, watermarks=tuple(mark for mark in places.watermarks if mark[1]))


def renumbered(counted: Continuation, at: Callable[[int], int], *, among: Sequence[int]) -> Continuation:
    """Return *counted* with other numbers: ``at(n)`` is that of the first entry from *n* on.

    *among* are the numbers of the entries that come along, ascending.
    """

    def covered(pairs: Ranges) -> Ranges:
        runs = (among[bisect_left(among, first) : bisect_right(among, last)] for first, last in pairs)
        return ranges.ranges_of(at(number) for run in runs for number in run)

    def there(number: int) -> bool:
        index = bisect_left(among, number)
        return index < len(among) and among[index] == number

    def numbered(unit: Numbered) -> Numbered:
        strays = (
            (at(number), at(home) if home else 0)  # 0: its item is not complete yet
            for number, home in unit.strays
            if there(number)
        )
        return Numbered(starts=tuple(map(at, unit.starts)), dropped=unit.dropped, strays=tuple(strays))

    items = counted.items
    return Continuation(
        items=items
        and replace(
            items,
            interactions=numbered(items.interactions),
            messages=numbered(items.messages),
            waiting=tuple((at(number), abandoned) for number, abandoned in items.waiting if there(number)),
        ),
        watermarks=tuple((key, at(mark + 1) - 1) for key, mark in counted.watermarks),
        failures=counted.failures,
        progress=tuple(other for each in counted.progress if (other := _progress(each, covered)) is not None),
    )


def entries_of_blocks(state: SessionState) -> set[int]:
    """Return the versions that the progress of strategies names, also of entries that have left the window since."""
    named: set[int] = set()

    def note(covered: Ranges) -> Ranges:
        named.update(ranges.versions(covered))
        return covered

    for compaction in state.config.compactions:
        fold, folded = COMPACTIONS[compaction.type].progress, state.progress_of(compaction.key)
        if folded is not None and fold is not None and fold.renumbered is not None:
            fold.renumbered(folded, note)
    return named


def _goes_along(strategy: str) -> bool:
    fold = COMPACTIONS[strategy].progress
    return fold is not None and fold.renumbered is not None


def _progress(progress: StrategyProgress, covered: Callable[[Ranges], Ranges]) -> StrategyProgress | None:
    """Return *progress* with other numbers; None if no strategy of this installation goes on from it."""
    read = progress_from(progress)
    fold = COMPACTIONS[read.config.type].progress if read else None
    if read is None or fold is None or fold.renumbered is None:
        return None
    return replace(progress, folded=folded_json(fold.renumbered(read.folded, covered)))


def folded_json(folded: msgspec.Struct) -> JsonObject:
    """Return *folded* as it is read from the log."""
    plain: JsonObject = msgspec.json.decode(msgspec.json.encode(folded))
    return plain


def counted_items(items: Items) -> CountedItems:
    """Return *items*, as of the end of a batch, as they are recorded."""
    answer = items.answer
    return CountedItems(
        interactions=_numbered(items.interactions),
        messages=_numbered(items.messages),
        waiting=tuple((call.version, call.abandoned) for call in items.waiting),
        closed=items.closed,
        counted=items.counted,
        answer=None if answer is None else CountedAnswer(answer.calls, answer.thinks, answer.waits),
    )


def counted_failures(counted: Compactions) -> tuple[CountedFailures, ...]:
    """Return the failures that a next attempt waits for, as they are recorded."""
    return tuple(
        CountedFailures(
            key=failed.key,
            block=failed.block,
            count=failed.count,
            entries_since=counted.entries - failed.seen_entries,
            reason=failed.reason,
        )
        for failed in counted.failures
        if not failed.replaced
    )


def _numbered(unit: Numbering) -> Numbered:
    starts = tuple(unit.starts[index] for index in range(len(unit.starts)))
    return Numbered(starts=starts, dropped=unit.dropped, strays=unit.strays)
