"""The builds of stored projections that readers of this release use."""

from typing import Final, NamedTuple
from uuid import UUID

from ledger.indexes import record_index as records
from ledger.indexes.jobs import job_index as jobs
from ledger.indexes.search import index_builds as search
from ledger.indexes.stored_projections import session_list
from ledger.indexes.stored_projections.build_choice import Build
from ledger.ports import Store
from ledger.ports.job_queue import JOBS
from ledger.ports.record_store import RECORDS_PROJECTION
from ledger.ports.search_index import SEARCH
from ledger.ports.session_index import SESSION_INDEX
from projections.words.languages import LANGUAGES, SearchLanguage

_VERSIONS: Final = {
    SESSION_INDEX: range(session_list.VERSION, session_list.VERSION + 1),
    JOBS: range(jobs.VERSION * 10, jobs.VERSION * 10 + 2),
    SEARCH: range(search.VERSION * 100, search.VERSION * 100 + len(LANGUAGES)),
    RECORDS_PROJECTION: range(records.VERSION * 100, records.VERSION * 100 + len(LANGUAGES)),
}


class LiveBuild(NamedTuple):
    """A live build, folded up to *position*; *variant* is what its version says besides the meaning of its rows."""

    projection: str
    key: int
    position: int
    variant: int

    @property
    def language(self) -> SearchLanguage:
        """The language of an index of texts."""
        return LANGUAGES[self.variant]


async def live_builds(store: Store, namespace_id: UUID) -> tuple[int, list[LiveBuild]]:
    """Return the namespace's last position, and the live builds of this release's projections, in any language."""
    last, checkpoints = await store.projections.progress(namespace_id)
    found = []
    for checkpoint in checkpoints:
        versions = _VERSIONS.get(checkpoint.projection, range(0))
        version = Build.of(checkpoint.build).version
        if checkpoint.status == "live" and version in versions:
            variant = version - versions.start
            found.append(LiveBuild(checkpoint.projection, checkpoint.build, checkpoint.position, variant))
    return last, found
