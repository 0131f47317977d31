"""List the stored projections, read their progress, and rebuild them."""

from collections.abc import Callable

from ledger.application.handle import NamespaceHandle
from ledger.indexes.stored_projections.registry import BuildStatus, RebuiltProjection, StoredProjectionInfo


def stored_projections(handle: NamespaceHandle) -> list[StoredProjectionInfo]:
    """Return the stored projections of this release."""
    return handle.indexes.projections.listed()


async def projection_builds(handle: NamespaceHandle) -> list[BuildStatus]:
    """Return the builds of this namespace's stored projections, each with the position it is folded up to."""
    return await handle.indexes.projections.status()


async def rebuild_projections(
    handle: NamespaceHandle,
    name: str | None = None,
    *,
    progress: Callable[[str, int, int], None] = lambda name, done, total: None,
) -> list[RebuiltProjection]:
    """Rebuild the stored projection *name*, or all of them, from the log, while readers use the old build.

    The new build replaces the old one in one transaction. An interrupted rebuild is continued.
    *progress* gets (name, position reached, last position).

    Raises:
        InvalidInput: there is no such projection.
        Conflict: another rebuild was first.
    """
    return await handle.indexes.projections.rebuild(name, progress=progress)
