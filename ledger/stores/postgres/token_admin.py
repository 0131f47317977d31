"""Administration of API tokens, as the owner of the schema; each change is an event, too. Source: trust S-2, K-6."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import sqlalchemy as sa

from ledger.errors import LogCorrupted, NotAllowed
from ledger.events import AccessEvent, TokenRevoked, to_datetime
from ledger.events.clock import SystemClock
from ledger.ports import Clock
from ledger.ports.event_encoding import new_event
from ledger.ports.token_store import ACCESS, FoundToken, ListedToken
from ledger.stores.postgres import tables
from ledger.stores.postgres.deadlines import DEFAULT_TIMEOUT_S
from ledger.stores.postgres.faults import translated
from ledger.stores.postgres.migration import owner_engine, run_sql_on

_TOKENS = tables.api_tokens
_APPEND: Final = sa.text("""
    SELECT ledger.append_stream(
        :namespace, coalesce(nullif(current_setting('role'), 'none'), session_user::text), false, :stream, '', :session,
        NULL, NULL, NULL, NULL, NULL, NULL, ARRAY[CAST(:event AS uuid)], ARRAY[CAST(:type AS text)],
        ARRAY[CAST(:schema_version AS smallint)], ARRAY[CAST(:codec AS smallint)],
        ARRAY[CAST(:occurred_at AS timestamptz)], ARRAY[CAST(:actor AS text)], ARRAY[CAST(:item AS text)], NULL, NULL,
        ARRAY[CAST(:structure AS bytea)], ARRAY[CAST(:content AS bytea)]
    )
""")


class TokenAdmin:
    """Creates, lists and revokes tokens; see `token_admin`."""

    def __init__(self, connection: sa.Connection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock

    def add(self, key_id: str, token: FoundToken) -> None:
        """Record that *token* is created, and store it under *key_id*."""
        self._append(token.creation(key_id, write_id=self._clock.ulid()))
        row: dict[str, Any] = {
            "key_id": key_id,
            "token_hash": token.token_hash,
            "name": token.name,
            "scopes": list(token.scopes),
            "namespaces": None if token.namespaces is None else list(token.namespaces),
            "expires_at": token.expires_at,
        }
        self._connection.execute(sa.insert(_TOKENS).values(row))

    def all(self) -> list[ListedToken]:
        """Return all tokens, oldest first."""
        columns = [column for column in _TOKENS.c if column.name != "token_hash"]
        rows = self._connection.execute(sa.select(*columns).order_by(_TOKENS.c.created_at, _TOKENS.c.key_id)).mappings()
        return [
            ListedToken(
                key_id=row["key_id"],
                name=row["name"],
                scopes=tuple(row["scopes"]),
                namespaces=None if row["namespaces"] is None else tuple(row["namespaces"]),
                created_at=row["created_at"],
                expires_at=row["expires_at"],
                revoked_at=row["revoked_at"],
            )
            for row in rows
        ]

    def revoke(self, key_id: str) -> bool:
        """Revoke a token and return whether it exists; revoking it again changes nothing."""
        wanted = _TOKENS.c.key_id == key_id
        row = self._connection.execute(sa.select(_TOKENS.c.revoked_at).where(wanted).with_for_update()).first()
        if row is not None and row[0] is None:
            self._append(TokenRevoked(write_id=self._clock.ulid(), key_id=key_id))
            revoked = sa.update(_TOKENS).where(wanted).values(revoked_at=sa.func.clock_timestamp())
            self._connection.execute(revoked)
        return row is not None

    def _append(self, event: AccessEvent) -> None:
        """Append *event*; its actor is the login."""
        login = str(self._connection.scalar(sa.text("SELECT session_user")))
        new = new_event(event, self._clock, login)
        self._connection.execute(
            sa.text("SELECT ledger.create_namespace(:id, :name)"), {"id": ACCESS.namespace_id, "name": ACCESS.namespace}
        )
        values = {
            "namespace": ACCESS.namespace_id,
            "stream": ACCESS.stream_id,
            "session": ACCESS.session_id,
            "event": new.event_id,
            "type": new.type,
            "schema_version": new.schema_version,
            "codec": new.codec,
            "occurred_at": to_datetime(new.occurred_us),
            "actor": new.actor,
            "item": new.item_id,
            "structure": new.structure,
            "content": new.content,
        }
        if self._connection.scalar(_APPEND, values) is None:
            raise LogCorrupted(f"the log refuses an event of {ACCESS.session_id}; run `memory-ledger verify`")


@contextmanager
def token_admin(url: str, clock: Clock | None = None, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> Iterator[TokenAdmin]:
    """Yield a `TokenAdmin` of the database at *url*, in one transaction.

    Raises:
        DatabaseUnavailable: the server cannot be reached.
        NotAllowed: the login may not act as the owner; the login that migrates may.
        MigrationNeeded: there is no schema yet.
    """
    engine = owner_engine(url, timeout_s=timeout_s)
    try:
        with translated(), engine.begin() as connection:
            run_sql_on(connection, "become_owner")
            yield TokenAdmin(connection, clock or SystemClock())
    except NotAllowed as fault:
        raise NotAllowed(
            "only the login that migrates may manage tokens; use its database URL, not that of the service"
        ) from fault
    finally:
        engine.dispose()
