"""Events of access to the service, on one stream of the whole ledger that belongs to no namespace of a caller."""

from datetime import datetime

from ledger.events.payload_types import Payload


class _AboutToken(Payload, frozen=True):
    """Base of events about one API token."""

    key_id: str

    @property
    def item_id(self) -> str:
        """The token's key id."""
        return self.key_id


class TokenCreated(_AboutToken, frozen=True):
    """An API token was created; *token_hash* is its SHA-256 in hex, *namespaces* null means all."""

    type = "token.created"
    name: str
    token_hash: str
    scopes: tuple[str, ...] = ()
    namespaces: tuple[str, ...] | None = None
    expires_at: datetime | None = None


class TokenRevoked(_AboutToken, frozen=True):
    """An API token was revoked."""

    type = "token.revoked"
