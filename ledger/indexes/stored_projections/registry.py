"""The stored projections by name: list them, read their progress, rebuild them (style §4).

To add one: a class with the members of `builds.StoredProjection`, and a line in `StoredProjections.__init__`.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Literal

import msgspec

from ledger.errors import InvalidInput
from ledger.indexes.stored_projections.build_choice import Build, StoredProjection
from ledger.indexes.stored_projections.builds import Builds, Rebuilt


class BuildStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One build of a stored projection in this namespace.

    It is folded up to *position*, the log ends at *last_position*. Readers of this release use it if *current*; this
    release's code made it if *same_code*. A build with neither may be removed at any time. *last_error* says
    why the event after *position* cannot be folded, if that was found.
    """

    name: str
    version: int
    build: int
    status: Literal["building", "live"]
    position: int
    last_position: int
    current: bool
    same_code: bool
    updated_at: datetime
    last_error: str | None


class StoredProjectionInfo(msgspec.Struct, frozen=True):
    """A stored projection of this release: the version of its rows' meaning, and what the rows store."""

    name: str
    version: int
    keeps: str


class RebuiltProjection(msgspec.Struct, frozen=True, kw_only=True):
    """A rebuilt projection: its build, the positions, and the replaced builds of its version."""

    name: str
    version: int
    build: int
    position: int
    resumed_at: int
    replaced: tuple[int, ...]


class StoredProjections:
    """The stored projections of one namespace, by name."""

    def __init__(self, builds: Builds, *projections: StoredProjection) -> None:
        self._builds = builds
        self._by_name = {projection.name: projection for projection in projections}

    def listed(self) -> list[StoredProjectionInfo]:
        """Return the projections in the order they are rebuilt."""
        return [
            StoredProjectionInfo(stored_projection.name, stored_projection.version, stored_projection.keeps)
            for stored_projection in self._by_name.values()
        ]

    async def status(self) -> list[BuildStatus]:
        """Return all builds of the projections that this release knows, by name and number."""
        last, checkpoints = await self._builds.checkpoints()
        known = [
            (self._by_name[checkpoint.projection], checkpoint)
            for checkpoint in checkpoints
            if checkpoint.projection in self._by_name
        ]
        return [
            BuildStatus(
                name=checkpoint.projection,
                version=Build.of(checkpoint.build).version,
                build=Build.of(checkpoint.build).number,
                status=checkpoint.status,
                position=checkpoint.position,
                last_position=last,
                current=checkpoint.status == "live" and Build.of(checkpoint.build).version == projection.version,
                same_code=checkpoint.code_digest == projection.code_digest,
                updated_at=checkpoint.updated_at,
                last_error=checkpoint.last_error,
            )
            for projection, checkpoint in known
        ]

    async def rebuild(
        self, name: str | None = None, *, progress: Callable[[str, int, int], None] = lambda name, done, total: None
    ) -> list[RebuiltProjection]:
        """Rebuild *name*, or all projections, beside the builds that readers use, then replace those.

        *progress* gets (name, position reached, last position).

        Raises:
            InvalidInput: there is no such projection.
            Conflict: another rebuild was first.
        """
        if name is not None and name not in list(self._by_name):
            known = ", ".join(self._by_name)
            raise InvalidInput("unknown_projection", f"must be one of {known}", field="name")
        rebuilt = []
        for projection in self._by_name.values() if name is None else [self._by_name[name]]:
            done = await self._builds.rebuild(projection, progress=_named(progress, projection.name))
            rebuilt.append(_rebuilt(projection.name, done))
        return rebuilt


def _named(progress: Callable[[str, int, int], None], name: str) -> Callable[[int, int], None]:
    return lambda done, total: progress(name, done, total)


def _rebuilt(name: str, done: Rebuilt) -> RebuiltProjection:
    return RebuiltProjection(
        name=name,
        version=done.build.version,
        build=done.build.number,
        position=done.position,
        resumed_at=done.resumed_at,
        replaced=tuple(build.number for build in done.replaced if build.version == done.build.version),
    )
