"""API tokens of a service, stored without their secrets (trust S-2), each proved by its events (trust K-6)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, Protocol

import msgspec

from ledger.events import TokenCreated
from ledger.events.ids import Stream
from projections.log.tokens import LoggedToken

#: The stream of the events of tokens. Its namespace is one that no client can name, for tokens belong to no namespace.
ACCESS: Final = Stream.of("/ledger", "/access")


class StoredToken(msgspec.Struct, frozen=True, kw_only=True):
    """A token without its secret; *namespaces* None means all."""

    name: str
    scopes: tuple[str, ...]
    namespaces: tuple[str, ...] | None
    expires_at: datetime | None
    revoked_at: datetime | None


class FoundToken(StoredToken, frozen=True, kw_only=True):
    """A token with the hash that a request's token is compared with."""

    token_hash: bytes

    def creation(self, key_id: str, *, write_id: str) -> TokenCreated:
        """Return the event that creates this token."""
        return TokenCreated(
            write_id=write_id,
            key_id=key_id,
            name=self.name,
            token_hash=self.token_hash.hex(),
            scopes=self.scopes,
            namespaces=self.namespaces,
            expires_at=self.expires_at,
        )

    def difference(self, key_id: str, logged: LoggedToken | None) -> str | None:
        """Return how this row differs from what the events of its key id say; None if it holds."""
        if logged is None:
            return f"token {key_id} has no event that created it"
        if self.creation(key_id, write_id=logged.created.write_id) != logged.created:
            return f"token {key_id} is not as it was created"
        if (self.revoked_at is not None) != logged.is_revoked:
            return f"token {key_id} is {'not ' if logged.is_revoked else ''}revoked, and its events say otherwise"
        return None


class ListedToken(StoredToken, frozen=True, kw_only=True):
    """A token as ``token list`` shows it."""

    key_id: str
    created_at: datetime


class TokenStore(Protocol):
    """Reads tokens, as the application."""

    async def find(self, key_id: str) -> FoundToken | None:
        """Return the token with a key id; None if there is none, or it is not as its events say."""
        ...

    async def all(self) -> Mapping[str, FoundToken]:
        """Return all rows by key id, whatever their events say."""
        ...
