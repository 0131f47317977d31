"""What is kept in tables beside the log: what there is, how far it is, and building it anew."""

from collections.abc import Callable

from ledger.application.handle import NamespaceHandle
from ledger.stored_projections.registry import BuildStatus, RebuiltProjection, StoredProjectionInfo


def stored_projections(handle: NamespaceHandle) -> list[StoredProjectionInfo]:
    """Return the projections that this release keeps in tables."""
    return handle.indexes.projections.listed()


async def projection_builds(handle: NamespaceHandle) -> list[BuildStatus]:
    """Return the builds of the stored projections of this namespace, and how far each has folded it."""
    return await handle.indexes.projections.status()


async def rebuild_projections(
    handle: NamespaceHandle,
    name: str | None = None,
    *,
    progress: Callable[[str, int, int], None] = lambda name, done, total: None,
) -> list[RebuiltProjection]:
    """Build the stored projection *name*, or all, anew from the log, while readers use what there is.

    The new build takes the old one's place in one transaction. One that was interrupted is gone on with.
    *progress* gets (name, position reached, last position).

    Raises:
        InvalidInput: there is no such projection.
        Conflict: another rebuild was ahead.
    """
    return await handle.indexes.projections.rebuild(name, progress=progress)
