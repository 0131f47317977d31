"""Deleting and pruning: tombstones, never an erasure. Source: adapters LG-9."""

from collections.abc import Sequence
from typing import Any, Final

from ledger.adapters.langgraph.keys import CHECKPOINTS, WRITES, beginning, checkpoint_key, session_of
from ledger.adapters.langgraph.reading import CheckpointPlace, Reads, sessions
from ledger.errors import InvalidInput
from ledger.memory import MemoryLedger

_MOST: Final = 10_000
#: Counters that the metadata of a checkpoint has for its delta channels.
_DELTA_CHANNELS: Final = "counters_since_delta_snapshot"


class Removals:
    """The part of a saver that takes away; each method takes the ledger first."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads

    async def delete_thread(self, ledger: MemoryLedger, thread_id: str) -> None:
        """End the session of a thread; an unknown one stays unknown."""
        session = session_of(thread_id)
        if await ledger.get_events(session, limit=1):
            await ledger.clear_session(session, end=True)

    async def delete_for_runs(self, ledger: MemoryLedger, run_ids: Sequence[str]) -> None:
        """Hide the checkpoints of runs, and the writes after them, in all threads."""
        runs = set(run_ids)
        for session in await sessions(ledger):
            places = [place async for place in self._reads.all_places(ledger, session, None)]
            await self._hide(
                ledger, session, [place for place in places if self._reads.metadata(place).get("run_id") in runs]
            )

    async def prune(self, ledger: MemoryLedger, thread_ids: Sequence[str], strategy: str) -> None:
        """Hide all but the newest checkpoint of each namespace, or all.

        Raises:
            InvalidInput: there is no such *strategy*.
        """
        if strategy in {"delete", "delete_all"}:
            for thread_id in thread_ids:
                await self.delete_thread(ledger, thread_id)
            return
        if strategy != "keep_latest":
            raise InvalidInput("bad_value", "must be keep_latest or delete", field="strategy")
        for thread_id in thread_ids:
            session = session_of(thread_id)
            places = [place async for place in self._reads.all_places(ledger, session, thread_id)]
            needed = self._needed(places)
            unneeded = [place for place in places if (place.namespace, place.checkpoint_id) not in needed]
            await self._hide(ledger, session, unneeded)

    def _needed(self, places: Sequence[CheckpointPlace]) -> set[tuple[str, str]]:
        """Return the newest checkpoint of each namespace, and the ancestors that its delta channels are made of."""
        by_id = {(place.namespace, place.checkpoint_id): place for place in places}
        newest: dict[str, CheckpointPlace] = {}
        for place in places:  # in each namespace, the newest comes first
            newest.setdefault(place.namespace, place)
        needed = set()
        for namespace, place in newest.items():
            current: CheckpointPlace | None = place
            channels = set(self._reads.metadata(place).get(_DELTA_CHANNELS) or ())
            while current is not None:
                needed.add((namespace, current.checkpoint_id))
                values = current.stored["values"]
                channels = {channel for channel in channels if (values.get(channel) or [None, None])[1] is None}
                current = by_id.get((namespace, current.stored["parent"])) if channels else None
        return needed

    async def _hide(self, ledger: MemoryLedger, session: str, places: Sequence[CheckpointPlace]) -> None:
        hidden: list[dict[str, Any]] = []
        for place in places:
            writes = await ledger.list_kept(
                session, WRITES, prefix=beginning(place.namespace, place.checkpoint_id), limit=_MOST
            )
            hidden += [{"space": WRITES, "key": value.key, "removed": True} for value in writes]
            key = checkpoint_key(place.namespace, place.checkpoint_id)
            hidden.append({"space": CHECKPOINTS, "key": key, "removed": True})
        for at in range(0, len(hidden), _MOST):
            await ledger.keep(session, hidden[at : at + _MOST])
