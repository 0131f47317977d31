"""Tokens for tests."""

from datetime import timedelta

from ledger.events.clock import SystemClock
from ledger.ports.token_store import FoundToken
from ledger.server.access.token_format import hash_of, key_id_of, new_token
from ledger.stores.postgres.token_admin import token_admin


class Keeper:
    """Makes tokens in the database of the tests."""

    def __init__(self, url: str) -> None:
        self.url = url

    def add(self, *scopes: str, namespaces: tuple[str, ...] | None = None, expires_in_s: float | None = None) -> str:
        key_id, secret = new_token()
        expires = None if expires_in_s is None else SystemClock().now() + timedelta(seconds=expires_in_s)
        token = FoundToken(
            token_hash=hash_of(secret),
            name="agent",
            scopes=scopes,
            namespaces=namespaces,
            expires_at=expires,
            revoked_at=None,
        )
        with token_admin(self.url) as keeper:
            keeper.add(key_id, token)
        return secret

    def revoke(self, secret: str) -> None:
        with token_admin(self.url) as keeper:
            assert keeper.revoke(key_id_of(secret) or "")
