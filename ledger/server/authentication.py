"""Find the caller of a request by its token or its JWT. Source: http W-74, trust S-2, S-3, I-79, I-80."""

import hmac
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

from fastapi import Request

from ledger.errors import InvalidInput, NotAuthenticated
from ledger.ports import Clock
from ledger.ports.token_store import FoundToken
from ledger.server.access.browser_login import KEY_OF_TOKEN, BrowserLogin
from ledger.server.access.callers import SCOPES, Authenticator, Caller, NoAuthentication
from ledger.server.access.grants import GrantSeal
from ledger.server.access.oidc import JwtScheme, Keys, PublishedKeys, SharedKey
from ledger.server.access.token_format import hash_of, key_id_of
from ledger.server.service import Service
from ledger.server.service_settings import ServiceSettings
from ledger.stores.postgres import PostgresStore

#: How long a token stays in the cache: a revocation takes effect after this time at the latest.
CACHED_S: Final = 2.5
_MOST_CACHED: Final = 10_000
_NO_HASH: Final = bytes(32)


class Scheme(Protocol):
    """One kind of credential."""

    async def caller(self, credential: str) -> Caller | None:
        """Return the caller, or None if the credential is not valid.

        Raises:
            Unavailable: the credential cannot be checked now.
        """
        ...


class Credentials:
    """Checks the credential of a request with each of *schemes* until one knows it."""

    def __init__(self, schemes: Sequence[Scheme]) -> None:
        self._schemes = schemes

    async def caller(self, request: Request) -> Caller:
        """See `callers.Authenticator.caller`."""
        found = await self.find(_credential(request))
        if found is None:
            raise NotAuthenticated
        return found

    async def find(self, credential: str) -> Caller | None:
        """Return the caller of *credential*, or None if it is not valid.

        Raises:
            Unavailable: it cannot be checked now.
        """
        for scheme in self._schemes:
            found = await scheme.caller(credential)
            if found is not None:
                return found
        return None


class TokenScheme:
    """Tokens of this service; a wrong one takes as long to check as a right one (trust I-80)."""

    def __init__(self, find: Callable[[str], Awaitable[FoundToken | None]], clock: Clock) -> None:
        self._find = find
        self._clock = clock
        self._cache: OrderedDict[str, tuple[float, FoundToken | None]] = OrderedDict()

    async def caller(self, credential: str) -> Caller | None:
        """See `Scheme.caller`."""
        key_id = key_id_of(credential)
        found = await self._look_up(key_id) if key_id else None  # nonsense must not reach the database
        same = hmac.compare_digest(hash_of(credential), found.token_hash if found else _NO_HASH)
        return self._caller(key_id, found) if key_id and found is not None and same else None

    async def holder(self, key_id: str) -> Caller | None:
        """Return the caller with the token *key_id*, which is known to be theirs; None if it is not valid any more.

        Raises:
            Unavailable: it cannot be checked now.
        """
        found = await self._look_up(key_id)
        return None if found is None else self._caller(key_id, found)

    def _caller(self, key_id: str, found: FoundToken) -> Caller | None:
        if found.revoked_at is not None or (found.expires_at is not None and found.expires_at <= self._clock.now()):
            return None
        namespaces = None if found.namespaces is None else frozenset(found.namespaces)
        scopes = frozenset(scope for scope in SCOPES if scope in found.scopes)
        return Caller(found.name, scopes, namespaces, f"{KEY_OF_TOKEN}{key_id}", expires_at=found.expires_at)

    async def _look_up(self, key_id: str) -> FoundToken | None:
        now_s = time.monotonic()
        cached = self._cache.get(key_id)
        if cached is not None and now_s < cached[0]:
            return cached[1]
        found = await self._find(key_id)
        self._cache[key_id] = (now_s + CACHED_S, found)
        self._cache.move_to_end(key_id)
        if len(self._cache) > _MOST_CACHED:
            self._cache.popitem(last=False)
        return found


def authenticator_of(service: Service, settings: ServiceSettings) -> Authenticator:
    """Return the authenticator that the settings name.

    Raises:
        InvalidInput: ``bad_setting``: tokens need PostgreSQL to store them.
    """
    if settings.auth_mode == "none":
        return NoAuthentication()
    schemes: list[Scheme] = []
    holder = _nobody
    if "token" in settings.auth_mode:
        if not isinstance(service.store, PostgresStore):
            raise InvalidInput("bad_setting", "must not be token without PostgreSQL", field="AUTH_MODE")
        tokens = TokenScheme(service.store.tokens.find, service.clock)
        schemes.append(tokens)
        holder = tokens.holder
    if "oidc" in settings.auth_mode:
        schemes.append(JwtScheme(_keys(settings), settings, service.clock))
    credentials = Credentials(schemes)
    if not settings.ui:
        return credentials
    key = settings.with_ui_key().ui_key
    assert key is not None, "it was made"
    seal = GrantSeal(key.get_secret_value().encode())
    return BrowserLogin(seal, service.clock, otherwise=credentials, by_credential=credentials.find, holder=holder)


async def _nobody(key_id: str) -> Caller | None:
    return None


def _keys(settings: ServiceSettings) -> Keys:
    if settings.oidc_hmac_key is not None:
        return SharedKey(settings.oidc_hmac_key.get_secret_value())
    assert settings.oidc_jwks_url is not None, "the settings check it"
    return PublishedKeys(
        settings.oidc_jwks_url,
        algorithms=settings.oidc_algorithms,
        private_networks=settings.oidc_private_networks,
    )


def _credential(request: Request) -> str:
    """Return the one credential of *request*; empty, so that no scheme accepts it, if there is none or several."""
    given = request.headers.getlist("authorization")
    keys = request.headers.getlist("x-api-key")
    if len(given) + len(keys) != 1:
        return ""
    if keys:
        return keys[0]
    scheme, _, credential = given[0].partition(" ")
    return credential.strip() if scheme.lower() == "bearer" else ""
