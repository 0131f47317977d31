"""Read across many namespaces."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from ledger.application.services import Services
from ledger.ids import namespace_id
from ledger.ports.session_index import IndexedSession
from ledger.stored_projections.builds import live_builds, still_exist
from ledger.stored_projections.session_index import SessionIndex

_NAMESPACES_PER_QUERY: Final = 500


async def live_sessions(
    services: Services, names: Sequence[str], *, user_id: str | None, limit: int
) -> tuple[int, list[IndexedSession]]:
    """Return how many live sessions the namespaces *names* have, and the *limit* newest of them."""
    by_id = {namespace_id(name): name for name in names}

    async def caught_up(namespace: UUID) -> int:
        return await services.indexes(by_id[namespace]).sessions.build()

    while True:
        builds = await live_builds(
            services.store,
            list(by_id),
            SessionIndex,
            caught_up,
            catch_ups=services.catch_ups,
            patience_s=services.index_patience_s,
        )
        found = await services.store.session_index.page_of_live(
            builds, user_id=user_id, moment=services.clock.now(), limit=limit
        )
        if await still_exist(services.store, SessionIndex.name, builds):
            return found


async def namespace_names(services: Services) -> list[str]:
    """Return the names of all namespaces, sorted."""
    known = services.names_by_id
    new = [found_id for found_id in await services.store.events.namespace_ids() if found_id not in known]
    for at in range(0, len(new), _NAMESPACES_PER_QUERY):
        found = await services.store.events.namespaces(new[at : at + _NAMESPACES_PER_QUERY])
        known.update((namespace, info.namespace) for namespace, info in found.items())
    return sorted(known.values())
