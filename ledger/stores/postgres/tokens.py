"""Looking up an API token, as the application. Source: trust S-2."""

from ledger.ports.tokens import FoundToken
from ledger.stores.postgres.connections import Pool
from ledger.stores.postgres.faults import translated


class PostgresTokens:
    """See `ports.tokens.TokenFinder`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find(self, key_id: str) -> FoundToken | None:
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
