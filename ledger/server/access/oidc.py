"""Strict checks of the JWTs of an OIDC issuer. Source: trust S-3, I-79."""

import asyncio
import logging
import math
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Protocol

import jwt
from jwt.exceptions import PyJWTError

from ledger.errors import InvalidInput, LedgerError, Unavailable
from ledger.events.names import check_actor, check_name
from ledger.events.strict_json import parse
from ledger.ports import Clock
from ledger.server.access.callers import SCOPES, Caller
from ledger.server.access.safe_fetch import check_url, fetch
from ledger.server.service_settings import ServiceSettings

log = logging.getLogger("ledger.server")

MAX_JWT_CHARACTERS: Final = 4 * 1024
#: How long keys are used before they are fetched again; and how long at most, if the issuer does not answer.
FRESH_S: Final = 600.0
STALE_S: Final = 3_600.0
#: The least time between two fetches, after a failure and after a success.
RETRY_S: Final = 2.0
REFETCH_S: Final = 30.0
_LEEWAY_S: Final = 30
_REQUIRED: Final = ["exp", "iat", "aud", "iss", "sub"]
#: The signatures of each kind of key; a key checks no others (RS and HS swapped, trust I-79).
_ALGORITHMS: Final = {
    "RSA": frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}),
    "EC": frozenset({"ES256", "ES384", "ES512"}),
    "OKP": frozenset({"EdDSA"}),
}


class Keys(Protocol):
    """The keys of an issuer."""

    async def key(self, header: Mapping[str, object]) -> "tuple[Any, list[str]] | None":
        """Return the key for a token with *header* and the permitted algorithms; None if there is no such key.

        Raises:
            Unavailable: the keys cannot be fetched now.
        """
        ...


class SharedKey:
    """One key, shared by issuer and service."""

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()

    async def key(self, header: Mapping[str, object]) -> tuple[Any, list[str]] | None:
        """See `Keys.key`."""
        return self._secret, ["HS256"]


class PublishedKeys:
    """The keys that an issuer publishes at *url*; URLs inside a token are never used."""

    def __init__(self, url: str, *, algorithms: Sequence[str], private_networks: bool) -> None:
        unsafe = [name for name in algorithms if not any(name in kind for kind in _ALGORITHMS.values())]
        if unsafe or not algorithms:
            known = ", ".join(sorted(frozenset[str]().union(*_ALGORITHMS.values())))
            raise InvalidInput("bad_setting", f"must be some of {known}", field="MEMORY_LEDGER_OIDC_ALGORITHMS")
        check_url(url, private_networks=private_networks)
        self._url = url
        self._algorithms = frozenset(algorithms)
        self._private = private_networks
        self._keys: dict[str, tuple[Any, list[str]]] = {}
        self._fetched_s = -math.inf
        self._next_fetch_s = -math.inf
        self._fetching = asyncio.Lock()

    async def key(self, header: Mapping[str, object]) -> tuple[Any, list[str]] | None:
        """See `Keys.key`."""
        name = header.get("kid")
        if not isinstance(name, str) or len(name) > 200:
            return None
        if self._must_fetch(name):
            async with self._fetching:
                if self._must_fetch(name):
                    await self._fetch()
        if time.monotonic() - self._fetched_s > STALE_S:
            raise Unavailable("the keys of the issuer cannot be fetched; try again")
        return self._keys.get(name)

    def _must_fetch(self, name: str) -> bool:
        """Return whether to fetch the keys; unknown key ids must not cause fetches without end."""
        now_s = time.monotonic()
        return now_s >= self._next_fetch_s and (now_s - self._fetched_s > FRESH_S or name not in self._keys)

    async def _fetch(self) -> None:
        try:
            published = parse(await fetch(self._url, private_networks=self._private))["keys"]
            found = [_usable(key, self._algorithms) for key in published]
        except (LedgerError, KeyError, TypeError, ValueError) as fault:
            log.warning("the keys of the issuer cannot be fetched: %s", type(fault).__name__)
            self._next_fetch_s = time.monotonic() + RETRY_S
            return
        self._keys = dict(key for key in found if key is not None)
        self._fetched_s = time.monotonic()
        self._next_fetch_s = self._fetched_s + REFETCH_S


def _usable(published: Any, algorithms: frozenset[str]) -> tuple[str, tuple[Any, list[str]]] | None:
    """Return the id of a key, the key, and the algorithms to check with it; None if it cannot be used here."""
    match published:
        case {"kid": str(name), "kty": str(kind)} if published.get("use", "sig") == "sig":
            allowed = _ALGORITHMS.get(kind, frozenset()) & algorithms
            if "alg" in published:
                allowed &= {str(published["alg"])}
        case _:
            return None
    if not allowed:
        return None
    try:
        key = jwt.PyJWK.from_dict(published, algorithm=min(allowed)).key
    except (PyJWTError, ValueError, TypeError, KeyError) as fault:
        log.warning("a key of the issuer is malformed: %s", type(fault).__name__)
        return None
    return name, (key, sorted(allowed))


class JwtScheme:
    """Finds the caller by a JWT; an `authentication.Scheme`."""

    def __init__(self, keys: Keys, settings: ServiceSettings, clock: Clock) -> None:
        self._keys = keys
        self._settings = settings
        self._clock = clock

    async def caller(self, credential: str) -> Caller | None:
        """Return the caller, or None if the token is not valid.

        Raises:
            Unavailable: the keys of the issuer cannot be fetched now.
        """
        if not credential or len(credential) > MAX_JWT_CHARACTERS or credential.count(".") != 2:
            return None
        try:
            header = jwt.get_unverified_header(credential)
            if "crit" in header or header.get("typ", "JWT").lower() not in {"jwt", "at+jwt"}:
                return None
            found = await self._keys.key(header)
            if found is None:
                return None
            key, algorithms = found
            claims = jwt.decode(
                credential,
                key,
                algorithms=algorithms,
                audience=self._settings.oidc_audience,
                issuer=self._settings.oidc_issuer,
                leeway=_LEEWAY_S,
                options={"require": _REQUIRED, "enforce_minimum_key_length": True},
            )
            return self._caller(claims)
        except (PyJWTError, InvalidInput, ValueError, TypeError, AttributeError, OverflowError):
            return None

    def _caller(self, claims: Mapping[str, Any]) -> Caller | None:
        issued, expires = claims["iat"], claims["exp"]
        if not (type(issued) is int and type(expires) is int):
            return None
        if expires - issued > self._settings.oidc_max_lifetime_s or expires <= issued:
            return None
        scopes = claims.get(self._settings.oidc_scopes_claim, "")
        given = scopes.split() if isinstance(scopes, str) else scopes
        names = claims.get(self._settings.oidc_namespaces_claim, [])
        if not isinstance(names, list) or not claims["sub"]:
            return None
        return Caller(
            actor=check_actor(claims["sub"], field="sub"),
            scopes=frozenset(scope for scope in SCOPES if scope in given),
            namespaces=None if "*" in names else frozenset(check_name(name, field="namespaces") for name in names),
            key=f"jwt:{claims['sub']}",
            expires_at=datetime.fromtimestamp(expires, UTC),
        )
