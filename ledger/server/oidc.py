"""JWTs of an OIDC issuer, strictly. Source: trust S-3, I-79."""

import asyncio
import logging
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import jwt
from jwt.exceptions import PyJWTError

from ledger.errors import InvalidInput, LedgerError, Unavailable
from ledger.names import check_name
from ledger.ports import Clock
from ledger.server.callers import SCOPES, Caller
from ledger.server.safe_fetch import check_url, fetch
from ledger.server.settings import ServiceSettings
from ledger.strict_json import parse

log = logging.getLogger("ledger.server")

LONGEST: Final = 4 * 1024
KEPT_S: Final = 600.0
#: How long keys serve on while the issuer does not answer.
STALE_S: Final = 3_600.0
FAILED_AGAIN_S: Final = 2.0
ASKED_AGAIN_S: Final = 30.0
_LEEWAY_S: Final = 30
_REQUIRED: Final = ["exp", "iat", "aud", "iss", "sub"]
#: Which signatures a kind of key makes; a key never checks another (RS and HS swapped, trust I-79).
_KINDS: Final = {
    "RSA": frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}),
    "EC": frozenset({"ES256", "ES384", "ES512"}),
    "OKP": frozenset({"EdDSA"}),
}


class Keys(Protocol):
    """Where the keys of an issuer are."""

    async def key(self, header: Mapping[str, object]) -> "tuple[Any, list[str]] | None":
        """Return the key for a token with *header*, and the signatures it may have; none if there is none.

        Raises:
            Unavailable: the keys cannot be read now.
        """
        ...


class SharedKey:
    """One key that issuer and service share."""

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()

    async def key(self, header: Mapping[str, object]) -> tuple[Any, list[str]] | None:
        """See `Keys.key`."""
        return self._secret, ["HS256"]


class PublishedKeys:
    """The keys that an issuer publishes at *url*, and nowhere else; what a token says of a place is not followed."""

    def __init__(self, url: str, *, algorithms: Sequence[str], private_networks: bool) -> None:
        unsafe = [each for each in algorithms if not any(each in kind for kind in _KINDS.values())]
        if unsafe or not algorithms:
            known = ", ".join(sorted(frozenset[str]().union(*_KINDS.values())))
            raise InvalidInput("bad_setting", f"are some of {known}", field="MEMORY_LEDGER_OIDC_ALGORITHMS")
        check_url(url, private_networks=private_networks)
        self._url = url
        self._algorithms = frozenset(algorithms)
        self._private = private_networks
        self._keys: dict[str, tuple[Any, list[str]]] = {}
        self._read_s = -math.inf
        self._next_s = -math.inf
        self._reading = asyncio.Lock()

    async def key(self, header: Mapping[str, object]) -> tuple[Any, list[str]] | None:
        """See `Keys.key`."""
        name = header.get("kid")
        if not isinstance(name, str) or len(name) > 200:
            return None
        if self._must_read(name):
            async with self._reading:
                if self._must_read(name):
                    await self._read()
        if time.monotonic() - self._read_s > STALE_S:
            raise Unavailable("the issuer's keys cannot be read; try again")
        return self._keys.get(name)

    def _must_read(self, name: str) -> bool:
        """Tell whether to ask; unknown key ids must not make us ask without end."""
        now_s = time.monotonic()
        return now_s >= self._next_s and (now_s - self._read_s > KEPT_S or name not in self._keys)

    async def _read(self) -> None:
        try:
            published = parse(await fetch(self._url, private_networks=self._private))["keys"]
            found = dict(self._usable(each) for each in published if isinstance(each, dict) and "kid" in each)
        except (LedgerError, PyJWTError, KeyError, TypeError, ValueError) as fault:
            log.warning("the issuer's keys cannot be read: %s", type(fault).__name__)
            self._next_s = time.monotonic() + FAILED_AGAIN_S
            return
        self._keys = {name: key for name, key in found.items() if key[1]}
        self._read_s = time.monotonic()
        self._next_s = self._read_s + ASKED_AGAIN_S

    def _usable(self, published: dict[str, Any]) -> tuple[str, tuple[Any, list[str]]]:
        allowed = _KINDS.get(str(published.get("kty")), frozenset()) & self._algorithms
        if "alg" in published:
            allowed &= {str(published["alg"])}
        if not allowed or published.get("use", "sig") != "sig":
            return str(published["kid"]), (None, [])
        name = min(allowed)
        return str(published["kid"]), (jwt.PyJWK.from_dict(published, algorithm=name).key, sorted(allowed))


class JwtScheme:
    """See `authentication.Scheme`: tells who calls from a JWT."""

    def __init__(self, keys: Keys, settings: ServiceSettings, clock: Clock) -> None:
        self._keys = keys
        self._settings = settings
        self._clock = clock

    async def caller(self, credential: str) -> Caller | None:
        """Return who calls; none if the token does not hold.

        Raises:
            Unavailable: the issuer's keys cannot be read now.
        """
        if not credential or len(credential) > LONGEST or credential.count(".") != 2:
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
        given = set(scopes.split()) if isinstance(scopes, str) else {each for each in scopes if isinstance(each, str)}
        names = claims.get(self._settings.oidc_namespaces_claim, [])
        if not isinstance(names, list):
            return None
        return Caller(
            actor=check_name(claims["sub"], field="sub"),
            scopes=frozenset(scope for scope in SCOPES if scope in given),
            namespaces=None if "*" in names else frozenset(check_name(name, field="namespaces") for name in names),
            key=f"jwt:{claims['sub']}",
        )
