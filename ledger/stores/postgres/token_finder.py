"""Finding a token of the service, as the application. Source: trust S-2."""

from datetime import datetime

import msgspec

from ledger.stores.postgres.connections import Pool
from ledger.stores.postgres.faults import translated


class StoredToken(msgspec.Struct, frozen=True, kw_only=True):
    """A token without its secret; *namespaces* none is all of them."""

    name: str
    scopes: tuple[str, ...]
    namespaces: tuple[str, ...] | None
    expires_at: datetime | None
    revoked_at: datetime | None


class FoundToken(StoredToken, frozen=True, kw_only=True):
    """What a request's token is compared with."""

    token_hash: bytes


class ListedToken(StoredToken, frozen=True, kw_only=True):
    """A token as its keeper sees it."""

    key_id: str
    created_at: datetime


class TokenFinder:
    """Looks tokens up, as the application."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find_token(self, key_id: str) -> FoundToken | None:
        """Return the token of a key id; none if there is none."""
        with translated():
            async with self._pool.readers.use() as driver:
                cursor = await driver.execute("SELECT * FROM ledger.find_token(%s)", (key_id,))
                row = await cursor.fetchone()
        if row is None:
            return None
        digest, name, scopes, namespaces, expires_at, revoked_at = row
        return FoundToken(
            token_hash=bytes(digest),
            name=name,
            scopes=tuple(scopes),
            namespaces=None if namespaces is None else tuple(namespaces),
            expires_at=expires_at,
            revoked_at=revoked_at,
        )
