"""Reading API tokens, as the application. Source: trust S-2, K-6."""

import logging
from typing import Any

from ledger.errors import LogCorrupted
from ledger.events import RecordedEvent, StoredEvent
from ledger.events.chain import ZERO_HASH, digest_of, event_hash
from ledger.events.codec import decode
from ledger.ports.token_store import ACCESS, FoundToken
from ledger.stores.postgres.connections import Pool
from ledger.stores.postgres.event_reader import EventReader
from ledger.stores.postgres.event_rows import EventCursor, stored_event
from ledger.stores.postgres.faults import translated
from projections.log.tokens import tokens

log = logging.getLogger("ledger")


class PostgresTokens:
    """See `ports.tokens.TokenStore`."""

    def __init__(self, pool: Pool, events: EventReader) -> None:
        self._pool = pool
        self._events = events

    async def find(self, key_id: str) -> FoundToken | None:
        """See `ports.tokens.TokenStore.find`; both queries run for every key id, so all take as long (trust I-80)."""
        found = (await self._rows(key_id)).get(key_id)
        wanted = {"stream": ACCESS.stream_id, "token": key_id}
        rows = await self._events.rows("token_events", ACCESS.namespace_id, wanted, cursor=EventCursor)
        if found is None:
            return None
        try:
            logged = tokens(_proved([stored_event(ACCESS.namespace_id, row) for row in rows], key_id))
        except LogCorrupted as fault:
            problem: str | None = str(fault)
        else:
            problem = found.difference(key_id, logged.get(key_id))
        if problem is not None:
            log.warning("a token is refused: %s; run `memory-ledger verify`", problem)
            return None
        return found

    async def all(self) -> dict[str, FoundToken]:
        return await self._rows(None)

    async def _rows(self, key_id: str | None) -> dict[str, FoundToken]:
        with translated():
            async with self._pool.readers.use() as driver:
                cursor = await driver.execute("SELECT * FROM ledger.find_token(%s)", (key_id,))
                return {row[0]: _token(row) for row in await cursor.fetchall()}


def _token(row: tuple[Any, ...]) -> FoundToken:
    _, digest, name, scopes, namespaces, expires_at, revoked_at = row
    return FoundToken(
        token_hash=bytes(digest),
        name=name,
        scopes=tuple(scopes),
        namespaces=None if namespaces is None else tuple(namespaces),
        expires_at=expires_at,
        revoked_at=revoked_at,
    )


def _proved(events: list[StoredEvent], key_id: str) -> list[RecordedEvent]:
    """Return the events about one token, of *events*, which has the one before each, too.

    Raises:
        LogCorrupted: one of them does not have the hash of its fields and of the event before.
    """
    hashes = {event.version: event.hash for event in events}
    own = [event for event in events if event.item_id == key_id]
    for event in own:
        is_whole = digest_of(event.content) == event.content_digest
        previous = hashes.get(event.version - 1, ZERO_HASH)
        if not is_whole or event_hash(event, previous) != event.hash:
            raise LogCorrupted(f"event {event.version} of {ACCESS.session_id} is not as it was written")
    return [decode(event) for event in own]
