"""The store on PostgreSQL, embedded or a server."""

import logging

from ledger.errors import MigrationNeeded, ReadOnlyDatabase
from ledger.ports.derived_rows import DerivedRows
from ledger.ports.event_store import EventStore
from ledger.ports.job_queue import JobStore
from ledger.ports.projection_store import ProjectionStore
from ledger.ports.record_store import RecordStore
from ledger.ports.search_index import SearchIndexStore
from ledger.ports.served_views import ServedViewStore
from ledger.ports.session_index import SessionIndexStore
from ledger.ports.snapshot_store import SnapshotStore
from ledger.ports.token_store import TokenStore
from ledger.stores.postgres.connections import Pool, PoolUse
from ledger.stores.postgres.connector import Connector, Login, Target
from ledger.stores.postgres.derived_rows import PostgresDerivedRows
from ledger.stores.postgres.event_store import PostgresEventStore
from ledger.stores.postgres.faults import READ_ONLY, translated
from ledger.stores.postgres.job_queue import PostgresJobs
from ledger.stores.postgres.projection_store import PostgresProjections
from ledger.stores.postgres.record_store import PostgresRecords
from ledger.stores.postgres.revisions import require_newest
from ledger.stores.postgres.search_index import PostgresSearchIndex
from ledger.stores.postgres.served_views import PostgresServedViews
from ledger.stores.postgres.session_index import PostgresSessionIndex
from ledger.stores.postgres.snapshot_store import PostgresSnapshots
from ledger.stores.postgres.token_store import PostgresTokens

__all__ = ["Login", "PostgresStore", "Target"]

log = logging.getLogger("ledger")


class PostgresStore:
    """A `Store` on a migrated PostgreSQL database; see `open`."""

    def __init__(
        self, target: Target, *, group_commit: bool = True, patience_s: float = 8.0, key: bytes | None = None
    ) -> None:
        self._pool = Pool(Connector(target))
        self._events = PostgresEventStore(self._pool, group_commit=group_commit, patience_s=patience_s)
        self.events: EventStore = self._events
        self.snapshots: SnapshotStore = PostgresSnapshots(self._pool, self._events, key)
        self.projections: ProjectionStore = PostgresProjections(self._pool, self._events)
        self.session_index: SessionIndexStore = PostgresSessionIndex(self._pool)
        self.search: SearchIndexStore = PostgresSearchIndex(self._pool)
        self.records: RecordStore = PostgresRecords(self._pool, self._events)
        self.jobs: JobStore = PostgresJobs(self._pool)
        self.served_views: ServedViewStore = PostgresServedViews(self._pool)
        self.derived: DerivedRows = PostgresDerivedRows(self._pool)
        self.tokens: TokenStore = PostgresTokens(self._pool, self._events)

    @classmethod
    async def open(
        cls, target: Target, *, group_commit: bool = True, patience_s: float = 8.0, key: bytes | None = None
    ) -> "PostgresStore":
        """Return a store after checking the server, the login and the schema.

        *key* proves its snapshots to other processes with the same key.

        Raises:
            DatabaseUnavailable: the server cannot be reached.
            MigrationNeeded: the schema is not the one of this release.
            UnsafeDatabase, UnsafeRole: the settings or the login could break a promise (trust P-2, D-10). Settings
                that the target allows are logged as warnings.
        """
        store = cls(target, group_commit=group_commit, patience_s=patience_s, key=key)
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
        """The login, as the newest connection found it."""
        return self._pool.connector.login

    @property
    def connections(self) -> PoolUse:
        """How many connections to the database are open and in use, and how many there may be."""
        return self._pool.use

    async def revision(self) -> str | None:
        """Return the migration the database is at; None if it has no ledger schema."""
        try:
            with translated():
                async with self._pool.readers.use() as driver:
                    row = await (await driver.execute("SELECT version_num FROM ledger.alembic_version")).fetchone()
                    return None if row is None else str(row[0])
        except MigrationNeeded:
            return None

    async def require_writable(self) -> None:
        """Refuse a server that takes no writes.

        Raises:
            ReadOnlyDatabase: it is a standby, or its transactions are read-only.
        """
        with translated():
            async with self._pool.readers.use() as driver:
                row = await (await driver.execute("SELECT current_setting('transaction_read_only')")).fetchone()
        if row is not None and row[0] == "on":
            raise ReadOnlyDatabase(READ_ONLY)

    async def close(self) -> None:
        try:
            await self._events.close()
        finally:
            await self._pool.close()
