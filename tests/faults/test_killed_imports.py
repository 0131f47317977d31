"""An import that is killed half-way leaves nothing, and is done when it is done again. Source: trust F-14, I-74."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import LiteralString, NamedTuple

import pytest

from ledger.events.ids import Stream, namespace_id
from ledger.stores.postgres import Target
from tests.support.command_process import COMMAND, environment, run
from tests.support.databases import Server
from tests.support.whole_log import assert_whole
from tests.support.writers_under_load import opened

pytestmark = [pytest.mark.full, pytest.mark.postgres, pytest.mark.xdist_group("killed_imports")]

SESSIONS = 25
MESSAGES = 120
EVENTS = SESSIONS * (MESSAGES + 1)

#: A command that records a file request by request.
CARELESS = """
from ledger.cli import main
from ledger.stores.postgres.event_store import PostgresEventStore

async def append_all(self, requests):
    return sum([len((await self.append(request)).receipts) for request in requests])

PostgresEventStore.append_all = append_all
main()
"""


class Place(NamedTuple):
    """A database to import into, entered by a plain login, and the file."""

    server: Server
    database: str
    url: str
    transcript: Path
    export: Path

    def ask(self, question: LiteralString, *about: object) -> int:
        """Return the number that answers an SQL *question*."""
        with self.server.superuser(self.database) as admin:
            found = admin.execute(question, about).fetchone()
        assert found is not None
        return int(str(found[0]))

    @contextmanager
    def held_up(self, stream: Stream) -> Iterator[None]:
        """Let whoever begins *stream* wait."""
        with self.server.superuser(self.database) as holder, holder.transaction(force_rollback=True):
            holder.execute(
                "INSERT INTO ledger.streams (namespace_id, stream_id, user_id, session_id) VALUES (%s, %s, '', %s)",
                (stream.namespace_id, stream.stream_id, stream.session_id),
            )
            yield


@pytest.fixture(scope="module")
def place(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A database of its own."""
    folder = tmp_path_factory.mktemp("imports")
    transcript, export = folder / "transcript.jsonl", folder / "export.jsonl"
    with transcript.open("w") as file:
        for session in range(SESSIONS):
            messages = [{"role": "user", "content": f"message {at} of {session}"} for at in range(MESSAGES)]
            print(json.dumps({"conversation_id": f"session-{session}", "messages": messages}), file=file)
    with server.fresh() as database, server.login("ledger_app") as login:
        yield Place(server, database, server.url_of(login, database), transcript, export)


def export_of(place: Place) -> Path:
    """Return the file as our own export."""
    options = ["--database-url", place.url, "--namespace", "whole"]
    assert run(*options, "import", place.transcript).returncode == 0
    assert run(*options, "export", "--all", "-o", place.export).returncode == 0
    return place.export


WAITING = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'memory-ledger' AND wait_event_type = 'Lock'
"""


def killed_half_way(place: Place, namespace: str, file: Path, temporary: Path, command: list[str]) -> None:
    """Import *file*, and kill the command when it comes to the session in the middle."""
    temporary.mkdir()
    middle = Stream.of(namespace, f"session-{SESSIONS // 2}")
    arguments = [*command, "--database-url", place.url, "--namespace", namespace, "import", str(file)]
    with place.held_up(middle), subprocess.Popen(arguments, env=environment(TMPDIR=str(temporary))) as process:
        deadline = time.monotonic() + 60
        while not place.ask(WAITING):
            assert process.poll() is None, "it ended before it was killed"
            assert time.monotonic() < deadline, "it does not get half-way"
            time.sleep(0.01)
        process.kill()
    assert process.returncode == -signal.SIGKILL


def assert_nothing_left(place: Place, namespace: str, temporary: Path) -> None:
    """Assert that nothing of an import is to be seen, nor lies around."""
    events = place.ask("SELECT count(*) FROM ledger.events WHERE namespace_id = %s", namespace_id(namespace))
    assert not events, f"{events} events of a killed import are there"
    assert not place.ask("SELECT count(*) FROM ledger.streams WHERE namespace_id = %s", namespace_id(namespace))
    assert not list(temporary.iterdir())


@pytest.mark.parametrize("kind", ["transcript", pytest.param("export", marks=pytest.mark.slow)])
async def test_an_import_killed_half_way_leaves_nothing_and_is_done_by_the_next(
    place: Place, namespace: str, tmp_path: Path, kind: str
) -> None:
    file = place.transcript if kind == "transcript" else export_of(place)
    killed_half_way(place, namespace, file, tmp_path / "temporary", [str(COMMAND)])
    assert_nothing_left(place, namespace, tmp_path / "temporary")
    twice = run("--database-url", place.url, "--namespace", namespace, "--json", "import", file, file)
    assert twice.returncode == 0, twice.stderr
    counts = json.loads(twice.stdout)
    assert (counts["entries"], counts["skipped"]) == (SESSIONS * MESSAGES, SESSIONS * MESSAGES)
    async with opened(Target(place.url)) as store:
        assert len(await assert_whole(store, namespace, [])) == EVENTS


def test_an_import_that_records_a_file_piece_by_piece_is_caught(place: Place, namespace: str, tmp_path: Path) -> None:
    careless = [sys.executable, "-c", CARELESS]
    killed_half_way(place, namespace, place.transcript, tmp_path / "temporary", careless)
    with pytest.raises(AssertionError, match=r"[1-9]\d* events of a killed import are there"):
        assert_nothing_left(place, namespace, tmp_path / "temporary")
