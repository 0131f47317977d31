"""What a page of changes to the search index comes to, so that it is written in a few statements. Pure.

A piece that is added and removed on one page is never written. What a change does to pieces of earlier pages does not
depend on the order of the changes: those that are removed are removed, and the rest of the erased ones is erased.
"""

from collections.abc import Iterable
from typing import NamedTuple, assert_never
from uuid import UUID

from ledger.ports.search_index import PieceKey, StreamChange
from projections import ranges
from projections.search import AddPieces, Erase, Fold, Forget, Piece, Withdraw


class NetChanges(NamedTuple):
    """The pieces to add, each with its stream and whether it is erased, and what happens to earlier ones.

    *erased* are versions from first to last, *withdrawn* are versions of entries, *folded* are ids of summaries, and
    *forgotten* are streams, true if their knowledge is removed too.
    """

    added: list[tuple[UUID, Piece, bool]]
    erased: list[tuple[UUID, int, int]]
    withdrawn: list[tuple[UUID, int]]
    folded: list[tuple[UUID, str]]
    forgotten: list[tuple[UUID, bool]]


def net_changes(changes: Iterable[StreamChange]) -> NetChanges:
    """Return what *changes*, in order, come to."""
    net = NetChanges([], [], [], [], [])
    by_stream: dict[UUID, dict[PieceKey, tuple[Piece, bool]]] = {}
    for stream_id, change in ((each.stream_id, each.change) for each in changes):
        added = by_stream.setdefault(stream_id, {})
        match change:
            case AddPieces(pieces=pieces):
                added.update({(stream_id, each.version, each.kind, each.number): (each, False) for each in pieces})
            case Erase(covered=covered):
                net.erased.extend((stream_id, first, last) for first, last in covered)
                for key, (piece, _) in added.items():
                    if piece.kind == "entry" and ranges.contains(covered, piece.version):
                        added[key] = piece, True
            case Withdraw(version=version):
                net.withdrawn.append((stream_id, version))
                _drop(added, [key for key in added if key[1] == version and key[2] == "entry"])
            case Fold(summary_ids=folded):
                net.folded.extend((stream_id, summary_id) for summary_id in folded)
                summaries = {key: piece for key, (piece, _) in added.items() if piece.kind != "entry"}
                _drop(added, [key for key, piece in summaries.items() if piece.item_id in folded])
            case Forget(ended=ended):
                net.forgotten.append((stream_id, ended))
                _drop(added, [key for key in added if ended or key[2] != "knowledge"])
            case _:
                assert_never(change)
    net.added.extend((stream_id, *piece) for stream_id, added in by_stream.items() for piece in added.values())
    return net


def _drop(added: dict[PieceKey, tuple[Piece, bool]], removed: Iterable[PieceKey]) -> None:
    for key in removed:
        del added[key]
