"""What a search found: a text with its place, its score and the entries around it."""

from collections.abc import Sequence

import msgspec

from ledger.events import KnowledgeSource
from ledger.ports.search_index import PieceHit
from projections.entries import Entry
from projections.summaries import Summary
from projections.window import Knowledge
from projections.words.searchable_text import SearchKind
from projections.words.word_index import Why


class SearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """A text that a search found: its place, its score, and the entries around it.

    *text* is the part that matched, and *first_character* is where it starts. *entry* is set for kind ``entry``,
    *summary* for ``summary`` and ``knowledge``. *before* and *after* are entries of the same session, oldest first.
    *why* says what it was found by.
    """

    session_id: str
    user_id: str | None
    version: int
    kind: SearchKind
    score: float
    text: str
    first_character: int = 0
    entry: Entry | None = None
    summary: Summary | None = None
    before: tuple[Entry, ...] = ()
    after: tuple[Entry, ...] = ()
    why: Why = Why()


def result_at(
    hit: PieceHit, entry: Entry | None, summary: Summary | None, ordered: Sequence[Entry], around: int
) -> SearchResult | None:
    """Return what *hit* found, with up to *around* entries of *ordered* on each side; None if its text is gone."""
    whole = entry.content if hit.kind == "entry" and entry else summary.text if summary else None
    if whole is None:
        return None
    is_entry = hit.kind == "entry"
    near = ordered if is_entry and around else ()
    return SearchResult(
        session_id=hit.session_id,
        user_id=hit.user_id or None,
        version=hit.version,
        kind=hit.kind,
        score=hit.score,
        text=whole[hit.first_character : hit.first_character + hit.characters],
        first_character=hit.first_character,
        entry=entry if is_entry else None,
        summary=None if is_entry else summary,
        before=tuple([other for other in near if other.version < hit.version][-around:]),
        after=tuple([other for other in near if other.version > hit.version][:around]),
    )


def as_knowledge(found: SearchResult) -> Knowledge:
    """Return a found piece of a summary as a window shows it."""
    source = KnowledgeSource(
        session_id=found.session_id,
        version=found.version,
        first_character=found.first_character,
        characters=len(found.text),
        user_id=found.user_id or "",
    )
    return Knowledge(found.text, source)
