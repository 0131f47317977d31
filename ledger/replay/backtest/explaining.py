"""Why a piece of evidence was not shown: its rank in the search, and what outranked it. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from ledger.replay.backtest.asking import Seen, see
from ledger.replay.backtest.backtest_run import BacktestSession, Plan
from ledger.replay.backtest.questions import Question, Transcript
from ledger.replay.what_if.config_replay import replay
from ledger.replay.what_if.recorded_answers import cache_of
from projections.entries import Entry
from projections.log.history import HISTORY
from projections.strategies.retrieved import index_of
from projections.words.word_index import WordIndex

#: Where a model finds a piece of evidence.
EvidencePlace: TypeAlias = Literal["window", "summary", "lost"]
_ABOVE: Final = 10


class Ranked(msgspec.Struct, frozen=True):
    """An entry that the search ranks at *rank*, from 1, and the words that it shares with the question."""

    rank: int
    version: int
    score: float
    text: str
    words: tuple[str, ...]
    is_evidence: bool


class ExplainedPiece(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of evidence: where each config shows it, its rank, and the first ten that outrank it.

    A piece that no entry has is lost everywhere; *found* is None if it shares no word with the question.
    """

    evidence: str
    version: int | None
    text: str
    places: dict[str, EvidencePlace]
    found: Ranked | None
    above: tuple[Ranked, ...]


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """A question and its evidence; *matches* entries share a word with it."""

    session: str
    question: str
    category: str | None
    matches: int
    pieces: tuple[ExplainedPiece, ...]


def explain(session: BacktestSession, plan: Plan, questions: Sequence[Question]) -> list[Explained]:
    """Return where the evidence of those *questions* that are about *session* is shown, and what outranked it."""
    asked = [question for question in questions if question.session == session.name]
    if not asked:
        return []
    recorded = [event for event in session.events if not event.type.startswith("compaction.")]
    past = {item.version: item for item in HISTORY.fold(recorded).current() if item.status != "removed"}
    index = index_of(past.values())
    transcript = Transcript(past.values())
    cache = None if plan.summaries == "heuristic" else cache_of(session.events)
    seen = {
        name: list(
            see(
                replay(session.events, config, cache, model=plan.model, on_miss="estimate"),
                config,
                [question.question for question in asked],
            )
        )
        for name, config in plan.configs
    }
    explained = []
    for number, question in enumerate(asked):
        places = [transcript.places(piece, exact=plan.exact) for piece in question.evidence]
        ranked = _ranked(question.question, past, index, frozenset().union(*places))
        shown = {name: answers[number] for name, answers in seen.items()}
        pieces = [
            _piece(piece, versions, ranked, past, shown)
            for piece, versions in zip(question.evidence, places, strict=True)
        ]
        explained.append(
            Explained(
                session=session.name,
                question=question.question,
                category=question.category,
                matches=len(ranked),
                pieces=tuple(pieces),
            )
        )
    return explained


def _piece(
    evidence: str,
    versions: frozenset[int],
    ranked: Sequence[Ranked],
    past: Mapping[int, Entry],
    shown: Mapping[str, Seen],
) -> ExplainedPiece:
    found = next((entry for entry in ranked if entry.version in versions), None)
    version = found.version if found else min(versions, default=None)
    return ExplainedPiece(
        evidence=evidence,
        version=version,
        text="" if version is None else past[version].content,
        places={name: _place(versions, seen) for name, seen in shown.items()},
        found=found,
        above=tuple(ranked[: min(found.rank - 1, _ABOVE) if found else _ABOVE]),
    )


def _place(versions: frozenset[int], seen: Seen) -> EvidencePlace:
    if versions & seen.shown:
        return "window"
    return "summary" if versions & seen.summarized else "lost"


def _ranked(question: str, past: Mapping[int, Entry], index: WordIndex, evidence: frozenset[int]) -> list[Ranked]:
    return [
        Ranked(rank, version, why.score, past[version].content, why.words, version in evidence)
        for rank, (version, why) in enumerate(index.explain(question, len(past)), start=1)
    ]
