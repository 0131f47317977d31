"""The store on PostgreSQL, embedded or a server."""

import logging

from ledger.errors import MigrationNeeded
from ledger.stores.postgres.appending import Appending
from ledger.stores.postgres.caches import Caches
from ledger.stores.postgres.checkpoints import Checkpoints
from ledger.stores.postgres.connections import Connector, Login, Pool, Target
from ledger.stores.postgres.embedding import Embedding
from ledger.stores.postgres.faults import translated
from ledger.stores.postgres.finding_records import FindingRecords
from ledger.stores.postgres.jobs import Jobs
from ledger.stores.postgres.keeping_records import KeepingRecords
from ledger.stores.postgres.reading import Reading
from ledger.stores.postgres.revisions import require_newest
from ledger.stores.postgres.searching import Searching
from ledger.stores.postgres.serving import Serving
from ledger.stores.postgres.token_finder import TokenFinder

__all__ = ["Login", "PostgresStore", "Target"]

log = logging.getLogger("ledger")


class PostgresStore:
    """A `Store` on a migrated PostgreSQL database; made by `open`."""

    def __init__(self, target: Target, *, group_commit: bool = True, patience_s: float = 8.0) -> None:
        self._pool = Pool(Connector(target))
        appending = Appending(self._pool, group_commit=group_commit, patience_s=patience_s)
        reading, caches, checkpoints = Reading(self._pool), Caches(self._pool), Checkpoints(self._pool)
        self._appending = appending
        self.append = appending.append
        self.append_all = appending.append_all
        self.read_stream = reading.read_stream
        self.read_versions = reading.read_versions
        self.find_items = reading.find_items
        self.find_request = reading.find_request
        self.head = reading.head
        self.lineage = reading.lineage
        self.version_at = reading.version_at
        self.named = reading.named
        self.read_namespace = reading.read_namespace
        self.namespace = reading.namespace
        self.namespaces = reading.namespaces
        self.namespace_ids = reading.namespace_ids
        self.overview = reading.overview
        self.load_snapshot = reading.load_snapshot
        self.save_snapshot = caches.save_snapshot
        self.projection_progress = checkpoints.projection_progress
        self.begin_build = checkpoints.begin_build
        self.go_live = checkpoints.go_live
        self.progress_of_all = checkpoints.progress_of_all
        self.index_progress = caches.index_progress
        self.save_index = caches.save_index
        self.prune_index = caches.prune_index
        self.list_index = caches.list_index
        self.live_index = caches.live_index
        self.prune_requests = caches.prune_requests
        self._serve(Serving(self._pool))
        self._search(Searching(self._pool))
        self._keep_records(reading)

    def _serve(self, serving: Serving) -> None:
        self.find_sessions = serving.find_sessions
        self.note_view = serving.note_view
        self.served_views = serving.served_views
        self.find_token = TokenFinder(self._pool).find_token

    def _search(self, searching: Searching) -> None:
        embedding = Embedding(self._pool, searching)
        self.index_pieces = searching.index_pieces
        self.prune_pieces = searching.prune_pieces
        self.search = searching.search
        self.findable = searching.findable
        self.embeds = searching.embeds
        self.pieces_to_embed = embedding.pieces_to_embed
        self.save_embeddings = embedding.save_embeddings
        self.search_similar = embedding.search_similar
        self._share_jobs(Jobs(self._pool))

    def _keep_records(self, reading: Reading) -> None:
        records, found = KeepingRecords(self._pool), FindingRecords(self._pool)
        self.record_events = reading.record_events
        self.save_records = records.save_records
        self.prune_records = records.prune_records
        self.touch_records = records.touch_records
        self.seed_accesses = records.seed_accesses
        self.embeds_records = records.embeds_records
        self.save_record_embeddings = records.save_record_embeddings
        self.record_spaces = found.record_spaces
        self.find_records = found.find_records
        self.duplicate_records = found.duplicate_records
        self.search_records = found.search_records
        self.records_to_embed = found.records_to_embed

    def _share_jobs(self, jobs: Jobs) -> None:
        self.changed_sessions = jobs.changed_sessions
        self.save_jobs = jobs.save_jobs
        self.prune_jobs = jobs.prune_jobs
        self.spaces_with_due_jobs = jobs.spaces_with_due_jobs
        self.claim_jobs = jobs.claim_jobs
        self.renew_job = jobs.renew_job
        self.leave_job = jobs.leave_job
        self.list_jobs = jobs.list_jobs
        self.revive_jobs = jobs.revive_jobs

    @classmethod
    async def open(cls, target: Target, *, group_commit: bool = True, patience_s: float = 8.0) -> "PostgresStore":
        """Return a store after checking the server, the login and the schema.

        Raises:
            DatabaseUnavailable: it cannot be reached.
            MigrationNeeded: the schema is not that of this release.
            UnsafeDatabase, UnsafeRole: it could break a promise (trust P-2, D-10); what the target allows, it
                warns of.
        """
        store = cls(target, group_commit=group_commit, patience_s=patience_s)
        try:
            require_newest(await store.revision())
        except BaseException:
            await store.close()
            raise
        for setting in store.login.unsafe_settings:
            log.warning("%s is off: an acknowledged append may be lost", setting)
        return store

    @property
    def login(self) -> Login:
        """Who we are in the database."""
        return self._pool.connector.login

    async def revision(self) -> str | None:
        """Return the migration the database is at; none if it has no schema of ours."""
        try:
            with translated():
                async with self._pool.readers.use() as driver:
                    row = await (await driver.execute("SELECT version_num FROM ledger.alembic_version")).fetchone()
                    return None if row is None else str(row[0])
        except MigrationNeeded:
            return None

    async def close(self) -> None:
        """See `ports.Store.close`."""
        await self._appending.close()
        await self._pool.close()
