"""A small log to attack."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from string import Template
from typing import Any, Final

import psycopg
from msgspec.structs import replace
from psycopg.rows import args_row

from ledger.events import StoredEvent
from ledger.events.chain import ZERO_HASH, digest_of, event_hash
from ledger.events.ids import Stream
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.verification import VerifyReport
from tests.support.attacks import Attack, Place

_EVENT: Final = """
    SELECT namespace_id, stream_id, version, position, event_id, type, schema_version, codec,
        (extract(epoch FROM occurred_at) * 1000000)::bigint, (extract(epoch FROM recorded_at) * 1000000)::bigint,
        actor, content_digest, hash, structure, content
    FROM ledger.events
    WHERE namespace_id = %s AND position = %s
"""


class AttackedLog:
    """Two sessions in a namespace of their own, as `attacks` draws them; *receipts* are the hashes by position."""

    def __init__(self, store: Store, namespace: str) -> None:
        self.store, self.namespace = store, namespace
        self.one, self.two = Stream.of(namespace, "one", "user-1"), Stream.of(namespace, "two")
        self.receipts: dict[int, str] = {}

    @classmethod
    async def written(cls, store: Store, namespace: str) -> "AttackedLog":
        """Write the log and store the receipts, as a careful client does."""
        log = cls(store, namespace)
        async with MemoryLedger.open(namespace=namespace, store=store) as ledger:
            for number, stream in enumerate((log.one, log.two, log.one, log.one, log.two)):
                user = stream.user_id or None
                added = await ledger.add_user_message(stream.session_id, f"message {number}", user_id=user)
                log.receipts[added.position] = added.hash
        assert sorted(log.receipts) == [2, 4, 5, 6, 7]
        return log

    @classmethod
    async def forked(cls, store: Store, namespace: str) -> "AttackedLog":
        """Write the log of `fork_attacks`."""
        log = cls(store, namespace)
        async with MemoryLedger.open(namespace=namespace, store=store) as ledger:
            for number in range(3):
                await ledger.add_user_message("one", f"message {number}", user_id="user-1")
            for number in range(2):
                await ledger.add_user_message("three", f"another {number}")
            await ledger.fork("one", "two", version=3, user_id="user-1", new_user_id="")
            await ledger.add_user_message("two", "of the fork")
            await ledger.add_user_message("one", "of the parent", user_id="user-1")
        return log

    def suffer(self, attack: Attack, mighty: psycopg.Connection[Any]) -> None:
        """Execute *attack* as *mighty*."""
        with without_guards(mighty):
            self._run(attack.sql, mighty)
            for position in attack.rehashed:
                self._rehash(position, mighty)
            self._run(attack.then, mighty)

    def _run(self, statements: str, mighty: psycopg.Connection[Any]) -> None:
        three = Stream.of(self.namespace, "three").stream_id
        ids = {"ns": self.one.namespace_id, "one": self.one.stream_id, "two": self.two.stream_id, "three": three}
        sql = re.sub(r"@(\d+)", r"(namespace_id = $ns AND position = \1)", statements)
        mighty.execute(Template(sql).substitute({name: f"'{value}'" for name, value in ids.items()}))

    def _rehash(self, position: int, mighty: psycopg.Connection[Any]) -> None:
        """Give an event the digest of its bytes, and the hash that follows from the event before it."""
        namespace_id = self.one.namespace_id
        with mighty.cursor(row_factory=args_row(StoredEvent)) as cursor:
            event = cursor.execute(_EVENT, (namespace_id, position)).fetchone()
        assert event is not None
        before = mighty.execute(
            "SELECT hash FROM ledger.events WHERE namespace_id = %(ns)s AND version = %(before)s AND stream_id IN ("
            "  SELECT %(stream)s UNION SELECT parent_id FROM ledger.streams"
            "  WHERE namespace_id = %(ns)s AND stream_id = %(stream)s AND parent_version = %(before)s)",
            {"ns": namespace_id, "stream": event.stream_id, "before": event.version - 1},
        ).fetchone()
        digest = digest_of(event.content)
        fitting = event_hash(replace(event, content_digest=digest), before[0] if before else ZERO_HASH)
        mighty.execute(
            "UPDATE ledger.events SET content_digest = %s, hash = %s WHERE namespace_id = %s AND position = %s",
            (digest, fitting, namespace_id, position),
        )


def places(report: VerifyReport) -> set[Place]:
    """Return where the findings of *report* are."""
    return {(finding.layer, finding.session_id, finding.version) for finding in report.findings}


@contextmanager
def without_guards(mighty: psycopg.Connection[Any]) -> Iterator[None]:
    """Disable the triggers, as an owner of the database can, and enable them again, so that nothing shows it."""
    mighty.execute("ALTER TABLE ledger.events DISABLE TRIGGER ALL")
    try:
        yield
    finally:
        for trigger in ("events_append_only", "events_no_truncate"):
            mighty.execute(f"ALTER TABLE ledger.events ENABLE ALWAYS TRIGGER {trigger}")
