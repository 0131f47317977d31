"""The database side of a restore: exported events are stored byte for byte as they were. Source: trust E-12.

Like a migration it needs a login that may act as the owner: the application's role can choose neither the number
nor the hash of an event.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg

from ledger.errors import NamespaceExists
from ledger.events import StoredEvent, to_datetime
from ledger.events.ids import Stream, namespace_id
from ledger.stores.postgres.deadlines import DEFAULT_TIMEOUT_S, connect
from ledger.stores.postgres.faults import translated
from ledger.stores.postgres.revisions import migrations_dir

BECOME_OWNER = (migrations_dir() / "sql" / "become_owner.sql").read_text()
_RESTORE = """
SELECT ledger.restore_events(
    %s, %s::bigint[], %s::bigint[], %s::uuid[], %s::text[], %s::text[], %s::uuid[], %s::text[], %s::smallint[],
    %s::smallint[], %s::timestamptz[], %s::timestamptz[], %s::text[], %s::text[], %s::uuid[], %s::bytea[],
    %s::bytea[], %s::bytea[], %s::bytea[], %s::bytea[]
)
"""
_NOTE_FORKS = """
UPDATE ledger.streams s SET parent_id = f.parent_id, parent_version = f.version
FROM unnest(%s::uuid[], %s::uuid[], %s::bigint[]) AS f (stream_id, parent_id, version)
WHERE s.namespace_id = %s AND s.stream_id = f.stream_id
"""


class Restoration:
    """One transaction that restores a namespace."""

    def __init__(self, connection: psycopg.Connection[Any], namespace: str, streams: Mapping[UUID, Stream]) -> None:
        self._connection = connection
        self._namespace_id = namespace_id(namespace)
        self._streams = streams

    def put(self, page: Sequence[StoredEvent]) -> None:
        """Store the events that directly follow those before, in position order."""
        streams = [self._streams[event.stream_id] for event in page]
        columns = (
            [event.position for event in page],
            [event.version for event in page],
            [event.stream_id for event in page],
            [stream.user_id for stream in streams],
            [stream.session_id for stream in streams],
            [event.event_id for event in page],
            [event.type for event in page],
            [event.schema_version for event in page],
            [event.codec for event in page],
            [to_datetime(event.occurred_us) for event in page],
            [to_datetime(event.recorded_us) for event in page],
            [event.actor for event in page],
            [event.item_id for event in page],
            [event.key_id for event in page],
            [event.key_commitment for event in page],
            [event.content_digest for event in page],
            [event.hash for event in page],
            [event.structure for event in page],
            [event.content for event in page],
        )
        self._connection.execute(_RESTORE, (self._namespace_id, *columns))

    def note_forks(self, parents: Mapping[UUID, tuple[UUID, int]]) -> None:
        """Record where streams were forked."""
        forks = [(stream_id, parent_id, version) for stream_id, (parent_id, version) in parents.items()]
        columns = ([each[column] for each in forks] for column in range(3))
        self._connection.execute(_NOTE_FORKS, (*columns, self._namespace_id))


@contextmanager
def restoration(
    url: str,
    *,
    namespace: str,
    ledger_id: UUID,
    streams: Mapping[UUID, Stream],
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> Iterator[Restoration]:
    """Restore *namespace* into the database at *url* in one transaction.

    Raises:
        NamespaceExists: the namespace already exists.
        NotAllowed: the login may not act as the owner.
    """
    own_id = namespace_id(namespace)
    with translated(), connect(url, timeout_s=timeout_s, takes_time=True) as connection:
        connection.execute(BECOME_OWNER)
        connection.execute("SELECT set_config('ledger.namespace', %s, true)", (str(own_id),))
        created = connection.execute(
            "INSERT INTO ledger.namespaces (namespace_id, namespace, ledger_id) VALUES (%s, %s, %s) "
            "ON CONFLICT DO NOTHING",
            (own_id, namespace, ledger_id),
        )
        if not created.rowcount:
            raise NamespaceExists(namespace)
        yield Restoration(connection, namespace, streams)
