"""Forking: a session that goes on from a version of another one, both by themselves."""

from datetime import datetime

from ledger.canonical import canonical_json
from ledger.chain import request_hash
from ledger.errors import SessionExists, VersionConflict
from ledger.events import ForkedFrom
from ledger.ids import request_id
from ledger.memory.reading import Reading
from ledger.names import check_idempotency_key
from ledger.results import Forked
from ledger.session.commands import OpenSession
from ledger.session.drafts import check_moment
from ledger.writing import Idempotency


class Forking(Reading):
    """A fork shares the history up to its fork point: nothing is copied, and neither session sees the other go on."""

    async def fork(
        self,
        session_id: str,
        new_session_id: str,
        *,
        version: int | None = None,
        at: datetime | str | None = None,
        user_id: str | None = None,
        new_user_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Forked:
        """Begin a session as *session_id* is now, was at *version*, or at a moment; return where it goes on.

        It has the same user unless *new_user_id* names another (``""`` for none). What is being compacted is
        compacted in the parent only; a parent whose life has ended is forked as that left it, empty.

        Raises:
            SessionNotFound: there is no session to fork.
            VersionNotFound: it has no such version, or had no events at that moment.
            SessionExists: the new session has events.
            InvalidInput: as `get_state` does.
            IdempotencyMismatch: the key belongs to another request.

        Source: http W-70, trust H-16.
        """
        parent = self._stream(session_id, user_id)
        stream = self._stream(new_session_id, user_id if new_user_id is None else new_user_id)
        idempotency = None
        if idempotency_key is not None:
            moment = check_moment(at, "at")
            asked = [parent.session_id, parent.user_id, version, moment and moment.isoformat()]
            name = request_id(stream.stream_id, self._actor, check_idempotency_key(idempotency_key))
            idempotency = Idempotency(name, request_hash("fork", canonical_json(asked)))
        state = await self.get_state(session_id, version=version, at=at, user_id=user_id)
        origin = ForkedFrom(session_id=parent.session_id, version=state.version, user_id=parent.user_id)
        opening = OpenSession(
            write_id=self._clock.ulid(),
            namespace=stream.namespace,
            user_id=stream.user_id,
            session_id=stream.session_id,
            config=state.config,
            forked_from=origin,
        )
        try:
            written = await self._writer.fork(stream, opening, idempotency=idempotency)
        except VersionConflict as fault:
            raise SessionExists(stream.session_id) from fault
        receipt = written.receipts[0]
        return Forked(
            session_id=stream.session_id,
            user_id=stream.user_id or None,
            forked_from=parent.session_id,
            at_version=receipt.version - 1,
            version=receipt.version,
            position=receipt.position,
            event_id=str(receipt.event_id),
            hash=receipt.hash.hex(),
            replayed=written.replayed,
        )
