"""Read across many namespaces."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from ledger.application.services import Services
from ledger.events.ids import namespace_id
from ledger.ports.session_index import IndexedSession

_NAMESPACES_PER_QUERY: Final = 500


async def live_sessions(
    services: Services, names: Sequence[str], *, user_id: str | None, limit: int
) -> tuple[int, list[IndexedSession]]:
    """Return how many live sessions the namespaces *names* have, and the *limit* newest of them.

    Raises:
        IndexBehind: the list was not brought up to date in time.
    """

    async def newest(builds: Mapping[UUID, int]) -> tuple[int, list[IndexedSession]]:
        return await services.store.session_index.page_of_live(
            builds, user_id=user_id, moment=services.clock.now(), limit=limit
        )

    return await services.session_indexes.builds.read(list(dict.fromkeys(map(namespace_id, names))), newest)


async def namespace_names(services: Services) -> list[str]:
    """Return the names of all namespaces, sorted."""
    known = services.names_by_id
    new = [found_id for found_id in await services.store.events.namespace_ids() if found_id not in known]
    for at in range(0, len(new), _NAMESPACES_PER_QUERY):
        found = await services.store.events.namespaces(new[at : at + _NAMESPACES_PER_QUERY])
        known.update((namespace, info.namespace) for namespace, info in found.items())
    return sorted(known.values())
