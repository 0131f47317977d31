"""Logins in a browser: they exchange a credential for a cookie that may only read, and find the caller by it.

A page of another site, or of another port of the same machine, may make a browser send the cookie. Such requests are
refused by what browsers say of them; a POST must also bring a token that only the page of the login knows.
"""

import hmac
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, TypeAlias

from fastapi import Request

from ledger.errors import NotAuthenticated, NotPermitted
from ledger.ports import Clock
from ledger.server.access.callers import Authenticator, Caller
from ledger.server.access.grants import Grant, GrantSeal
from ledger.server.access.reading_routes import only_reads

CSRF_HEADER: Final = "x-csrf-token"
#: What the key of a caller with a token of this service begins with.
KEY_OF_TOKEN: Final = "token:"  # noqa: S105 - the beginning of a name

#: Finds the caller of a credential; None if it is not valid.
FindCaller: TypeAlias = Callable[[str], Awaitable[Caller | None]]


class BrowserLogin:
    """An `Authenticator` that knows cookies, and leaves requests without one to *otherwise*.

    *by_credential* checks what a login sends. *holder* finds the owner of a token of this service by its key id, as
    they are now; None if the token was revoked.
    """

    def __init__(
        self,
        seal: GrantSeal,
        clock: Clock,
        *,
        otherwise: Authenticator,
        by_credential: FindCaller,
        holder: FindCaller,
    ) -> None:
        self._seal = seal
        self._clock = clock
        self._otherwise = otherwise
        self._by_credential = by_credential
        self._holder = holder

    async def log_in(self, request: Request, credential: str) -> "LoggedIn":
        """Return a new login of the owner of *credential*.

        Raises:
            NotAuthenticated: the credential is not valid.
            NotPermitted: it lacks the scope ``read``; or the request comes from another page.
            Unavailable: the credential cannot be checked now.
        """
        _require_same_origin(request)
        found = await self._by_credential(credential)
        if found is None:
            raise NotAuthenticated
        grant = Grant.to(found, now=self._clock.now())
        cookie = self._seal.sealed(grant)
        return LoggedIn(cookie, self._seal.csrf_token(cookie), grant)

    def login_of(self, request: Request) -> "LoggedIn":
        """Return the login that *request* belongs to.

        Raises:
            NotAuthenticated: its cookie is missing, sent twice, not of this service, or has expired.
        """
        cookies = cookies_of(request)
        grant = self._seal.opened(cookies[0]) if len(cookies) == 1 else None
        if grant is None or grant.expires_at <= self._clock.now():
            raise NotAuthenticated
        return LoggedIn(cookies[0], self._seal.csrf_token(cookies[0]), grant)

    async def caller(self, request: Request) -> Caller:
        """See `callers.Authenticator.caller`; a cookie beside another credential is not valid.

        Raises:
            NotPermitted: ``reading_only``, ``foreign_origin`` or ``csrf_token_needed``.
        """
        if not cookies_of(request):
            return await self._otherwise.caller(request)
        if "authorization" in request.headers or "x-api-key" in request.headers:
            raise NotAuthenticated
        login = self.login_of(request)
        if not only_reads(request.method, request.scope["path"]):
            raise NotPermitted("reading_only", "a login in a browser may only read; send a token instead")
        if request.method == "POST":
            _require_same_origin(request)
            if not hmac.compare_digest(request.headers.get(CSRF_HEADER, "").encode(), login.csrf_token.encode()):
                raise NotPermitted("csrf_token_needed", "send the CSRF token of the login as X-CSRF-Token")
        else:
            _refuse_other_pages(request)
        if login.grant.key.startswith(KEY_OF_TOKEN):
            holder = await self._holder(login.grant.key.removeprefix(KEY_OF_TOKEN))
            if holder is None or not holder.permits("read"):
                raise NotAuthenticated
        return login.grant.caller


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """A login in a browser: its cookie, the token that each POST must bring, and what it may do."""

    cookie: str
    csrf_token: str
    grant: Grant


class OneTimeKey:
    """A key that lets its first user log in as *caller*."""

    def __init__(self, caller: Caller) -> None:
        self.text = secrets.token_urlsafe(32)
        self._caller = caller
        self._unused = True

    async def spend(self, credential: str) -> Caller | None:
        """Return the caller if *credential* is the key, once."""
        same = hmac.compare_digest(sha256(credential.encode("utf-8", "replace")).digest(), _hash(self.text))
        if not (same and self._unused):
            return None
        self._unused = False
        return self._caller


def _hash(text: str) -> bytes:
    return sha256(text.encode()).digest()


def cookie_name(request: Request) -> str:
    """Return the name of the cookie; it has the port, since browsers send a cookie to all ports of a host."""
    return f"mledger_{request.scope['server'][1]}"


def cookies_of(request: Request) -> Sequence[str]:
    """Return the values of all cookies of *request* that have our name."""
    name = cookie_name(request)
    pairs = [pair.strip().partition("=") for line in request.headers.getlist("cookie") for pair in line.split(";")]
    return [value for each, _, value in pairs if each == name]


def _require_same_origin(request: Request) -> None:
    """Refuse a POST that does not come from a page of this service."""
    site = request.headers.get("sec-fetch-site")
    if site != "same-origin" and (site is not None or not _is_own(request.headers.get("origin"), request)):
        raise NotPermitted("foreign_origin", "this request must come from the page of the viewer")


def _refuse_other_pages(request: Request) -> None:
    """Refuse a GET that a page of another origin makes the browser send."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site not in {"same-origin", "none", None} or (site is None and origin and not _is_own(origin, request)):
        raise NotPermitted("foreign_origin", "a page of another origin may not use this login")


def _is_own(origin: str | None, request: Request) -> bool:
    host = request.headers.get("host", "")
    return bool(host) and origin in {f"http://{host}", f"https://{host}"}
