"""Tokens need a database that outlives the process."""

from ledger.ports.token_store import FoundToken


class NoTokens:
    """A `ports.tokens.TokenStore` without tokens."""

    async def find(self, key_id: str) -> FoundToken | None:
        return None

    async def all(self) -> dict[str, FoundToken]:
        return {}
