"""Builds of stored projections: the one that readers use, and a new one beside it (style §4).

    building ──── advance, page by page, continued after a crash ────▶ live ──── replaced ────▶ pruned

A build is a set of rows with its own number, and a checkpoint: the position it is folded up to. Readers use the live
build of their version, and catch it up first, so that they see their own writes. A rebuild makes a new build beside
it, which replaces it in one transaction. It does not block writers; the next reader folds what they add meanwhile.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple, TypeVar
from uuid import UUID

from ledger.errors import Conflict, LedgerError, ReadOnlyDatabase
from ledger.indexes.stored_projections.build_choice import (
    Build,
    StoredProjection,
    is_resumable,
    live_build,
    next_build,
    own_builds,
    position_of,
    replaced_builds,
)
from ledger.indexes.stored_projections.catch_ups import BuildProgress, CatchUps, silent
from ledger.indexes.stored_projections.staleness import tell_stale
from ledger.ports import Clock, Store
from ledger.ports.projection_store import Checkpoint

T = TypeVar("T")
log = logging.getLogger("ledger")

#: Events folded between two checkpoints of a build.
PAGE: Final = 5_000
#: How long the process that folds a build may be silent before another one takes its place, at the last page less; and
#: how seldom those that wait for it look.
_CLAIM_S: Final = 10.0
_LAST_CLAIM_S: Final = 2.0
_POLL_S: Final = 0.1
#: A page that failed is tried again with so many times fewer events.
_SHORTER: Final = 8


class Builds:
    """The builds in one namespace.

    Readers of this process that need the same catch-up share it through *catch_ups*. Of several processes one folds and
    the others wait for it. After *patience_s* a reader gets an error; the catch-up goes on.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        namespace_id: UUID,
        catch_ups: CatchUps | None = None,
        patience_s: float | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._namespace_id = namespace_id
        self._catch_ups = catch_ups or CatchUps()
        self._patience_s = patience_s

    async def read(
        self,
        projection: StoredProjection,
        question: Callable[[int], Awaitable[T]],
        *,
        empty: T,
        progress: BuildProgress = silent,
    ) -> T:
        """Return what *question* reads in the live build, as of the namespace's newest event.

        Return *empty* if the namespace has no events. The question is called again if the build was replaced
        meanwhile, since its rows may be deleted.

        Raises:
            IndexBehind: the build was not caught up in time.
        """
        while (build := await self.catch_up(projection, progress=progress)) is not None:
            answer = await question(build)
            _, builds = await self.checkpoints()
            if any(own.build == build for own in own_builds(projection, builds)):
                return answer
        return empty

    async def catch_up(self, projection: StoredProjection, *, progress: BuildProgress = silent) -> int | None:
        """Return the live build, folded up to the namespace's newest event; None if the namespace has no events.

        Where nothing can be written, the live build is returned as it is, or None, and `tell_stale` tells so.

        Raises:
            IndexBehind: the build was not caught up in time.
        """
        wanted = 0
        while True:
            last, builds = await self.checkpoints()
            wanted = wanted or last  # not what is appended while the reader waits
            live = live_build(projection, builds, last=last)
            if not last or (live is not None and live.position >= wanted):
                return live.build if live else None
            try:
                done = await self._catch_ups.join(
                    (self._namespace_id, projection.name, projection.version),
                    partial(self._caught_up, projection, live, last, builds),
                    progress=progress,
                    patience_s=self._patience_s,
                )
            except ReadOnlyDatabase:
                tell_stale(projection.name, live, last=last)
                return live.build if live else None
            if done is not None and done[1] >= wanted:
                return done[0]

    async def rebuild(
        self, projection: StoredProjection, *, progress: BuildProgress = silent, page: int = PAGE
    ) -> "Rebuilt":
        """Make a build from the first event on and make it live; continue one that was interrupted."""
        return await self._make(projection, *await self.checkpoints(), progress, page)

    async def checkpoints(self) -> tuple[int, list[Checkpoint]]:
        """Return the namespace's last position, and all builds."""
        return await self._store.projections.progress(self._namespace_id)

    async def caught_up(self, projection: StoredProjection) -> tuple[int, int] | None:
        """Return the live build and its position, at least the namespace's newest event; see `_caught_up`."""
        last, builds = await self.checkpoints()
        return await self._caught_up(projection, live_build(projection, builds, last=last), last, builds, silent)

    async def _caught_up(
        self,
        projection: StoredProjection,
        live: Checkpoint | None,
        last: int,
        builds: Sequence[Checkpoint],
        progress: BuildProgress,
    ) -> tuple[int, int] | None:
        """Return the live build and the position it reached; None if it was replaced meanwhile."""
        if last - (live.position if live else 0) > PAGE:
            log.info("%s is being brought up to date with %d events; its readers wait", projection.name, last)
        if live is None and last <= PAGE and all(each.projection != projection.name for each in builds):
            live = await self._begin_live(projection)
        if live is None:
            try:
                made = await self._make(projection, last, builds, progress, PAGE)
            except Conflict:
                return None
            return made.build.key, made.position
        at = await self._fold(projection, live.build, live.position, last, progress, PAGE)
        return None if at is None else (live.build, at)

    async def _begin_live(self, projection: StoredProjection) -> Checkpoint:
        """Begin the first build of a short log, live at once: there is nothing beside which it could be made."""
        build, digest = Build(projection.version, 1).key, projection.code_digest
        begun = Checkpoint(
            projection=projection.name,
            build=build,
            position=0,
            status="live",
            code_digest=digest,
            updated_at=self._clock.now(),
        )
        await self._store.projections.begin_build(self._namespace_id, projection.name, build, digest, status="live")
        return begun

    async def _make(
        self,
        projection: StoredProjection,
        last: int,
        builds: Sequence[Checkpoint],
        progress: BuildProgress,
        page: int,
    ) -> "Rebuilt":
        resumable = next(
            (checkpoint for checkpoint in own_builds(projection, builds) if is_resumable(projection, checkpoint)), None
        )
        build = resumable.build if resumable else next_build(projection, builds).key
        resumed_at = resumable.position if resumable else 0
        if not last:
            return Rebuilt(Build.of(build), 0, 0, ())
        await self._store.projections.begin_build(self._namespace_id, projection.name, build, projection.code_digest)
        at = await self._fold(projection, build, resumed_at, last, progress, page)
        if at is None:
            raise Conflict(f"another rebuild of {projection.name} was first; see `projections status`")
        _, builds = await self.checkpoints()
        replaced = replaced_builds(projection, builds, build, now=self._clock.now())
        await self._store.projections.go_live(self._namespace_id, projection.name, build, replaces=replaced)
        await projection.prune()
        return Rebuilt(Build.of(build), at, resumed_at, tuple(map(Build.of, replaced)))

    async def _fold(
        self, projection: StoredProjection, build: int, at: int, last: int, progress: BuildProgress, page: int
    ) -> int | None:
        """Fold *build* from *at* up to *last* and return the position reached; None if it was removed meanwhile.

        Before each page this process claims the build, and waits while another one has it: that folds the same. A claim
        ends by itself, so the work of a process that was killed goes on. A page that fails is tried again with fewer
        events, so what cannot be folded delays nothing before it.
        """
        claim = partial(
            self._store.projections.claim, self._namespace_id, projection.name, build, by=self._clock.ulid()
        )
        reached, claimed, limit, pause_s = at, False, page, _POLL_S / 10
        try:
            while reached < last:
                claimed = await claim(after=reached, lease_s=_CLAIM_S if last - reached > page else _LAST_CLAIM_S)
                if claimed:
                    try:
                        new = await projection.advance(build, after=reached, limit=limit)
                    except LedgerError as fault:
                        if limit == 1:
                            await self._report(projection, build, reached, fault)
                            raise
                        limit = max(1, limit // _SHORTER)
                        continue
                    limit = min(page, limit * _SHORTER)
                else:
                    await asyncio.sleep(pause_s)
                    pause_s = min(_POLL_S, 2 * pause_s)
                    new = position_of(projection, build, (await self.checkpoints())[1])
                if new is None:
                    return None
                reached = new
                progress(reached, max(reached, last))
            return reached
        finally:
            if claimed:
                with suppress(LedgerError):
                    await claim(after=reached, lease_s=0.0)

    async def _report(self, projection: StoredProjection, build: int, position: int, fault: LedgerError) -> None:
        """Tell operators that one event keeps *build* from going on, in the log and in the build's checkpoint."""
        log.error("%s is stuck behind position %d and what needs it fails: %s", projection.name, position, fault)
        with suppress(LedgerError):
            await self._store.projections.note_failure(
                self._namespace_id, projection.name, build, position=position, error=f"{fault.code}: {fault}"[:500]
            )


class Rebuilt(NamedTuple):
    """The result of a rebuild: the build, its position, where it was continued, and the builds it replaced."""

    build: Build
    position: int
    resumed_at: int
    replaced: tuple[Build, ...]
