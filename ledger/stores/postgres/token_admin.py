"""Administration of API tokens, as the owner of the schema. Source: trust S-2."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from ledger.errors import NotAllowed
from ledger.ports.tokens import FoundToken, ListedToken
from ledger.stores.postgres import tables
from ledger.stores.postgres.faults import translated
from ledger.stores.postgres.migration import run_sql_on, sqlalchemy_url

_TOKENS = tables.api_tokens


class TokenAdmin:
    """Creates, lists and revokes tokens; see `token_admin`."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def add(self, key_id: str, token: FoundToken) -> None:
        """Store *token* under *key_id*."""
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
        revoked = (
            sa.update(_TOKENS)
            .where(_TOKENS.c.key_id == key_id)
            .values(revoked_at=sa.func.coalesce(_TOKENS.c.revoked_at, sa.func.clock_timestamp()))
            .returning(_TOKENS.c.key_id)
        )
        return self._connection.execute(revoked).first() is not None


@contextmanager
def token_admin(url: str) -> Iterator[TokenAdmin]:
    """Yield a `TokenAdmin` of the database at *url*, in one transaction.

    Raises:
        DatabaseUnavailable: the server cannot be reached.
        NotAllowed: the login may not act as the owner; the login that migrates may.
        MigrationNeeded: there is no schema yet.
    """
    engine = sa.create_engine(sqlalchemy_url(url), poolclass=sa.NullPool)
    try:
        with translated(), engine.begin() as connection:
            run_sql_on(connection, "become_owner")
            yield TokenAdmin(connection)
    except NotAllowed as fault:
        raise NotAllowed(
            "only the login that migrates may manage tokens; use its database URL, not that of the service"
        ) from fault
    finally:
        engine.dispose()
