"""Ask questions at the end of a replay: what the model is shown, and how much of the evidence. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

import msgspec

from ledger.events import EntryAdded, RecordedEvent
from ledger.llm.tokenizers import TOKENIZERS
from ledger.replay.backtest.questions import Question, Transcript
from ledger.replay.what_if.replayed import Replayed
from ledger.session.evolve import SESSION
from ledger.session.state import SessionState
from ledger.session.views import window_of
from projections.content_facts import facts_of
from projections.log.history import HISTORY
from projections.memory_config.config import MemoryConfig
from projections.strategies.recall import Recall
from projections.strategies.retrieved import hints_of, homes_of, index_of
from projections.values import ranges
from projections.words.ranking import DEFAULT_RANKING
from projections.words.word_index import WordIndex


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """How many pieces of evidence the questions of one category have, and how many are shown, summarized or found."""

    category: str | None = None
    questions: int = 0
    evidence: int = 0
    unplaced: int = 0
    in_window: int = 0
    in_summaries: int = 0
    found_at_5: int = 0
    found_at_10: int = 0
    #: Tokens shown in all questions, and those of recalled entries that are no evidence.
    tokens: int = 0
    wasted_tokens: int = 0
    #: Entries recalled for questions that have evidence, and how many of them are evidence.
    recalled: int = 0
    recalled_evidence: int = 0
    #: (budget, tokens shown in all questions, pieces of evidence in the window)
    by_budget: tuple[tuple[int, int, int], ...] = ()


class Needed(msgspec.Struct, frozen=True):
    """A question, the versions of each piece of its evidence, and what a search for it finds, best first.

    *left_out* pieces of its evidence are not counted.
    """

    question: str
    evidence: tuple[frozenset[int], ...]
    found: tuple[int, ...]
    left_out: int = 0
    category: str | None = None


class Seen(msgspec.Struct, frozen=True):
    """What the model is shown with a question: tokens, entries, entries behind summaries, and tokens by recalled entry.

    All entries are versions.
    """

    tokens: int
    shown: frozenset[int]
    summarized: frozenset[int]
    recalled: Mapping[int, int]


def needed_for(questions: Sequence[Question], events: Sequence[RecordedEvent], *, exact: bool = False) -> list[Needed]:
    """Return where the evidence is, among the entries since the last clear that were not removed.

    *exact* leaves out evidence that is neither an entry's id nor a literal quote.
    """
    if not questions:
        return []
    recorded = [event for event in events if not event.type.startswith("compaction.")]
    past = [item for item in HISTORY.fold(recorded).current() if item.status != "removed"]
    index = index_of(past)
    transcript = Transcript(past)
    needed = []
    for question in questions:
        places = [transcript.places(piece, exact=exact) for piece in question.evidence]
        counted = tuple(versions for versions in places if versions or not exact)
        found = tuple(version for version, _ in index.search(question.question, 10))
        needed.append(Needed(question.question, counted, found, len(places) - len(counted), question.category))
    return needed


def see(done: Replayed, config: MemoryConfig, questions: Sequence[str]) -> Iterator[Seen]:
    """Yield what is shown with each of *questions*, asked at the end of the replay as the next user message."""
    state = msgspec.structs.replace(done.state, config=config)
    recall = config.window if isinstance(config.window, Recall) else None
    index, homes = (index_of(done.entries.values()), homes_of(done.entries.values())) if recall else (WordIndex(), {})
    behind = entries_behind(done)
    for question in questions:
        hits = index.explain(question, recall.top_k, recall.ranking or DEFAULT_RANKING) if recall else []
        window = window_of(_with_question(state, question), hints_of(hits, homes))
        recalled = {version for version, _ in window.recalled}
        yield Seen(
            window.tokens,
            frozenset(entry.version for entry in window.entries),
            frozenset().union(*(behind.get(summary.summary_id, frozenset()) for summary in window.summaries)),
            {entry.version: entry.tokens for entry in window.entries if entry.version in recalled},
        )


def ask(done: Replayed, config: MemoryConfig, needed: Sequence[Needed]) -> list[Asked]:
    """Return what is shown and found, by category in the order in which the questions name them."""
    counted: dict[str | None, Counter[str]] = {}
    for item, seen in zip(needed, see(done, config, [item.question for item in needed]), strict=True):
        counts = counted.setdefault(item.category, Counter())
        counts["questions"] += 1
        counts["tokens"] += seen.tokens
        counts["unplaced"] += item.left_out
        evidence = frozenset().union(*item.evidence)
        counts["wasted_tokens"] += sum(tokens for version, tokens in seen.recalled.items() if version not in evidence)
        if item.evidence:
            counts["recalled"] += len(seen.recalled)
            counts["recalled_evidence"] += len(evidence & seen.recalled.keys())
        for versions in item.evidence:
            counts["evidence"] += 1
            counts["unplaced"] += not versions
            counts["in_window"] += bool(versions & seen.shown)
            counts["in_summaries"] += bool(versions & seen.summarized)
            counts["found_at_5"] += bool(versions & set(item.found[:5]))
            counts["found_at_10"] += bool(versions & set(item.found))
    return [msgspec.convert({**counts, "category": category}, Asked) for category, counts in counted.items()]


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
        facts=facts_of(question, None, None),
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
