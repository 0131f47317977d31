"""What a login in a browser may do: a cookie holds it under a MAC, and never holds the token itself."""

import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final

import msgspec

from ledger.errors import NotAuthenticated, NotPermitted
from ledger.server.access.callers import Caller

#: How long a login lasts at most.
LONGEST: Final = timedelta(hours=12)
#: Browsers drop a longer cookie.
_MOST_CHARACTERS: Final = 3_800


class Grant(msgspec.Struct, frozen=True, array_like=True):
    """The right of *actor* to read in *namespaces* (None means all) until *expires*, in seconds since 1970.

    *key* is that of the `Caller` who logged in; *number* is random, so that no two logins have the same cookie.
    """

    key: str
    actor: str
    namespaces: tuple[str, ...] | None
    expires: int
    number: str

    @classmethod
    def to(cls, caller: Caller, *, now: datetime) -> "Grant":
        """Return a new grant for *caller*, at most as long as their credential is valid.

        Raises:
            NotPermitted: ``scope_needed``: the credential lacks the scope ``read``.
            NotAuthenticated: the credential has expired.
        """
        caller.require("read")
        until = min(now + LONGEST, caller.expires_at or now + LONGEST)
        if until <= now:
            raise NotAuthenticated
        names = None if caller.namespaces is None else tuple(sorted(caller.namespaces))
        return cls(caller.key, caller.actor, names, int(until.timestamp()), secrets.token_urlsafe(12))

    @property
    def expires_at(self) -> datetime:
        """The end of the login."""
        return datetime.fromtimestamp(self.expires, UTC)

    @property
    def caller(self) -> Caller:
        """The caller that a request with this grant has."""
        names = None if self.namespaces is None else frozenset(self.namespaces)
        return Caller(self.actor, frozenset({"read"}), names, self.key, expires_at=self.expires_at, in_viewer=True)


class GrantSeal:
    """Seals grants into cookies, and opens only cookies that were sealed with the same *key*."""

    def __init__(self, key: bytes) -> None:
        self._cookie_key, self._csrf_key = (_mac(key, b"mledger/ui/" + use) for use in (b"cookie", b"csrf"))

    def sealed(self, grant: Grant) -> str:
        """Return the cookie for *grant*.

        Raises:
            NotPermitted: ``too_many_namespaces``: it does not fit into a cookie.
        """
        content = _text(msgspec.json.encode(grant))
        cookie = f"{content}.{self._mac_of(content)}"
        if len(cookie) > _MOST_CHARACTERS:
            raise NotPermitted("too_many_namespaces", "this credential names too many namespaces for a login")
        return cookie

    def opened(self, cookie: str) -> Grant | None:
        """Return the grant that *cookie* holds, whatever its end; None if it was not sealed with this key."""
        content, _, given = cookie.partition(".")
        if not hmac.compare_digest(self._mac_of(content).encode(), given.encode("utf-8", "replace")):
            return None
        try:
            return msgspec.json.decode(urlsafe_b64decode(content + "=" * (-len(content) % 4)), type=Grant)
        except msgspec.DecodeError:  # another release sealed it
            return None

    def csrf_token(self, cookie: str) -> str:
        """Return the token that each POST with *cookie* must bring: a page of another origin cannot learn it."""
        return _text(_mac(self._csrf_key, cookie.encode("utf-8", "replace")))

    def _mac_of(self, content: str) -> str:
        return _text(_mac(self._cookie_key, content.encode("utf-8", "replace")))


def _text(content: bytes) -> str:
    return urlsafe_b64encode(content).decode("ascii").rstrip("=")  # without the padding, no cookie needs quotes


def _mac(key: bytes, content: bytes) -> bytes:
    return hmac.digest(key, content, sha256)
