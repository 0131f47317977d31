"""No snapshot that somebody changed in the database is read, or written on. Source: trust K-1, A-19, A-21."""

import json
from collections.abc import AsyncIterator
from typing import Any, Final

import psycopg
import pytest

from ledger.events.ids import Stream
from ledger.memory import MemoryLedger
from ledger.session.evolve import SESSION
from ledger.stores.postgres import PostgresStore
from ledger.stores.postgres.snapshot_store import PostgresSnapshots
from tests.support.databases import Server
from tests.support.ledgers import ledger_over

pytestmark = pytest.mark.postgres

KEY: Final = b"a key that the database does not have"
_OF: Final = "WHERE namespace_id = %(ns)s AND stream_id = %(stream)s AND projection = 'session'"
#: What is done to the newest snapshot of the session, whose data were set at version 2 and again at version 3.
FORGERIES: Final = {
    "pointed at older data": f"UPDATE ledger.snapshots SET state = %(older)s {_OF}",
    "pointed at older data, with a mac of its own": (
        f"UPDATE ledger.snapshots SET state = %(older)s, mac = sha256(%(older)s) {_OF}"
    ),
    "with a shortened window": f"UPDATE ledger.snapshots SET state = %(shorter)s {_OF}",
    "that of another session": (
        "UPDATE ledger.snapshots s SET state = o.state, mac = o.mac, head_hash = o.head_hash, version = o.version"
        " FROM ledger.snapshots o WHERE s.namespace_id = %(ns)s AND s.stream_id = %(stream)s AND"
        " s.projection = 'session' AND o.namespace_id = %(ns)s AND o.stream_id = %(other)s AND o.projection = 'session'"
    ),
    "moved to a newer version": f"UPDATE ledger.snapshots SET version = version + 1 {_OF}",
    "without a mac": f"UPDATE ledger.snapshots SET mac = NULL {_OF}",
}


class Scene:
    """Two sessions with snapshots; `reader` is a ledger of another process with the same key."""

    def __init__(self, server: Server, database: str, namespace: str, mighty: psycopg.Connection[Any]) -> None:
        self._server, self._database, self.namespace, self.mighty = server, database, namespace, mighty
        self._stores: list[PostgresStore] = []
        self.stream, self.other = Stream.of(namespace, "s"), Stream.of(namespace, "t")

    async def reader(self, key: bytes = KEY) -> MemoryLedger:
        self._stores.append(await PostgresStore.open(self._server.target(self._database), key=key))
        return ledger_over(self._stores[-1], namespace=self.namespace, config={"profile": "none"})

    async def write(self) -> None:
        writer = await self.reader()
        for session in ("s", "t"):
            await writer.patch_data(session, {"city": "Oslo"})
            await writer.patch_data(session, {"city": {"name": f"Rome of {session}"}})
            await writer.add_entries(session, [{"role": "user", "content": f"message {n}"} for n in range(140)])
        await writer._handle.services.commands.settle()

    def forge(self, statement: str) -> None:
        values = {"ns": self.stream.namespace_id, "stream": self.stream.stream_id, "other": self.other.stream_id}
        (state,) = self.mighty.execute(f"SELECT state FROM ledger.snapshots {_OF}", values).fetchall()
        older, shorter = json.loads(state[0]), json.loads(state[0])
        older["working"]["data"] = [[2, ["city"]]]
        shorter["pages"] = shorter["pages"][1:]
        forged = {"older": json.dumps(older).encode(), "shorter": json.dumps(shorter).encode()}
        self.mighty.execute("ALTER TABLE ledger.snapshots ALTER COLUMN mac DROP NOT NULL")
        self.mighty.execute("ALTER DOMAIN ledger.hash DROP NOT NULL")
        assert self.mighty.execute(statement, values | forged).rowcount == 1

    async def close(self) -> None:
        for store in self._stores:
            await store.close()


@pytest.fixture
async def scene(server: Server, fresh_database: str, namespace: str) -> AsyncIterator[Scene]:
    with server.superuser(fresh_database) as mighty:
        scene = Scene(server, fresh_database, namespace, mighty)
        await scene.write()
        yield scene
        await scene.close()


async def answers(ledger: MemoryLedger) -> tuple[Any, int]:
    return await ledger.get_data("s"), len(await ledger.get_active_entries("s"))


@pytest.mark.parametrize("forgery", FORGERIES)
async def test_a_forged_snapshot_is_replayed__A_19(scene: Scene, forgery: str) -> None:
    """trust A-19, A-21."""
    scene.forge(FORGERIES[forgery])
    reader = await scene.reader()
    assert await answers(reader) == ({"city": {"name": "Rome of s"}}, 140)
    merged = await reader.patch_data("s", {"city": {"country": "Italy"}})
    assert merged.data == {"city": {"name": "Rome of s", "country": "Italy"}}, "a client merges into the events"


async def test_without_the_proof_a_client_stores_the_forgery(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    monkeypatch.setattr(PostgresSnapshots, "_is_proved", lambda *_: True)
    scene.forge(FORGERIES["pointed at older data"])
    reader = await scene.reader()
    assert (await reader.patch_data("s", {"city": {"country": "Italy"}})).data == {"city": {"country": "Italy"}}
    scene.forge(FORGERIES["with a shortened window"])
    assert (await answers(await scene.reader()))[1] < 140


async def test_a_snapshot_of_another_log_is_replayed(scene: Scene) -> None:
    """Of one that went back and went on in another way; it is signed, so only the hash of its event shows it."""
    scene.mighty.execute("ALTER TABLE ledger.events DISABLE TRIGGER ALL")
    scene.mighty.execute(
        "UPDATE ledger.events SET hash = sha256('') WHERE namespace_id = %s AND stream_id = %s AND version ="
        " (SELECT max(version) FROM ledger.snapshots WHERE namespace_id = %s AND stream_id = %s)",
        (scene.stream.namespace_id, scene.stream.stream_id) * 2,
    )
    for read in (None, 143):
        reader = await scene.reader()
        states = reader._handle.services.states
        assert (await states._load(scene.stream, read))[1] == 0, "no snapshot was used"
        states._store.snapshots = reader._handle.services.store.snapshots


async def test_only_who_has_the_key_uses_a_snapshot(scene: Scene) -> None:
    """So a true snapshot is used, and after the key was changed sessions are read from their events."""
    for key, is_used in ((KEY, True), (b"another", False)):
        reader = await scene.reader(key)
        assert bool((await reader._handle.services.states._load(scene.stream, None))[1]) is is_used
        fork = await reader.fork("s", f"fork {is_used}", version=143)
        found = await reader._handle.services.store.snapshots.load(
            Stream.of(scene.namespace, fork.session_id), SESSION.name, SESSION.version
        )
        assert (found is not None) is is_used, "of a fork, that of its parent"
        assert (await answers(reader))[1] == 140
