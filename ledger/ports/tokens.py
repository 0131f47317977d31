"""API tokens of a service, stored without their secrets (trust S-2)."""

from datetime import datetime
from typing import Protocol

import msgspec


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


class ListedToken(StoredToken, frozen=True, kw_only=True):
    """A token as ``token list`` shows it."""

    key_id: str
    created_at: datetime


class TokenFinder(Protocol):
    """Looks tokens up, as the application."""

    async def find(self, key_id: str) -> FoundToken | None:
        """Return the token with a key id; None if there is no such token."""
        ...
