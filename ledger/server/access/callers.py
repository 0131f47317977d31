"""The caller of a request and their permissions.

Authentication is a dependency of each router, not a middleware that compares paths (trust S-4).
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Final, Literal, Protocol, TypeAlias, get_args

from fastapi import Depends, Request

from ledger.errors import DatabaseUnavailable, InvalidInput, LedgerError, NotAuthenticated, NotPermitted
from ledger.events.names import DEFAULT_NAMESPACE, check_name
from ledger.server.traffic.quotas import Quotas
from ledger.server.traffic.slots import MANAGEMENT, SLOT

Scope: TypeAlias = Literal["read", "write", "admin", "system", "import"]

SCOPES: Final[frozenset[Scope]] = frozenset(get_args(Scope))


@dataclass(frozen=True, slots=True)
class Caller:
    """The owner of a credential; *namespaces* None means all, quotas are counted by *key*.

    *default* is the namespace of requests that name none. The credential is not valid from *expires_at* on. What a
    person reads *in_viewer* does not count as a read of memory by an agent.
    """

    actor: str
    scopes: frozenset[Scope]
    namespaces: frozenset[str] | None
    key: str
    default: str = DEFAULT_NAMESPACE
    expires_at: datetime | None = None
    in_viewer: bool = False

    @property
    def home(self) -> str | None:
        """The namespace of a request without one: the only permitted one, else the default if permitted, else None."""
        if self.namespaces is not None and len(self.namespaces) == 1:
            return min(self.namespaces)
        return self.default if self.namespaces is None or self.default in self.namespaces else None

    def namespace(self, named: str | None) -> str:
        """Return the namespace of a request: *named*, or `home` if that is None (http W-75).

        Raises:
            NotPermitted: the caller may not use it, whether it exists or not (trust S-5).
            InvalidInput: ``bad_name``; ``namespace_needed``: several are permitted and none was named.
        """
        if named is None:
            home = self.home
            if home is None:
                raise InvalidInput("namespace_needed", "must name one of your namespaces", field="namespace")
            return home
        self.require_namespace(check_name(named, field="namespace"))
        return named

    def require_namespace(self, name: str) -> None:
        """Refuse a caller who may not use namespace *name*, whether it exists or not (trust S-5).

        Raises:
            NotPermitted: ``namespace_not_permitted``.
        """
        if self.namespaces is not None and name not in self.namespaces:
            raise NotPermitted("namespace_not_permitted", "this credential is not valid for that namespace")

    def permits(self, scope: Scope) -> bool:
        """Return whether the credential has *scope*; ``admin`` includes ``read`` and ``write``."""
        return scope in self.scopes or (scope in {"read", "write"} and "admin" in self.scopes)

    def require(self, scope: Scope) -> None:
        """Refuse a caller without *scope*.

        Raises:
            NotPermitted: ``scope_needed``.
        """
        if not self.permits(scope):
            raise NotPermitted("scope_needed", f"this credential lacks the scope {scope!r}")


class Authenticator(Protocol):
    """Finds the caller by the headers of a request."""

    async def caller(self, request: Request) -> Caller:
        """Return the caller of *request*.

        Raises:
            NotAuthenticated: there is no credential, or it is not valid.
            Unavailable: the credential cannot be checked now.
        """
        ...


class NoAuthentication:
    """``AUTH_MODE=none``: everyone who can reach the loopback address may do everything."""

    async def caller(self, request: Request) -> Caller:
        """See `Authenticator.caller`."""
        return Caller(actor="", scopes=SCOPES, namespaces=None, key=_address(request))


async def caller(request: Request) -> Caller:
    """Return the caller, found once for each request: the dependency of every router.

    Raises:
        NotAuthenticated, Unavailable: see `Authenticator.caller`.
        RateLimited: the caller sends too many requests.
    """
    state = request.scope.setdefault("state", {})
    known = state.get("caller")
    if not isinstance(known, Caller):
        quotas: Quotas = request.app.state.quotas
        try:
            known = await request.app.state.authenticator.caller(request)
        except NotAuthenticated:
            count_guess(request)
            raise
        assert isinstance(known, Caller)
        default = request.app.state.namespace
        known = state["caller"] = known if known.default == default else replace(known, default=default)
        quotas.admit(known.key)
        if SLOT in request.scope and not isinstance(request.app.state.authenticator, NoAuthentication):
            request.scope[SLOT].assign(known.key)  # without credentials everybody is one caller
    return known


def count_guess(request: Request) -> None:
    """Count a request without a valid credential, which slows down guessing.

    Raises:
        RateLimited: its address sends too many.
    """
    quotas: Quotas = request.app.state.quotas
    quotas.admit(f"nobody:{_address(request)}")


async def still_permits(request: Request, scope: Scope, namespace: str) -> bool:
    """Return whether the credential of *request* is still valid, for *scope* in *namespace*."""
    try:
        known: Caller = await request.app.state.authenticator.caller(request)
        known.require(scope)
        known.require_namespace(namespace)
    except DatabaseUnavailable:  # nothing can be read now either
        return True
    except LedgerError:
        return False
    return True


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


async def reader_or_manager(request: Request) -> None:
    """Let in requests on the management port, and callers who may read (trust S-12).

    A request from this machine may come from anywhere, through a proxy that does not say so.

    Raises:
        NotAuthenticated, NotPermitted, Unavailable: see `caller`.
    """
    if not request.scope.get(MANAGEMENT):
        (await caller(request)).require("read")


CallerOf: TypeAlias = Annotated[Caller, Depends(caller)]


@dataclass(frozen=True, slots=True)
class Permission:
    """A dependency that returns a caller who has *scope*.

    It calls `caller` itself, because each further dependency costs every request time.
    """

    scope: Scope

    async def __call__(self, request: Request) -> Caller:
        """Return the caller of *request*.

        Raises:
            NotAuthenticated, Unavailable, RateLimited: see `caller`.
            NotPermitted: ``scope_needed``.
        """
        known = await caller(request)
        known.require(self.scope)
        if self.scope != "read":
            quotas: Quotas = request.app.state.quotas
            quotas.admit_write(known.key)
        return known


#: A route declares one of these to get a caller with that scope.
ReadCaller: TypeAlias = Annotated[Caller, Depends(Permission("read"))]
WriteCaller: TypeAlias = Annotated[Caller, Depends(Permission("write"))]
ImportCaller: TypeAlias = Annotated[Caller, Depends(Permission("import"))]
