"""One stored projection in many namespaces, caught up and read as one (style §4).

What is missing in all of them is read, folded and stored together, a few statements for a batch of namespaces. Only
where more than a page is missing, or a build has to be made beside another one, a namespace is caught up by itself.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeAlias, TypeVar
from uuid import UUID

from ledger.errors import LedgerError, ReadOnlyDatabase
from ledger.indexes.stored_projections import builds
from ledger.indexes.stored_projections.build_choice import Build, VersionedProjection, live_build
from ledger.indexes.stored_projections.catch_ups import CatchUps
from ledger.indexes.stored_projections.staleness import tell_stale
from ledger.ports import Store
from ledger.ports.projection_store import Checkpoint, Place

T = TypeVar("T")
log = logging.getLogger("ledger")

#: Namespaces of one batch. Its events are at most those of a page.
_BATCH: Final = 250
#: Batches, or namespaces, that are caught up at the same time.
_AT_ONCE: Final = 4

#: What identifies a catch-up in this process: namespace, projection and version.
_Key: TypeAlias = tuple[UUID, str, int]
#: The live build of a namespace, and its position.
_Reached: TypeAlias = tuple[int, int]


class BatchedProjection(VersionedProjection, Protocol):
    """A stored projection that folds short pages of many namespaces at once."""

    async def advance_all(self, places: Mapping[UUID, Place]) -> Mapping[UUID, int | None]:
        """Fold what follows each of *places*, by namespace, and return the positions reached.

        See `build_choice.StoredProjection.advance`. A namespace without any build gets a live one. Namespaces that
        cannot be folded together with others are left out.
        """


class _Behind(NamedTuple):
    """The last position of a namespace, its live build if it has one, and the place where a batch may go on."""

    last: int
    live: Checkpoint | None
    place: Place | None


class ManyBuilds:
    """The builds of one projection in many namespaces; *alone* catches up a single one."""

    def __init__(
        self,
        store: Store,
        projection: BatchedProjection,
        alone: Callable[[UUID], Awaitable[_Reached | None]],
        *,
        catch_ups: CatchUps,
        patience_s: float | None = None,
    ) -> None:
        self._store = store
        self._projection = projection
        self._alone = alone
        self._catch_ups = catch_ups
        self._patience_s = patience_s
        self._room = asyncio.Semaphore(_AT_ONCE)

    async def read(self, namespaces: Sequence[UUID], question: Callable[[Mapping[UUID, int]], Awaitable[T]]) -> T:
        """Return what *question* reads in the live builds, as of the newest event of each namespace.

        The question gets the builds of the namespaces that have events. It is called again if a build was replaced
        meanwhile, since its rows may be deleted.

        Raises:
            IndexBehind: they were not all caught up in time.
        """
        while True:
            live = await self.catch_up(namespaces)
            answer = await question(live)
            known = await self._progress(list(live))
            if all(any(each.build == build for each in known[own][1]) for own, build in live.items()):
                return answer

    async def catch_up(self, namespaces: Sequence[UUID]) -> dict[UUID, int]:
        """Return the live build of each of *namespaces* that has events, folded up to its newest event.

        Where nothing can be written, the live builds are returned as they are, and `tell_stale` tells so.

        Raises:
            IndexBehind: they were not all caught up in time.
        """
        live: dict[UUID, int] = {}
        wanted: dict[UUID, int] = {}
        left: Collection[UUID] = namespaces
        while left:
            behind: dict[UUID, _Behind] = {}
            for namespace_id, (last, found) in (await self._progress(left)).items():
                wanted.setdefault(namespace_id, last)  # not what is appended while the reader waits
                build = live_build(self._projection, found, last=last)
                if build is not None and build.position >= wanted[namespace_id]:
                    live[namespace_id] = build.build
                elif last:
                    behind[namespace_id] = _Behind(last, build, self._place(last, build, found))
            try:
                reached = await self._caught_up(behind, wanted)
            except ReadOnlyDatabase:
                return live | self._as_they_are(behind)
            live |= reached
            left = behind.keys() - live.keys()
        return live

    async def _progress(self, namespaces: Collection[UUID]) -> dict[UUID, tuple[int, list[Checkpoint]]]:
        if not namespaces:
            return {}
        return await self._store.projections.progress_of_all(list(namespaces), self._projection.name)

    def _place(self, last: int, live: Checkpoint | None, found: Sequence[Checkpoint]) -> Place | None:
        """Return where a batch goes on in a namespace; None if it must be caught up by itself."""
        if live is not None:
            place = Place(live.build, live.position)
        elif not found:
            place = Place(Build(self._projection.version, 1).key, 0)
        else:
            return None
        return place if last - place.after <= builds.PAGE else None

    async def _caught_up(self, behind: Mapping[UUID, _Behind], wanted: Mapping[UUID, int]) -> dict[UUID, int]:
        """Return the live builds of those of *behind* that reached what is *wanted*."""
        batches = [[self._key(namespace_id) for namespace_id in batch] for batch in _batches(behind)]
        reached = await self._catch_ups.join_all(batches, partial(self._fold, behind), patience_s=self._patience_s)
        return {key[0]: done[0] for key, done in reached.items() if done is not None and done[1] >= wanted[key[0]]}

    def _as_they_are(self, behind: Mapping[UUID, _Behind]) -> dict[UUID, int]:
        for each in behind.values():
            tell_stale(self._projection.name, each.live, last=each.last)
        return {namespace_id: each.live.build for namespace_id, each in behind.items() if each.live is not None}

    async def _fold(self, behind: Mapping[UUID, _Behind], keys: Collection[_Key]) -> dict[_Key, _Reached | None]:
        """Fold a batch, then by itself each namespace that did not get to its last position so."""
        places = {key[0]: place for key in keys if (place := behind[key[0]].place) is not None}
        reached: Mapping[UUID, int | None] = {}
        if places:
            try:
                async with self._room:
                    reached = await self._projection.advance_all(places)
            except ReadOnlyDatabase:
                raise
            except LedgerError as fault:  # one of them cannot be folded; by itself it says why
                log.warning("%s is brought up to date namespace by namespace: %s", self._projection.name, fault)
        done: dict[_Key, _Reached | None] = {
            self._key(namespace_id): (places[namespace_id].build, at)
            for namespace_id, at in reached.items()
            if at is not None and at >= behind[namespace_id].last
        }

        async def alone(key: _Key) -> tuple[_Key, _Reached | None]:
            async with self._room:
                return key, await self._alone(key[0])

        return done | dict(await asyncio.gather(*(alone(key) for key in keys if key not in done)))

    def _key(self, namespace_id: UUID) -> _Key:
        return namespace_id, self._projection.name, self._projection.version


def _batches(behind: Mapping[UUID, _Behind]) -> Iterable[list[UUID]]:
    """Yield the namespaces in batches of at most a page of events; those without a place are alone."""
    batch: list[UUID] = []
    events = 0
    for namespace_id in sorted(behind):
        last, _, place = behind[namespace_id]
        if place is None:
            yield [namespace_id]
            continue
        if batch and (len(batch) >= _BATCH or events + last - place.after > builds.PAGE):
            yield batch
            batch, events = [], 0
        batch.append(namespace_id)
        events += last - place.after
    if batch:
        yield batch
