"""Who calls, told from tokens of ours or JWTs of an issuer. Source: http W-74, trust S-2, S-3, I-79, I-80."""

import hmac
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

from fastapi import Request

from ledger.errors import InvalidInput, NotAuthenticated
from ledger.ports import Clock
from ledger.ports.tokens import FoundToken
from ledger.server.callers import SCOPES, Authenticator, Caller, Everybody
from ledger.server.oidc import JwtScheme, Keys, PublishedKeys, SharedKey
from ledger.server.service import Service
from ledger.server.settings import ServiceSettings
from ledger.server.tokens import hash_of, key_id_of
from ledger.stores.postgres import PostgresStore

#: How long a token that was looked up is taken as it was: its revocation takes effect after that at the latest.
REMEMBERED_S: Final = 4.0
_MOST_REMEMBERED: Final = 10_000
_NOBODY: Final = bytes(32)


class Scheme(Protocol):
    """One way to tell who calls from a credential."""

    async def caller(self, credential: str) -> Caller | None:
        """Return who calls; none if the credential does not hold.

        Raises:
            Unavailable: it cannot be checked now.
        """
        ...


class Credentials:
    """Takes the credential of a request to the first of *schemes* that knows it."""

    def __init__(self, schemes: Sequence[Scheme]) -> None:
        self._schemes = schemes

    async def caller(self, request: Request) -> Caller:
        """See `callers.Authenticator.caller`."""
        credential = _credential(request)
        for scheme in self._schemes:
            found = await scheme.caller(credential)
            if found is not None:
                return found
        raise NotAuthenticated


class TokenScheme:
    """Tokens of ours; a wrong one costs as much as a right one (trust I-80)."""

    def __init__(self, find: Callable[[str], Awaitable[FoundToken | None]], clock: Clock) -> None:
        self._find = find
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, FoundToken | None]] = OrderedDict()

    async def caller(self, credential: str) -> Caller | None:
        """See `Scheme.caller`."""
        key_id = key_id_of(credential) or ""
        found = await self._remembered(key_id)
        same = hmac.compare_digest(hash_of(credential), found.token_hash if found else _NOBODY)
        if found is None or not same or found.revoked_at is not None:
            return None
        if found.expires_at is not None and found.expires_at <= self._clock.now():
            return None
        namespaces = None if found.namespaces is None else frozenset(found.namespaces)
        scopes = frozenset(scope for scope in SCOPES if scope in found.scopes)
        return Caller(actor=found.name, scopes=scopes, namespaces=namespaces, key=f"token:{key_id}")

    async def _remembered(self, key_id: str) -> FoundToken | None:
        now_s = time.monotonic()
        known = self._known.get(key_id)
        if known is not None and now_s < known[0]:
            return known[1]
        found = await self._find(key_id)
        self._known[key_id] = (now_s + REMEMBERED_S, found)
        self._known.move_to_end(key_id)
        if len(self._known) > _MOST_REMEMBERED:
            self._known.popitem(last=False)
        return found


def authenticator_of(service: Service, settings: ServiceSettings) -> Authenticator:
    """Return what tells who calls, as the settings want it.

    Raises:
        InvalidInput: ``bad_setting``: tokens need a database that keeps them.
    """
    if settings.auth_mode == "none":
        return Everybody()
    schemes: list[Scheme] = []
    if "token" in settings.auth_mode:
        if not isinstance(service.store, PostgresStore):
            raise InvalidInput(
                "bad_setting", "tokens are kept in PostgreSQL, which this service has not", field="AUTH_MODE"
            )
        schemes.append(TokenScheme(service.store.tokens.find, service.clock))
    if "oidc" in settings.auth_mode:
        schemes.append(JwtScheme(_keys(settings), settings, service.clock))
    return Credentials(schemes)


def _keys(settings: ServiceSettings) -> Keys:
    if settings.oidc_hmac_key is not None:
        return SharedKey(settings.oidc_hmac_key.get_secret_value())
    assert settings.oidc_jwks_url is not None, "the settings see to it"
    return PublishedKeys(
        settings.oidc_jwks_url,
        algorithms=settings.oidc_algorithms,
        private_networks=settings.oidc_private_networks,
    )


def _credential(request: Request) -> str:
    """Return the one credential of *request*; empty, which nothing accepts, if there is none or several."""
    given = request.headers.getlist("authorization")
    keys = request.headers.getlist("x-api-key")
    if len(given) + len(keys) != 1:
        return ""
    if keys:
        return keys[0]
    scheme, _, credential = given[0].partition(" ")
    return credential.strip() if scheme.lower() == "bearer" else ""
