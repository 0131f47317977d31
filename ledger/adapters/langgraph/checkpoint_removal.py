"""Deleting and pruning: tombstones, never an erasure. Source: adapters LG-9."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from ledger.adapters.langgraph.checkpoint_place import CheckpointPlace
from ledger.adapters.langgraph.checkpoint_reads import Reads
from ledger.adapters.langgraph.entry_messages import put_messages
from ledger.adapters.langgraph.keys import CHECKPOINTS, MESSAGES, WRITES, checkpoint_key, session_of
from ledger.adapters.langgraph.runs import run_of, sessions
from ledger.adapters.langgraph.state_window import all_entries
from ledger.adapters.sdk_sessions import end_session
from ledger.application.reading.key_value_reads import newest_version
from ledger.errors import LogCorrupted, SessionNotFound, VersionConflict
from ledger.memory import MemoryLedger
from ledger.ports.contention import until_uncontended

_MOST: Final = 10_000
#: Counters that the metadata of a checkpoint has for its delta channels.
_DELTA_CHANNELS: Final = "counters_since_delta_snapshot"
_AS_IT_IS: Final[Mapping[str, Any]] = {}
#: A namespace and the id of a checkpoint in it.
Name = tuple[str, str]


class Removals:
    """The part of a saver that takes away; each method takes the ledger first."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads

    async def delete_thread(self, ledger: MemoryLedger, thread_id: str) -> None:
        """End the session of a thread; an unknown one stays unknown."""
        session = session_of(thread_id)
        if await ledger.get_events(session, limit=1):
            await end_session(ledger, session)

    async def delete_for_runs(self, ledger: MemoryLedger, run_ids: Sequence[str]) -> None:
        """Hide the checkpoints of runs, and the writes after them, in all threads that have one.

        Raises:
            Unavailable: others wrote to a thread all the time.
        """
        runs = set(run_ids)
        threads = {session: None for run_id in runs for session in await sessions(ledger, run_id)}
        for session in threads:
            await until_uncontended(partial(self._hide_runs, ledger, session, runs))

    async def _hide_runs(self, ledger: MemoryLedger, session: str, runs: Collection[str], _: int) -> None:
        try:
            version = (await ledger.get_state(session)).version
        except SessionNotFound:  # deleted meanwhile
            return
        places = [place async for place in self._reads.all_places(ledger, session, None)]
        unwanted = [place for place in places if run_of(self._reads.metadata(place)) in runs]
        try:
            window = await self._window_without(ledger, places, unwanted)
        except LogCorrupted:
            newest = await newest_version(ledger._handle, session)  # noqa: SLF001 - adapters are part of the ledger
            if newest == version:
                raise
            raise VersionConflict(current=newest, expected=version) from None  # it may have been deleted meanwhile
        changes = await self._hidden(ledger, unwanted)
        await _keep(ledger, session, changes, window, expected_version=version)

    async def _window_without(
        self, ledger: MemoryLedger, places: Iterable[CheckpointPlace], unwanted: Iterable[CheckpointPlace]
    ) -> dict[str, Any]:
        """Return what makes the window that of the newest root checkpoint that stays; nothing if that is the newest."""
        hidden = {_name(place) for place in unwanted}
        roots = [place for place in places if not place.namespace]  # the newest comes first
        if isinstance(self._reads.serde, EncryptedSerializer) or not roots or _name(roots[0]) not in hidden:
            return {}
        left = next((place for place in roots if _name(place) not in hidden), None)
        reference = None if left is None else (left.values.get(MESSAGES) or [None, None])[1]
        if left is None or reference is None or "messages" not in reference:
            return {"entries": [], "only_entries": True}
        fetched = await self._reads.fetch(ledger, left.thread_id, [reference], whole=True)
        entries = all_entries(zip(fetched.value(reference), fetched.message_names(reference), strict=True))
        put_messages(entries, fetched.blobs.get)
        return {"entries": entries, "only_entries": True}

    async def prune(self, ledger: MemoryLedger, thread_ids: Sequence[str], strategy: str) -> None:
        """Hide all but the newest checkpoint of each namespace, or all.

        Raises:
            TypeError, ValueError: as the SDK's own saver does, for one text as *thread_ids* and an unknown *strategy*.
            Unavailable: others wrote to a thread all the time.
        """
        if isinstance(thread_ids, str):
            raise TypeError("thread_ids must be a list of ids, not a str")
        if strategy not in {"keep_latest", "delete", "delete_all"}:
            raise ValueError(f"strategy must be keep_latest or delete, not {strategy!r}")
        for thread_id in thread_ids:
            await (self._keep_latest if strategy == "keep_latest" else self.delete_thread)(ledger, thread_id)

    async def _keep_latest(self, ledger: MemoryLedger, thread_id: str) -> None:
        """Hide what the thread has now and needs no more; what is written meanwhile stays, and what that needs."""
        session = session_of(thread_id)
        candidates: set[Name] | None = None

        async def attempt(number: int) -> None:
            nonlocal candidates
            try:
                version = (await ledger.get_state(session)).version
            except SessionNotFound:
                return
            places = {_name(place): place async for place in self._reads.all_places(ledger, session, thread_id)}
            if candidates is None:
                candidates = set(places)
            needed = await self._needed(ledger, places, new=places.keys() - candidates)
            orphans = [_without_parent(places[name]) for name in needed if _parent(places[name]) not in needed]
            changes = [each for each in orphans if each is not None]
            unneeded = [place for name, place in places.items() if name not in needed]
            changes += await self._hidden(ledger, unneeded)
            await _keep(ledger, session, changes, expected_version=version)

        await until_uncontended(attempt)

    async def _needed(
        self, ledger: MemoryLedger, places: dict[Name, CheckpointPlace], new: Collection[Name]
    ) -> set[Name]:
        """Return those that are *new*, of the others the newest of each namespace, and what these are made of."""
        newest: dict[str, CheckpointPlace] = {}
        for name, place in places.items():  # in each namespace, the newest comes first
            if name not in new:
                newest.setdefault(place.namespace, place)
        chosen = [places[name] for name in new]
        root = newest.pop("", None)
        needed = await self._with_ancestors(ledger, places, [root, *chosen] if root else chosen)
        others = [place for place in newest.values() if not self._is_of_an_old_call(place, places, needed)]
        return needed | await self._with_ancestors(ledger, places, others)

    def _is_of_an_old_call(self, place: CheckpointPlace, places: Collection[Name], needed: Collection[Name]) -> bool:
        """Tell whether *place* is of a call of a subgraph that began at a checkpoint which is no longer needed.

        Such a call has a namespace of its own, which ends in its task's id; what outlives a call has none. A call may
        be stored before the checkpoint that it began at.
        """
        began_at = "", (self._reads.metadata(place).get("parents") or {}).get("")
        return ":" in place.namespace and began_at in places and began_at not in needed

    async def _with_ancestors(
        self, ledger: MemoryLedger, places: dict[Name, CheckpointPlace], chosen: Iterable[CheckpointPlace]
    ) -> set[Name]:
        """Return *chosen* and the ancestors that their delta channels are made of, or that have their sends."""
        needed = set()
        for place in chosen:
            current: CheckpointPlace | None = place
            channels = set(self._reads.metadata(place).get(_DELTA_CHANNELS) or ())
            reads_sends = bool(await self._reads.sends(ledger, place))
            while current is not None:
                needed.add(_name(current))
                values = current.values
                channels = {channel for channel in channels if (values.get(channel) or [None, None])[1] is None}
                current = places.get(_parent(current)) if channels or reads_sends else None
                reads_sends = False
        return needed

    async def _hidden(self, ledger: MemoryLedger, places: Sequence[CheckpointPlace]) -> list[dict[str, Any]]:
        """Return what hides *places* of one thread and the writes after them."""
        hidden: list[dict[str, Any]] = []
        began = await self._reads.began(ledger, places[0].thread_id) if places else None
        for place in places:
            writes = await self._reads.kept_of_tasks(ledger, place, began, every=False)
            hidden += [{"space": WRITES, "key": value.key, "removed": True} for value in writes]
            hidden.append({"space": CHECKPOINTS, "key": checkpoint_key(*_name(place)), "removed": True})
        return hidden


async def _keep(
    ledger: MemoryLedger,
    session: str,
    changes: Sequence[dict[str, Any]],
    window: Mapping[str, Any] = _AS_IT_IS,
    *,
    expected_version: int,
) -> None:
    """Store *changes*, and with the first of them what becomes of the *window*."""
    for at in range(0, len(changes), _MOST):
        own = {} if at else window
        done = await ledger.keep(session, changes[at : at + _MOST], expected_version=expected_version, **own)
        expected_version = done.version


def _name(place: CheckpointPlace) -> Name:
    return place.namespace, place.checkpoint_id


def _parent(place: CheckpointPlace) -> Name:
    return place.namespace, place.stored["parent"] or ""


def _without_parent(place: CheckpointPlace) -> dict[str, Any] | None:
    """Return what stores *place* as one without a parent; None if it is."""
    if place.stored["parent"] is None:
        return None
    value = {**place.stored, "parent": None}
    return {"space": CHECKPOINTS, "key": checkpoint_key(*_name(place)), "value": value}
