"""The services for one namespace and one actor: the first argument of every use case."""

from dataclasses import dataclass
from typing import Unpack
from uuid import UUID

from ledger.application.commands.write_requests import CommandsFor, Idempotency, WriteOptions, Written
from ledger.application.rights import OWNER, Rights
from ledger.application.services import Indexes, Services
from ledger.errors import InvalidInput, SessionNotFound
from ledger.events import RecordedEvent
from ledger.events.canonical import canonical_json
from ledger.events.chain import request_hash
from ledger.events.codec import decode
from ledger.events.ids import Stream, namespace_id, request_id
from ledger.events.names import check_actor, check_idempotency_key, check_name, named_stream
from ledger.events.strict_json import check_integer
from ledger.long_term_memory import LongTermMemory
from ledger.results import Guard


@dataclass(frozen=True, slots=True)
class NamespaceHandle:
    """Cheap to create. The *actor*, who has *rights*, is recorded with every event that is written through it.

    Raises:
        InvalidInput: ``bad_name``.
        Unavailable: the services are closed.
    """

    services: Services
    namespace: str
    actor: str = ""
    rights: Rights = OWNER

    def __post_init__(self) -> None:
        self.services.check_open()
        check_name(self.namespace, field="namespace")
        check_actor(self.actor, field="actor")

    @property
    def namespace_id(self) -> UUID:
        """The namespace's id in the store."""
        return namespace_id(self.namespace)

    @property
    def indexes(self) -> Indexes:
        """The stored projections of the namespace.

        Raises:
            Unavailable: the services are closed.
        """
        self.services.check_open()
        return self.services.indexes(self.namespace)

    @property
    def long_term(self) -> LongTermMemory:
        """The long-term memory of this namespace.

        Raises:
            Unavailable: the services are closed.
        """
        self.services.check_open()
        return self.services.long_term.over([self.namespace], actor=self.actor, default_namespace=self.namespace)

    def stream(self, session_id: str, user_id: str | None) -> Stream:
        """Return the stream of a session.

        Raises:
            InvalidInput: ``bad_name``.
            Unavailable: the services are closed.
        """
        self.services.check_open()
        return named_stream(self.namespace, session_id, "" if user_id is None else user_id)

    async def events(self, session_id: str, user_id: str | None, *, version: int | None = None) -> list[RecordedEvent]:
        """Return the session's events up to *version*, oldest first.

        Raises:
            SessionNotFound: it has none.
            VersionNotFound: it has no such version.
            InvalidInput: *version* is not an integer.
        """
        if version is not None:
            check_integer(version, field="version")
        stream = self.stream(session_id, user_id)
        stored = await self.services.store.events.read_stream(stream, until=version)
        if not stored and version is None:
            raise SessionNotFound(session_id)  # even if it has begun since
        if not stored or version not in {None, stored[-1].version}:
            raise await self.services.states.absence(stream)
        return [decode(event) for event in stored]

    async def existing(self, session_id: str, user_id: str | None) -> Stream:
        """Return the stream of a session that has events.

        Raises:
            SessionNotFound: it has none.
        """
        stream = self.stream(session_id, user_id)
        head, _ = await self.services.store.events.head(stream)
        if not head:
            raise SessionNotFound(session_id)
        return stream

    async def write(self, stream: Stream, commands_for: CommandsFor, **options: Unpack[WriteOptions]) -> Written:
        """Write as the actor; see `CommandHandler.write_with_note`."""
        return await self.services.commands.write(stream, commands_for, actor=self.actor, **options)

    async def change(
        self, stream: Stream, commands_for: CommandsFor, operation: str, body: object, guard: Guard
    ) -> Written:
        """Write the commands of *commands_for* with the expected version and the idempotency key in *guard*."""
        expected_version, key = check_guard(guard)
        idempotency = self.idempotency(stream, operation, body, key)
        return await self.write(stream, commands_for, expected_version=expected_version, idempotency=idempotency)

    def idempotency(self, stream: Stream, operation: str, body: object, key: str | None) -> Idempotency | None:
        """Return the idempotency of *operation* with the validated JSON *body*; None without a *key*.

        Raises:
            InvalidInput: ``bad_idempotency_key``.
        """
        if key is None:
            return None
        own_id = request_id(stream.stream_id, self.actor, check_idempotency_key(key))
        return Idempotency(own_id, request_hash(operation, canonical_json(body)))


def check_guard(guard: Guard) -> tuple[int | None, str | None]:
    """Return the expected version and the idempotency key in *guard*.

    Raises:
        InvalidInput: one of them is not valid, or *guard* has another field.
    """
    unknown = guard.keys() - Guard.__annotations__.keys()
    if unknown:
        raise InvalidInput(
            "unknown_field", f"must be one of {', '.join(Guard.__annotations__)}", field=min(unknown)[:80]
        )
    expected_version, key = guard.get("expected_version"), guard.get("idempotency_key")
    if expected_version is not None:
        check_integer(expected_version, field="expected_version", code="bad_version", least=0)
    return expected_version, None if key is None else check_idempotency_key(key)
