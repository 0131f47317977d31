"""Which builds a stored projection has: their numbers, the one readers use, those that a new one replaces. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple, Protocol

from ledger.ports.projection_store import Checkpoint

#: Builds of one version are numbered below this; see `Build`.
NUMBERS: Final = 1_000
#: Builds of older versions that no reader has caught up for so long are removed.
_RETIRED_AFTER: Final = timedelta(days=7)


class Build(NamedTuple):
    """The version of a projection, and the number of a build of that version, from 1."""

    version: int
    number: int

    @property
    def key(self) -> int:
        """The number that rows and checkpoint have as ``projection_version``."""
        return self.version * NUMBERS + self.number

    @classmethod
    def of(cls, key: int) -> "Build":
        """Return the build with *key*."""
        return cls(*divmod(key, NUMBERS))


class VersionedProjection(Protocol):
    """A name and a version: what finds the builds of a projection."""

    @property
    def name(self) -> str:
        """Its stable name, also in its checkpoints."""

    @property
    def version(self) -> int:
        """The version of its meaning, from 1."""


class StoredProjection(VersionedProjection, Protocol):
    """A projection stored in a table, with rows per build.

    Raise *version* when the meaning of a row changes: readers then use only builds of the new version, while older
    releases continue with theirs.
    """

    @property
    def keeps(self) -> str:
        """A few words about its rows."""

    @property
    def code_digest(self) -> bytes:
        """The digest of the code that makes its rows; a build that other code started is not continued."""

    async def advance(self, build: int, *, after: int, limit: int) -> int | None:
        """Fold up to *limit* events after position *after* into *build*; return the position reached.

        Rows and checkpoint change in one transaction, only if the checkpoint is still at *after*. Return None, and
        write nothing, if *build* does not exist any more. The number of reads and writes does not depend on the number
        of sessions on the page.
        """

    async def prune(self) -> int:
        """Delete the rows of builds that do not exist any more; return how many."""


def live_build(projection: VersionedProjection, builds: Iterable[Checkpoint], *, last: int) -> Checkpoint | None:
    """Return the build that readers of *projection* use: the live one of its version.

    One that claims to be beyond the *last* position of the log is none, or it would never be caught up (trust K-4).
    """
    live = (checkpoint for checkpoint in own_builds(projection, builds) if checkpoint.status == "live")
    return next((checkpoint for checkpoint in live if checkpoint.position <= last), None)


def next_build(projection: StoredProjection, builds: Iterable[Checkpoint]) -> Build:
    """Return the next free build; numbers start again after the last."""
    used = {Build.of(checkpoint.build).number for checkpoint in own_builds(projection, builds)}
    number = max(used, default=0) % (NUMBERS - 1) + 1
    while number in used:
        number = number % (NUMBERS - 1) + 1
    return Build(projection.version, number)


def replaced_builds(
    projection: StoredProjection, builds: Sequence[Checkpoint], build: int, *, now: datetime
) -> Sequence[int]:
    """Return the builds that *build* replaces when it becomes live.

    These are the build that readers used before, unfinished builds of other code, and builds of older versions that no
    reader has caught up for a week.
    """
    own = [
        checkpoint.build for checkpoint in own_builds(projection, builds) if not is_resumable(projection, checkpoint)
    ]
    retired = [
        checkpoint.build
        for checkpoint in builds
        if checkpoint.projection == projection.name
        and Build.of(checkpoint.build).version < projection.version
        and checkpoint.updated_at < now - _RETIRED_AFTER
    ]
    return [key for key in (*own, *retired) if key != build]


def own_builds(projection: VersionedProjection, builds: Iterable[Checkpoint]) -> list[Checkpoint]:
    """Return the builds of *projection* at its version."""
    return [
        checkpoint
        for checkpoint in builds
        if checkpoint.projection == projection.name and Build.of(checkpoint.build).version == projection.version
    ]


def position_of(projection: StoredProjection, build: int, builds: Iterable[Checkpoint]) -> int | None:
    """Return the position that *build* is folded up to; None if it does not exist any more."""
    return next((known.position for known in own_builds(projection, builds) if known.build == build), None)


def is_resumable(projection: StoredProjection, checkpoint: Checkpoint) -> bool:
    """Tell whether *checkpoint* is of a build that this code can go on with."""
    return checkpoint.status == "building" and checkpoint.code_digest == projection.code_digest
