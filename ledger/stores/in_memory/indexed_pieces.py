"""A piece of text in the in-memory index, and what a fork inherits."""

from collections.abc import Mapping
from uuid import UUID

import msgspec

from ledger.events.ids import Stream
from ledger.ports.search_index import PieceHit, PieceKey
from projections.words.searchable_text import Piece, SearchChange


class IndexedPiece(msgspec.Struct, frozen=True):
    """A piece of a stream, and the versions of the stream at which it was added, erased and removed."""

    stream: Stream
    piece: Piece
    added_in: int
    erased_in: int | None = None
    removed_in: int | None = None

    @property
    def key(self) -> PieceKey:
        return self.stream.stream_id, self.piece.version, self.piece.kind, self.piece.number, self.added_in

    def is_there(self, until: int | None) -> bool:
        """Tell whether its stream has it at version *until*, or now."""
        if until is None:
            return self.removed_in is None
        return self.added_in <= until and (self.removed_in is None or self.removed_in > until)

    def is_erased(self, until: int | None) -> bool:
        """Tell whether it is erased in its stream at version *until*, or now."""
        return self.erased_in is not None and (until is None or self.erased_in <= until)

    def as_hit(self, stream: Stream, score: float) -> PieceHit:
        """Return it as a hit in the session *stream*, with *score*."""
        piece = self.piece
        return PieceHit(
            stream_id=stream.stream_id,
            user_id=stream.user_id,
            session_id=stream.session_id,
            origin_id=self.stream.stream_id,
            added_in=self.added_in,
            version=piece.version,
            kind=piece.kind,
            piece=piece.number,
            position=piece.position,
            first_character=piece.first_character,
            characters=len(piece.text),
            score=score,
        )


class Fork(msgspec.Struct):
    """A fork: up to which version it inherits each ancestor, and what it did to inherited versions, when."""

    stream: Stream
    until: dict[UUID, int]
    changes: list[tuple[int, SearchChange]] = []

    def changes_of(self, origin_id: UUID, forks: Mapping[UUID, "Fork"]) -> list[SearchChange]:
        """Return what this fork, and those between it and *origin_id*, did to the pieces of *origin_id*."""
        limits = [(self, None), *((forks[each], until) for each, until in self.until.items() if each in forks)]
        return [
            change
            for fork, until in limits
            for version, change in fork.changes
            if version > self.until[origin_id] and (until is None or version <= until)
        ]
