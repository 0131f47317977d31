"""The searchable text of a session, as a fold: the pieces of text that each event adds and removes. Pure.

A piece refers to its text: the event, and the characters of its text. Entries that a compaction moved out of the
window can still be found; removed and cleared ones cannot; erased ones only on request (R-REC-4). Knowledge is a
summary, split into pieces for a knowledge base; it outlives a clear, but not the life of the session (R-KB-3).

A fork has what its parent had at the fork point, and changes it for itself only (R-REC-1). It does not inherit
knowledge, which every session of the namespace finds.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from ledger.events import (
    CompactionCompleted,
    EntriesReturned,
    EntryAdded,
    EntryEdited,
    EntryRemoved,
    ForkedFrom,
    JsonObject,
    Ranges,
    RebuildCompleted,
    RecordedEvent,
    SessionCleared,
    SessionOpened,
)
from projections.entries import Entry
from projections.values import ranges
from projections.words.languages import SearchLanguage
from projections.words.words import TextWords, index_words

PIECE_CHARACTERS: Final = 50_000
"""Longer texts are indexed in parts, because the size of a search vector is limited."""

#: Where the metadata of an entry names its speaker, and describes what it shows; all of it is indexed.
_NAMES: Final = ("name", "speaker", "author")
_CAPTIONS: Final = ("caption", "title", "alt")

SearchKind: TypeAlias = Literal["entry", "summary", "knowledge"]


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a text: that of the entry at *version*, or of the summary completed there.

    *item_id* is the entry's or summary's id; pieces of one text count from 0. *names* are those of the speaker, and
    *day* is when it was said.
    """

    version: int
    kind: SearchKind
    number: int
    position: int
    first_character: int
    text: str
    item_id: str
    names: str = ""
    day: date | None = None
    collection: str | None = None


class AddPieces(msgspec.Struct, frozen=True):
    """Pieces that search can now find."""

    pieces: tuple[Piece, ...]


class Withdraw(msgspec.Struct, frozen=True):
    """The entry at *version* was removed, or its text is about to be replaced."""

    version: int


class Erase(msgspec.Struct, frozen=True):
    """Entries were erased from the window: search finds them only on request."""

    covered: Ranges


class Fold(msgspec.Struct, frozen=True):
    """A newer summary replaces these and their knowledge."""

    summary_ids: tuple[str, ...]


class Forget(msgspec.Struct, frozen=True):
    """The session was cleared; if it *ended*, its knowledge is removed too."""

    ended: bool


class Inherit(msgspec.Struct, frozen=True):
    """The session is opened as a fork, at *position*, unless it is a copy with a history of its own."""

    position: int


SearchChange: TypeAlias = AddPieces | Withdraw | Erase | Fold | Forget | Inherit


def changes(event: RecordedEvent, pieces: Iterable[Piece] = ()) -> list[SearchChange]:
    """Return how *event* changes what can be found, in order.

    *pieces* are those that other events say: for a knowledge base those of its summary, or else `pieces_again`.
    """
    match event.payload:
        case SessionOpened(forked_from=ForkedFrom()):
            return [Inherit(event.position)]
        case SessionOpened() if event.version > 1:  # the life before it has ended or expired
            return [Forget(ended=True)]
        case EntryAdded():
            return [AddPieces(tuple(_pieces_of(event, event)))]
        case EntryEdited(entry_version=version):
            return [Withdraw(version), AddPieces(tuple(pieces))]
        case EntryRemoved(entry_version=version):
            return [Withdraw(version)]
        case CompactionCompleted() as payload:
            return list(_compacted(event, payload, tuple(pieces)))
        case RebuildCompleted(retired=retired):
            return [Fold(retired)] if retired else []
        case EntriesReturned(entries=back):
            # pieces that were never erased take the place of those that were
            withdrawn = [Withdraw(each.version) for each in back if each.erased]
            return [*withdrawn, AddPieces(tuple(pieces))] if withdrawn else []
        case SessionCleared(ended=ended):
            return [Forget(ended)]
        case _:
            return []


def needs(event: RecordedEvent) -> list[int]:
    """Return the versions of the events that `pieces_again` reads for *event*, ascending."""
    match event.payload:
        case EntryEdited(entry_version=version):
            return [version]
        case EntriesReturned(entries=back):
            return sorted({at for each in back if each.erased for at in (each.version, each.edited_version or 0) if at})
        case _:
            return []


def pieces_again(event: RecordedEvent, earlier: Mapping[int, RecordedEvent]) -> list[Piece]:
    """Return the pieces of an edited entry, or those of the erased entries that *event* returns.

    An edit says the new text only, *earlier* says what else the entry is found by; of what is missing there the text
    alone is found.
    """
    match event.payload:
        case EntryEdited(entry_version=version):
            return list(_pieces_of(event, earlier.get(version)))
        case EntriesReturned(entries=back):
            returned = [
                (earlier.get(each.edited_version or each.version), each.version) for each in back if each.erased
            ]
            return [piece for text, version in returned if text for piece in _pieces_of(text, earlier.get(version))]
        case _:
            return []


