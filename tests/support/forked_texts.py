"""Random histories of sessions and forks whose texts are searched, and what a search of each session may find."""

import random
from collections.abc import Iterable
from typing import NamedTuple
from uuid import UUID

from ledger.events import (
    CompactionCompleted,
    EntryAdded,
    EntryEdited,
    EntryRemoved,
    Event,
    ForkedFrom,
    SessionCleared,
    SessionOpened,
)
from ledger.events.clock import SystemClock
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.ports import Store
from ledger.ports.event_encoding import new_event
from projections.values import ranges
from projections.words import searchable_text
from projections.words.searchable_text import AddPieces, Erase, Fold, Forget, Withdraw
from tests.support.store_requests import append, fork

WORDS = ("apple", "plum", "pear", "fig", "quince", "melon")
USERS = ("", "ann")
_CLOCK = SystemClock()


class Found(NamedTuple):
    """A text, the version of its entry or summary, and the stream and version of the event that gave it."""

    version: int
    kind: str
    text: str
    origin_id: UUID
    added_in: int


class Family:
    """Sessions of a namespace that are written and forked as the *dice* say."""

    def __init__(self, store: Store, namespace: str, dice: random.Random) -> None:
        self._store, self._namespace, self._dice = store, namespace, dice
        self._names = 0
        self.streams: list[Stream] = []

    async def step(self) -> None:
        """Write one event, or start a session or a fork."""
        if not self.streams or self._dice.random() < 0.03:
            await self._open(None)
        elif self._dice.random() < 0.15:
            await self._open(self._dice.choice(self.streams))
        else:
            stream = self._dice.choice(self.streams)
            await self._append(stream, await self._event(stream))

    async def found(self, stream: Stream, *, include_erased: bool = False) -> set[Found]:
        """Return what a search of the session finds, from its own and its parents' events alone."""
        there: dict[tuple[int, str], tuple[Found, str, bool]] = {}
        events = await self._store.events.read_stream(stream)
        earlier = {stored.version: decode(stored) for stored in events}
        for stored in events:
            event = earlier[stored.version]
            for change in searchable_text.changes(event, searchable_text.pieces_again(event, earlier)):
                match change:
                    case AddPieces(pieces=pieces):
                        for piece in pieces:
                            found = Found(piece.version, piece.kind, piece.text, stored.stream_id, stored.version)
                            there[piece.version, piece.kind] = (found, piece.item_id, False)
                    case Withdraw(version=version):
                        there.pop((version, "entry"), None)
                    case Erase(covered=covered):
                        for key, (found, item_id, _) in there.items():
                            if found.kind == "entry" and ranges.contains(covered, found.version):
                                there[key] = (found, item_id, True)
                    case Fold(summary_ids=folded):
                        for key in [key for key, each in there.items() if key[1] != "entry" and each[1] in folded]:
                            del there[key]
                    case Forget():
                        there.clear()
        return {found for found, _, is_erased in there.values() if include_erased or not is_erased}

    async def _open(self, parent: Stream | None) -> None:
        self._names += 1
        user_id = self._dice.choice(USERS)
        stream = Stream.of(self._namespace, f"s{self._names}", user_id)
        version = self._dice.randint(1, (await self._store.events.head(parent))[0]) if parent else 0
        origin = ForkedFrom(session_id=parent.session_id, version=version, user_id=parent.user_id) if parent else None
        opening = SessionOpened(
            write_id=_CLOCK.ulid(),
            namespace=self._namespace,
            user_id=user_id,
            session_id=stream.session_id,
            config={},
            forked_from=origin,
        )
        if parent is None:
            await self._append(stream, opening)
        else:
            await fork(self._store, parent, version, stream, new_event(opening, _CLOCK, ""))
        self.streams.append(stream)

    async def _event(self, stream: Stream) -> Event:
        there = sorted(await self.found(stream, include_erased=True))
        entries = [found for found in there if found.kind == "entry"]
        summaries = [found for found in there if found.kind == "summary"]
        write_id, dice = _CLOCK.ulid(), self._dice
        choice = dice.random()
        if choice < 0.2 and entries:
            entry = dice.choice(entries)
            return EntryEdited(
                write_id=write_id,
                entry_id=f"e{entry.version}",
                entry_version=entry.version,
                content=self._text(),
                tokens=1,
                tokens_before=1,
                tokenizer="approximate",
            )
        if choice < 0.35 and entries:
            entry = dice.choice(entries)
            return EntryRemoved(write_id=write_id, entry_id=f"e{entry.version}", entry_version=entry.version, tokens=1)
        if choice < 0.5 and entries:
            return self._compaction(write_id, entries, summaries)
        if choice < 0.55:
            return SessionCleared(write_id=write_id, ended=dice.random() < 0.5)
        return EntryAdded(
            write_id=write_id,
            entry_id="e",
            kind="message",
            role="user",
            content=self._text(),
            tokens=1,
            tokenizer="approximate",
        )

    def _compaction(self, write_id: str, entries: list[Found], summaries: list[Found]) -> CompactionCompleted:
        first, last = sorted(self._dice.choice(entries).version for _ in range(2))
        summary_id = _CLOCK.ulid()
        return CompactionCompleted(
            write_id=write_id,
            compaction_id=_CLOCK.ulid(),
            key="k",
            strategy="token_threshold",
            effect=self._dice.choice(("erase", "overlay")),
            covered=((first, last),),
            tokens_before=1,
            folds=tuple(_summary_id(each) for each in self._dice.sample(summaries, len(summaries) // 2)),
            summary_id=summary_id,
            text=f"{self._text()} {summary_id}",
        )

    def _text(self) -> str:
        return " ".join(self._dice.sample(WORDS, self._dice.randint(1, len(WORDS))))

    async def _append(self, stream: Stream, *events: Event) -> None:
        await append(self._store, stream, *(new_event(event, _CLOCK, "") for event in events))


def _summary_id(summary: Found) -> str:
    return summary.text.split()[-1]


def matching(found: Iterable[Found], query: str) -> set[Found]:
    """Return those that have a word of *query*."""
    return {each for each in found if set(each.text.split()) & set(query.split())}
