"""Measure one memory config on one session: the tokens shown at each turn, and the evidence for questions. Pure."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal, TypeAlias
from uuid import UUID

import msgspec

from ledger.backtest.budgets import with_budget
from ledger.backtest.questions import Question, Transcript
from ledger.backtest.shown import Follower
from ledger.events import EntryAdded, RecordedEvent
from ledger.prices import Prices, Spending, spending
from ledger.session.state import SESSION, SessionState
from ledger.session.views import window_of
from ledger.tokenizers import TOKENIZERS
from ledger.what_if.answers import cache_of
from ledger.what_if.replay import Replayed, replay
from projections import ranges
from projections.config import MemoryConfig
from projections.history import HISTORY
from projections.retrieved import hints_of, homes_of
from projections.strategies.recall import Recall
from projections.word_index import WordIndex

#: The source of summaries: the heuristic, or the record with placeholders where it has none (R-WIF-5).
Summaries: TypeAlias = Literal["heuristic", "estimate"]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """How many pieces of evidence the questions have, and how many are shown, summarized or found."""

    evidence: int = 0
    unplaced: int = 0
    in_window: int = 0
    in_summaries: int = 0
    found_at_5: int = 0
    found_at_10: int = 0
    #: (budget, tokens shown in all questions, pieces of evidence in the window)
    by_budget: tuple[tuple[int, int, int], ...] = ()
    questions: int = 0
    tokens: int = 0


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One session under one config; *shown* has the tokens of the window at each model call, in order."""

    session: str
    config: str
    shown: tuple[int, ...]
    split_pairs: int
    failed: int
    spent: Spending
    asked: Asked = Asked()


class Needed(msgspec.Struct, frozen=True):
    """A question, the versions of each piece of its evidence, and what a search for it finds, best first.

    *left_out* pieces of its evidence are not counted.
    """

    question: str
    evidence: tuple[frozenset[int], ...]
    found: tuple[int, ...]
    left_out: int = 0


def needed_for(questions: Sequence[Question], events: Sequence[RecordedEvent], *, exact: bool = False) -> list[Needed]:
    """Return where the evidence is, among the entries since the last clear that were not removed.

    *exact* leaves out evidence that is neither an entry's id nor a literal quote.
    """
    if not questions:
        return []
    recorded = [event for event in events if not event.type.startswith("compaction.")]
    past = [item for item in HISTORY.fold(recorded).current() if item.status != "removed"]
    index = WordIndex((entry.version, entry.content) for entry in past)
    transcript = Transcript(past)
    needed = []
    for question in questions:
        places = [transcript.places(piece, exact=exact) for piece in question.evidence]
        counted = tuple(versions for versions in places if versions or not exact)
        found = tuple(version for version, _ in index.search(question.question, 10))
        needed.append(Needed(question.question, counted, found, len(places) - len(counted)))
    return needed


def measure(
    session: str,
    events: Sequence[RecordedEvent],
    name: str,
    config: MemoryConfig,
    *,
    prices: Prices,
    needed: Sequence[Needed] = (),
    summaries: Summaries = "heuristic",
    model: str | None = None,
    budgets: Sequence[int] = (),
) -> Measured:
    """Return the measures of *config*, called *name*, on the session of *events*."""
    follower = Follower(events, config)
    cache = None if summaries == "heuristic" else cache_of(events)
    done = replay(events, config, cache, model=model, on_miss="estimate", observe=follower.observe)
    asked = Asked()
    if needed:
        curve = []
        for tokens in budgets:
            limited = with_budget(config, tokens)
            if limited is not None:
                again = replay(events, limited, cache, model=model, on_miss="estimate") if limited.compactions else done
                answers = _ask(again, limited, needed)
                curve.append((tokens, answers.tokens, answers.in_window))
        asked = msgspec.structs.replace(_ask(done, config, needed), by_budget=tuple(curve))
    return Measured(
        session=session,
        config=name,
        shown=tuple(follower.shown),
        split_pairs=follower.split_pairs,
        failed=done.failed,
        spent=spending(done.completed, prices),
        asked=asked,
    )


def _ask(done: Replayed, config: MemoryConfig, needed: Sequence[Needed]) -> Asked:
    """Ask each question at the end of the replay, as the next user message."""
    state = msgspec.structs.replace(done.state, config=config)
    recalls = isinstance(config.window, Recall)
    index = WordIndex((entry.version, entry.content) for entry in done.entries.values()) if recalls else WordIndex()
    homes = homes_of(done.entries.values()) if recalls else {}
    behind = entries_behind(done)
    counts: Counter[str] = Counter(questions=len(needed))
    for item in needed:
        hits = index.search(item.question, config.window.top_k) if isinstance(config.window, Recall) else []
        window = window_of(_with_question(state, item.question), hints_of(hits, homes))
        counts["tokens"] += window.tokens
        shown = {entry.version for entry in window.entries}
        in_summaries_versions = {
            version for summary in window.summaries for version in behind.get(summary.summary_id, ())
        }
        counts["unplaced"] += item.left_out
        for versions in item.evidence:
            counts["evidence"] += 1
            counts["unplaced"] += not versions
            counts["in_window"] += bool(versions & shown)
            counts["in_summaries"] += bool(versions & in_summaries_versions)
            counts["found_at_5"] += bool(versions & set(item.found[:5]))
            counts["found_at_10"] += bool(versions & set(item.found))
    return msgspec.convert(counts, Asked)


def _with_question(state: SessionState, question: str) -> SessionState:
    count = TOKENIZERS[state.config.tokenizer].count_text(question)
    payload = EntryAdded(
        write_id="question",
        entry_id="question",
        kind="message",
        role="user",
        content=question,
        tokens=count.tokens,
        tokenizer=count.tokenizer,
        fallback=count.fallback,
    )
    event = RecordedEvent(
        state.version + 1, state.version + 1, UUID(int=0), state.updated_us, state.updated_us, "", payload
    )
    return SESSION.evolve(state, event)


def entries_behind(done: Replayed) -> dict[str, frozenset[int]]:
    """Return the entries behind each summary, also through the summaries it folds."""
    behind: dict[str, frozenset[int]] = {}
    for completed in done.completed:
        if completed.summary_id is not None:
            folded = [behind.get(summary_id, frozenset()) for summary_id in completed.folds]
            behind[completed.summary_id] = frozenset(ranges.versions(completed.covered)).union(*folded)
    return behind
