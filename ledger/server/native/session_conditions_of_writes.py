"""The session of a request, and the conditions of a write (http W-63, W-64)."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias, TypedDict

from fastapi import Depends, Header, Path, Query
from starlette.responses import Response

from ledger.application.handle import NamespaceHandle
from ledger.application.reading.session_reads import existing_state
from ledger.errors import InvalidInput, PreconditionFailed, SessionNotFound, VersionConflict
from ledger.events.ids import Stream
from ledger.events.names import check_idempotency_key, check_name
from ledger.events.strict_json import INT_MAX
from ledger.memory import MemoryLedger
from ledger.server.http.answer_headers import ETag
from ledger.server.http.dependencies import HandleOf
from ledger.server.service import Service
from ledger.session.entry_drafts import check_time
from ledger.session.state import SessionState

_TAG: Final = re.compile(r'(W/)?"[\x21\x23-\x7e]*"')
_MOST_ETAGS: Final = 16
_EXAMPLE: Final = '"7-3f9a1c0b52d4e687"'


class Names(TypedDict):
    """The names that every method of the library takes."""

    session_id: str
    user_id: str | None


@dataclass(frozen=True, slots=True)
class RequestedSession:
    """A session in the namespace of the request; it may not exist."""

    handle: NamespaceHandle
    names: Names

    @property
    def ledger(self) -> MemoryLedger:
        """The ledger of the namespace."""
        return MemoryLedger(self.handle)

    @property
    def stream(self) -> Stream:
        """The stream of the session."""
        return self.handle.stream(**self.names)

    @property
    def session_id(self) -> str:
        """The id of the session."""
        return self.names["session_id"]

    async def digest(self, version: int) -> bytes:
        """Return the hash of the event at *version*."""
        return await self.handle.services.states.digest(self.stream, version)

    async def state(self) -> SessionState:
        """Return the state now, without content: its entries are read by other means.

        Raises:
            SessionNotFound: the session does not exist.
        """
        return await existing_state(self.handle, **self.names)


async def _session(
    session_id: Annotated[str, Path(description="The session's id.", examples=["support-42"])],
    handle: HandleOf,
    user_id: Annotated[str | None, Query(description="The user of the session, if it has one.")] = None,
) -> RequestedSession:
    user = None if user_id is None else check_name(user_id, field="user_id", may_be_empty=True)
    return RequestedSession(handle, {"session_id": check_name(session_id, field="session_id"), "user_id": user})


SessionOf: TypeAlias = Annotated[RequestedSession, Depends(_session)]


class GuardArguments(TypedDict, total=False):
    """The conditions of a write in the library; see `ledger.results.Guard`."""

    idempotency_key: str | None
    expected_version: int | None


@dataclass(frozen=True, slots=True)
class WriteConditions:
    """The conditional headers of a write; *etags* are those of ``If-Match``, None means any."""

    key: str | None
    if_match: bool
    etags: frozenset[ETag] | None

    async def guard(self, session: RequestedSession, expected_version: int | None = None) -> GuardArguments:
        """Return the conditions for the library; *expected_version* is from the body.

        Raises:
            PreconditionFailed: ``If-Match`` and *expected_version* differ, or there is no live session.
        """
        if not self.if_match:
            return {"idempotency_key": self.key, "expected_version": expected_version}
        if self.etags is not None and expected_version not in {None, *(etag.version for etag in self.etags)}:
            raise PreconditionFailed("If-Match and expected_version must name the same version")
        try:
            state = await session.state()
        except SessionNotFound:
            raise PreconditionFailed("the session does not exist") from None
        if self.etags is None:
            if not state.opened:
                raise PreconditionFailed("the session has ended")
            return {"idempotency_key": self.key, "expected_version": expected_version}
        if ETag.of(state.version, await session.digest(state.version)) in self.etags:
            if not state.opened:
                raise PreconditionFailed("the session has ended")
            return {"idempotency_key": self.key, "expected_version": state.version}
        # the store refuses it, but first checks whether the request was carried out before
        return {"idempotency_key": self.key, "expected_version": INT_MAX}

    async def require(self, session: RequestedSession) -> None:
        """Refuse a write to another session unless *session* is at the version of ``If-Match``.

        Raises:
            PreconditionFailed: it is at another version.
        """
        guard = await self.guard(session)
        if guard.get("expected_version") not in {None, (await session.state()).version}:
            raise PreconditionFailed("the session is not at the version of If-Match; read it again")

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Turn a version conflict with ``If-Match`` into 412 instead of 409.

        Raises:
            PreconditionFailed: the session is at another version.
        """
        try:
            yield
        except VersionConflict as conflict:
            if not self.if_match:
                raise
            raise PreconditionFailed("the session is not at the version of If-Match; read it again") from conflict


async def _idempotency_key(
    idempotency_key: Annotated[
        str | None, Header(description="Makes a retry safe: it gets the first answer.", examples=["3f1c-retry-1"])
    ] = None,
) -> str | None:
    return None if idempotency_key is None else check_idempotency_key(idempotency_key)


IdempotencyKeyOf: TypeAlias = Annotated[str | None, Depends(_idempotency_key)]


async def _conditions(
    key: IdempotencyKeyOf,
    if_match: Annotated[
        str | None, Header(description="The ETag of the version that this write is for, or `*`.", examples=[_EXAMPLE])
    ] = None,
) -> WriteConditions:
    if if_match is None:
        return WriteConditions(key, if_match=False, etags=None)
    if if_match.strip() == "*":
        return WriteConditions(key, if_match=True, etags=None)
    parts = [part.strip() for part in if_match.split(",")]
    if len(parts) > _MOST_ETAGS or not all(_TAG.fullmatch(part) for part in parts):
        raise InvalidInput("bad_if_match", "must be the ETag of an answer, in its quotes, or *", field="if-match")
    etags = frozenset(etag for part in parts if (etag := ETag.parse(part)))
    return WriteConditions(key, if_match=True, etags=etags)


ConditionsOf: TypeAlias = Annotated[WriteConditions, Depends(_conditions)]


async def tag(
    response: Response,
    session: RequestedSession,
    version: int,
    *,
    digest: bytes | None = None,
    replayed: bool = False,
) -> None:
    """Set the headers for the version of the session, whose hash is *digest* if known, and for a repeated answer."""
    response.headers["etag"] = str(ETag.of(version, digest or await session.digest(version)))
    if replayed:
        response.headers["idempotent-replayed"] = "true"


def never_future(service: Service, at: str | None) -> str | None:
    """Return *at* unless it is in the future (trust I-43).

    Raises:
        InvalidInput: ``bad_time``.
    """
    moment = check_time(at, "at")
    if moment is not None and moment > service.clock.now():
        raise InvalidInput("bad_time", "must not be in the future", field="at")
    return at