def removes(change: SearchChange, piece: Piece) -> bool:
    """Tell whether *change* removes *piece* from the session that it changes."""
    match change:
        case Withdraw(version=version):
            return piece.kind == "entry" and piece.version == version
        case Fold(summary_ids=folded):
            return piece.kind != "entry" and piece.item_id in folded
        case Forget(ended=ended):
            return ended or piece.kind != "knowledge"
        case _:
            return False


def erases(change: SearchChange, piece: Piece) -> bool:
    """Tell whether *change* erases *piece* from the window of the session that it changes."""
    return isinstance(change, Erase) and piece.kind == "entry" and ranges.contains(change.covered, piece.version)


class PieceLife(msgspec.Struct, frozen=True):
    """A piece, and the versions of its session at which it was added, erased and removed."""

    piece: Piece
    added_in: int
    erased_in: int | None = None
    removed_in: int | None = None


def lives(changed: Iterable[tuple[int, SearchChange]]) -> list[PieceLife]:
    """Return the pieces that a session added, given its changes in order, each with the version of its event."""
    there: dict[int, list[PieceLife]] = {}
    ended: list[PieceLife] = []
    for at, change in changed:
        if isinstance(change, AddPieces):
            for piece in change.pieces:
                there.setdefault(piece.version, []).append(PieceLife(piece, at))
            continue
        concerned = [change.version] if isinstance(change, Withdraw) else list(there)
        for version in concerned:
            own = there.pop(version, [])
            ended += [replace(life, removed_in=at) for life in own if removes(change, life.piece)]
            left = [life for life in own if not removes(change, life.piece)]
            if left:
                there[version] = [
                    replace(life, erased_in=at) if life.erased_in is None and erases(change, life.piece) else life
                    for life in left
                ]
    return [*ended, *(life for own in there.values() for life in own)]


def _compacted(
    event: RecordedEvent, payload: CompactionCompleted, knowledge: tuple[Piece, ...]
) -> Iterator[SearchChange]:
    if payload.effect == "erase":
        yield Erase(payload.covered)
    if payload.folds:
        yield Fold(payload.folds)
    if payload.summary_id is not None:
        found = _pieces(event.version, event.position, payload.summary_id, payload.text, "summary")
        yield AddPieces((*found, *knowledge))


def words_of(entry: Entry, language: SearchLanguage) -> TextWords:
    """Return the words under which search finds *entry*."""
    text = _text(entry.content, entry.tool_name, entry.metadata)
    names = _words_in(entry.metadata, _NAMES)
    return index_words(text, names=names, day=_day(entry.created_at), language=language)


def words_of_piece(piece: Piece, language: SearchLanguage) -> TextWords:
    """Return the words under which search finds *piece*."""
    return index_words(piece.text, names=piece.names, day=piece.day, language=language)


def _pieces_of(newest: RecordedEvent, first: RecordedEvent | None) -> Iterator[Piece]:
    """Yield the pieces of the entry that *first* added, in its place, with the text that *newest* gives it."""
    added = first.payload if first is not None else None
    match newest.payload:
        case EntryEdited(entry_version=version, entry_id=entry_id, content=content):
            pass
        case EntryAdded(entry_id=entry_id, content=content):
            version = newest.version
        case _:
            return
    if first is None or not isinstance(added, EntryAdded):  # it cannot be read
        yield from _pieces(version, newest.position, entry_id, content)
        return
    text = _text(content, added.tool_name, added.metadata)
    names = _words_in(added.metadata, _NAMES)
    day = _day(added.created_at or first.recorded_at)
    for piece in _pieces(version, first.position, entry_id, text):
        yield replace(piece, names=names, day=day)


def _text(content: str, tool_name: str | None, metadata: JsonObject | None) -> str:
    return "\n".join(filter(None, (content, tool_name, _words_in(metadata, _CAPTIONS))))


def _words_in(metadata: JsonObject | None, keys: Sequence[str]) -> str:
    """Return the texts, and the texts in lists, that *metadata* has at *keys*."""
    found: list[Any] = []
    for value in map((metadata or {}).get, keys):
        found += value if isinstance(value, list) else [value]
    return "\n".join(text for text in found if isinstance(text, str))


def _day(moment: datetime) -> date:
    return moment.astimezone(UTC).date()


def _pieces(version: int, position: int, item_id: str, text: str, kind: SearchKind = "entry") -> Iterator[Piece]:
    for number, first in enumerate(range(0, max(1, len(text)), PIECE_CHARACTERS)):
        yield Piece(
            version=version,
            kind=kind,
            number=number,
            position=position,
            first_character=first,
            text=text[first : first + PIECE_CHARACTERS],
            item_id=item_id,
        )
