"""Which session a request is about, and under what conditions it writes (http W-63, W-64)."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias, TypedDict

from fastapi import Depends, Header, Path, Query
from starlette.responses import Response

from ledger.application.handle import NamespaceHandle
from ledger.errors import InvalidInput, PreconditionFailed, SessionNotFound, VersionConflict
from ledger.ids import Stream
from ledger.memory import MemoryLedger
from ledger.names import check_idempotency_key, check_name
from ledger.server.ledgers import HandleOf
from ledger.server.service import Service
from ledger.session.drafts import check_time
from ledger.session.state import SessionState
from ledger.strict_json import INT_MAX

_ETAG: Final = re.compile(r'(W/)?"([0-9]{1,19})"')
_MOST_ETAGS: Final = 16


class Names(TypedDict):
    """The names that every method of the library takes."""

    session_id: str
    user_id: str | None


@dataclass(frozen=True, slots=True)
class RequestedSession:
    """A session of the request's namespace, which may have no events."""

    handle: NamespaceHandle
    names: Names

    @property
    def ledger(self) -> MemoryLedger:
        """The ledger of its namespace."""
        return MemoryLedger(self.handle)

    @property
    def stream(self) -> Stream:
        """Its place in the store."""
        return self.handle.stream(**self.names)

    @property
    def session_id(self) -> str:
        """Its name."""
        return self.names["session_id"]

    async def state(self) -> SessionState:
        """Return its state now.

        Raises:
            SessionNotFound: it has no events.
        """
        return await self.ledger.get_state(**self.names)


async def _session(
    session_id: Annotated[str, Path(description="The session's id.", examples=["support-42"])],
    handle: HandleOf,
    user_id: Annotated[str | None, Query(description="Whose session; of nobody without it.")] = None,
) -> RequestedSession:
    user = None if user_id is None else check_name(user_id, field="user_id", may_be_empty=True)
    return RequestedSession(handle, {"session_id": check_name(session_id, field="session_id"), "user_id": user})


SessionOf: TypeAlias = Annotated[RequestedSession, Depends(_session)]


class Guarded(TypedDict, total=False):
    """What a write of the library takes beside the names; see `ledger.results.Guard`."""

    idempotency_key: str | None
    expected_version: int | None


@dataclass(frozen=True, slots=True)
class WriteConditions:
    """The headers of a write; *versions* are those that ``If-Match`` names, none stands for any."""

    key: str | None
    if_match: bool
    versions: frozenset[int] | None

    async def guard(self, session: RequestedSession, expected_version: int | None = None) -> Guarded:
        """Return the conditions as the library takes them; *expected_version* is the body's.

        Raises:
            PreconditionFailed: ``If-Match`` names no version, or there is no live session.
        """
        if not self.if_match:
            return {"idempotency_key": self.key, "expected_version": expected_version}
        if self.versions is not None and expected_version not in {None, *self.versions}:
            raise PreconditionFailed("If-Match and expected_version name different versions")
        try:
            state = await session.state()
        except SessionNotFound:
            raise PreconditionFailed("there is no such session") from None
        if self.versions is None:
            if not state.opened:
                raise PreconditionFailed("the session has ended")
            return {"idempotency_key": self.key, "expected_version": expected_version}
        if state.version in self.versions:
            if not state.opened:
                raise PreconditionFailed("the session has ended")
            return {"idempotency_key": self.key, "expected_version": state.version}
        # let the store say so, which first looks whether the request was carried out before
        return {"idempotency_key": self.key, "expected_version": max(self.versions, default=INT_MAX)}

    async def require(self, session: RequestedSession) -> None:
        """Refuse unless *session* is at the version that ``If-Match`` names, for a write to another session.

        Raises:
            PreconditionFailed: it is not.
        """
        guard = await self.guard(session)
        if guard.get("expected_version") not in {None, (await session.state()).version}:
            raise PreconditionFailed("the session is not at the version of If-Match; read it again")

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Tell a version that is not the one of ``If-Match`` as 412, not as 409.

        Raises:
            PreconditionFailed: the session is at another version.
        """
        try:
            yield
        except VersionConflict as conflict:
            if not self.if_match:
                raise
            raise PreconditionFailed("the session is not at the version of If-Match; read it again") from conflict


async def _conditions(
    idempotency_key: Annotated[
        str | None, Header(description="Makes a retry safe: it gets the first answer.", examples=["3f1c-retry-1"])
    ] = None,
    if_match: Annotated[
        str | None, Header(description="The ETag of the version that this write is for, or `*`.", examples=['"7"'])
    ] = None,
) -> WriteConditions:
    key = None if idempotency_key is None else check_idempotency_key(idempotency_key)
    if if_match is None:
        return WriteConditions(key, if_match=False, versions=None)
    if if_match.strip() == "*":
        return WriteConditions(key, if_match=True, versions=None)
    parts = [part.strip() for part in if_match.split(",")]
    found = [_ETAG.fullmatch(part) for part in parts]
    if len(parts) > _MOST_ETAGS or not all(found):
        raise InvalidInput("bad_if_match", 'is an ETag such as "7", or *', field="if-match")
    versions = frozenset(
        int(match[2]) for match in found if match and not match[1] and int(match[2])
    )  # weak ones match nothing
    if any(version > INT_MAX for version in versions):
        raise InvalidInput("bad_if_match", "no version is that high", field="if-match")
    return WriteConditions(key, if_match=True, versions=versions)


ConditionsOf: TypeAlias = Annotated[WriteConditions, Depends(_conditions)]


def tag(response: Response, version: int, *, replayed: bool = False) -> None:
    """Say on *response* which version the session is at, and whether the answer is that of a first attempt."""
    response.headers["etag"] = f'"{version}"'
    if replayed:
        response.headers["idempotent-replayed"] = "true"


def never_future(service: Service, at: str | None) -> str | None:
    """Return *at*, a moment as the library takes it, unless it is yet to come (trust I-43).

    Raises:
        InvalidInput: ``bad_time``.
    """
    moment = check_time(at, "at")
    if moment is not None and moment > service.clock.now():
        raise InvalidInput("bad_time", "is yet to come", field="at")
    return at
