"""The routes of a login in a browser: begin it, end it, and read its CSRF token again after the page was reloaded."""

import re
from datetime import datetime
from typing import Annotated, ClassVar, Final

from fastapi import APIRouter, Depends, Request, Response
from pydantic import AfterValidator, Field

from ledger.application.json_models.shapes import Shape, Time
from ledger.errors import InvalidInput, NotAuthenticated
from ledger.events.strict_json import JsonLimits
from ledger.server.access.browser_login import BrowserLogin, LoggedIn, cookie_name
from ledger.server.access.callers import caller, count_guess
from ledger.server.http.route_kinds import NativeRoute
from ledger.server.http.strict_body import StrictBody
from ledger.server.traffic.quotas import Quotas

_PATH: Final = re.compile(r"/(?:[A-Za-z0-9._~%!@+-]+/)*")


class _LoginRoute(NativeRoute):
    limits: ClassVar[JsonLimits] = JsonLimits(size=16 * 1024)


def _is_a_path(path: str) -> str:
    if not _PATH.fullmatch(path):
        raise InvalidInput("bad_path", "must be a path that begins and ends with /", field="path")
    return path


class LoginRequest(StrictBody):
    """A credential, or the one-time *key* of `memory-ledger view`; and the *path* above ``ui/``, for the cookie."""

    token: Annotated[str, Field(max_length=8_192)] = ""
    key: Annotated[str, Field(max_length=200)] = ""
    path: Annotated[str, Field(max_length=1_000), AfterValidator(_is_a_path)] = "/"


class LoginShape(Shape):
    """What each POST of the page must send as ``X-CSRF-Token``, and when the login ends; empty without logins."""

    csrf: str = ""
    expires_at: Time | None = None


begin = APIRouter(route_class=_LoginRoute, include_in_schema=False)
rest = APIRouter(route_class=NativeRoute, include_in_schema=False, dependencies=[Depends(caller)])


@begin.post("/ui/login")
async def log_in(body: LoginRequest, request: Request, response: Response) -> LoginShape:
    """Exchange a credential for a cookie that may only read."""
    login = _logins(request)
    if login is None:
        raise InvalidInput("no_login", "is not needed: this service answers without a token", field="token")
    try:
        begun = await login.log_in(request, body.token or body.key)
    except NotAuthenticated:
        count_guess(request)
        raise
    quotas: Quotas = request.app.state.quotas
    quotas.admit(begun.grant.key)
    _set_cookie(request, response, begun.cookie, until=begun.grant.expires_at, path=body.path)
    return _shape(begun)


@rest.get("/ui/csrf")
async def csrf_token(request: Request) -> LoginShape:
    """Return the CSRF token of the login again."""
    login = _logins(request)
    return LoginShape() if login is None else _shape(login.login_of(request))


class LogoutRequest(StrictBody):
    """The *path* that the login sent."""

    path: Annotated[str, Field(max_length=1_000), AfterValidator(_is_a_path)] = "/"


@rest.post("/ui/logout", status_code=204)
async def log_out(body: LogoutRequest, request: Request, response: Response) -> None:
    """Make the browser forget the login."""
    _set_cookie(request, response, "", until=None, path=body.path)


def _logins(request: Request) -> BrowserLogin | None:
    authenticator = request.app.state.authenticator
    return authenticator if isinstance(authenticator, BrowserLogin) else None


def _shape(login: LoggedIn) -> LoginShape:
    return LoginShape(csrf=login.csrf_token, expires_at=login.grant.expires_at)


def _set_cookie(request: Request, response: Response, cookie: str, *, until: datetime | None, path: str) -> None:
    response.set_cookie(
        cookie_name(request),
        cookie,
        expires=until if until is not None else 0,
        max_age=None if until is not None else 0,
        path=path,
        httponly=True,
        samesite="strict",
        # a proxy that ends TLS is not asked: the browser says in Origin how it reached the page
        secure=request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://"),
    )
