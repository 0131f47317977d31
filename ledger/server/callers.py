"""Who calls, and what they may do.

Authentication is a dependency of each router, not a middleware that looks at paths (trust S-4).
"""

from dataclasses import dataclass
from typing import Annotated, Final, Literal, Protocol, TypeAlias, get_args

from fastapi import Depends, Request

from ledger.errors import InvalidInput, NotAuthenticated, NotPermitted
from ledger.names import DEFAULT_NAMESPACE, check_name
from ledger.server.quotas import Quotas

Scope: TypeAlias = Literal["read", "write", "admin", "system", "import"]

SCOPES: Final[frozenset[Scope]] = frozenset(get_args(Scope))


@dataclass(frozen=True, slots=True)
class Caller:
    """A credential's owner; *namespaces* none stands for all, *key* is what quotas are counted by."""

    actor: str
    scopes: frozenset[Scope]
    namespaces: frozenset[str] | None
    key: str

    @property
    def home(self) -> str | None:
        """The namespace of a request that names none: the only permitted one, else the default one, else none."""
        if self.namespaces is not None and len(self.namespaces) == 1:
            return min(self.namespaces)
        return DEFAULT_NAMESPACE if self.namespaces is None or DEFAULT_NAMESPACE in self.namespaces else None

    def namespace(self, named: str | None) -> str:
        """Return the namespace of a request that named *named*, or none (http W-75).

        None named: `home`.

        Raises:
            NotPermitted: it is not permitted, whether it exists or not (trust S-5).
            InvalidInput: ``bad_name``, or several are permitted and none was named.
        """
        if named is None:
            home = self.home
            if home is None:
                raise InvalidInput("namespace_needed", "name one of your namespaces", field="namespace")
            return home
        self.require_namespace(check_name(named, field="namespace"))
        return named

    def require_namespace(self, name: str) -> None:
        """Refuse a caller whose credential is not for namespace *name*, whether it exists or not (trust S-5).

        Raises:
            NotPermitted: ``namespace_not_permitted``.
        """
        if self.namespaces is not None and name not in self.namespaces:
            raise NotPermitted("namespace_not_permitted", "this credential is not for that namespace")

    def permits(self, scope: Scope) -> bool:
        """Tell whether the credential has *scope*; ``admin`` includes reading and writing, nothing else does."""
        return scope in self.scopes or (scope in {"read", "write"} and "admin" in self.scopes)

    def require(self, scope: Scope) -> None:
        """Refuse a caller without *scope*.

        Raises:
            NotPermitted: ``scope_needed``.
        """
        if not self.permits(scope):
            raise NotPermitted("scope_needed", f"this credential lacks the scope {scope!r}")


class Authenticator(Protocol):
    """Tells who calls from a request's headers."""

    async def caller(self, request: Request) -> Caller:
        """Return who calls.

        Raises:
            NotAuthenticated: there is no credential, or it does not hold.
            Unavailable: it cannot be checked now.
        """
        ...


class Everybody:
    """``AUTH_MODE=none``: whoever reaches the loopback address may do everything."""

    async def caller(self, request: Request) -> Caller:
        """See `Authenticator.caller`."""
        return Caller(actor="", scopes=SCOPES, namespaces=None, key=_address(request))


async def caller(request: Request) -> Caller:
    """Return who calls, told once for each request: the dependency of every router.

    Raises:
        NotAuthenticated, Unavailable: see `Authenticator.caller`.
        RateLimited: the caller sends too many requests.
    """
    known = getattr(request.state, "caller", None)
    if not isinstance(known, Caller):
        quotas: Quotas = request.app.state.quotas
        try:
            known = request.state.caller = await request.app.state.authenticator.caller(request)
        except NotAuthenticated:
            quotas.admit(f"nobody:{_address(request)}")  # who guesses is slowed down too
            raise
        assert isinstance(known, Caller)
        quotas.admit(known.key)
    return known


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


async def caller_or_neighbour(request: Request) -> None:
    """Let pass who is on this machine, or may read (trust S-12); a proxy's requests come from elsewhere.

    Raises:
        NotAuthenticated, NotPermitted, Unavailable: see `caller`.
    """
    forwarded = any(name in request.headers for name in ("forwarded", "x-forwarded-for", "x-real-ip", "via"))
    if forwarded or _address(request) not in {"127.0.0.1", "::1"}:
        (await caller(request)).require("read")


CallerOf: TypeAlias = Annotated[Caller, Depends(caller)]


async def _permitted(request: Request, scope: Scope) -> Caller:
    """Return who calls, who has *scope*; asked without a dependency of its own, each of which costs every request."""
    known = await caller(request)
    known.require(scope)
    if scope != "read":
        quotas: Quotas = request.app.state.quotas
        quotas.admit_write(known.key)
    return known


async def _reader(request: Request) -> Caller:
    return await _permitted(request, "read")


async def _writer(request: Request) -> Caller:
    return await _permitted(request, "write")


async def _admin(request: Request) -> Caller:
    return await _permitted(request, "admin")


async def _importer(request: Request) -> Caller:
    return await _permitted(request, "import")


#: What a route declares to get a caller who may do that.
ReadCaller: TypeAlias = Annotated[Caller, Depends(_reader)]
WriteCaller: TypeAlias = Annotated[Caller, Depends(_writer)]
Admin: TypeAlias = Annotated[Caller, Depends(_admin)]
ImportCaller: TypeAlias = Annotated[Caller, Depends(_importer)]
