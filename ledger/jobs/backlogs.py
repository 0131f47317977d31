"""Backlogs of sessions: the newest snapshot and the few events after it."""

from collections import OrderedDict
from typing import Final

import msgspec

from ledger.codec import decode
from ledger.ids import Stream
from ledger.ports import Store
from ledger.ports.snapshots import Snapshot
from ledger.states.fold_results import fold_digest
from projections.backlog import BACKLOG, Backlog

_PAGE: Final = 5_000
_SNAPSHOT_EVERY: Final = 200  # events between two snapshots
_load = msgspec.json.Decoder(Backlog).decode
_dump = msgspec.json.Encoder().encode


class Backlogs:
    """Reads backlogs through a cache in this process; one query brings an item up to date."""

    def __init__(self, store: Store, *, capacity: int = 256) -> None:
        self._store = store
        self._capacity = capacity
        self._cache: OrderedDict[Stream, Backlog] = OrderedDict()

    async def current(self, stream: Stream) -> Backlog:
        """Return the backlog of *stream* as of its newest event.

        Raises:
            UnknownEvent: a newer release wrote to the stream.
            LogCorrupted: an event does not parse.
        """
        backlog = self._cache.get(stream) or await self._stored(stream)
        last_saved = backlog.version
        while True:
            page = await self._store.events.read_stream(stream, after=backlog.version, limit=_PAGE)
            backlog = BACKLOG.fold(map(decode, page), backlog)
            if len(page) < _PAGE:
                break
        if backlog.version >= last_saved + _SNAPSHOT_EVERY:
            await self._save(stream, backlog)
        self._cache[stream] = backlog
        self._cache.move_to_end(stream)
        while len(self._cache) > self._capacity:
            self._cache.popitem(last=False)
        return backlog

    async def _stored(self, stream: Stream) -> Backlog:
        found = await self._store.snapshots.load(stream, BACKLOG.name, BACKLOG.version)
        if found is None or found.code_digest != fold_digest(BACKLOG.name, BACKLOG.version):
            return BACKLOG.initial
        try:
            return _load(found.state)
        except msgspec.MsgspecError:
            return BACKLOG.initial

    async def _save(self, stream: Stream, backlog: Backlog) -> None:
        snapshot = Snapshot(
            BACKLOG.name, BACKLOG.version, backlog.version, fold_digest(BACKLOG.name, BACKLOG.version), _dump(backlog)
        )
        await self._store.snapshots.save(stream, snapshot)
