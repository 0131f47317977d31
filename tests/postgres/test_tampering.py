"""Tampering with full access to the database is found, and the answer says what, where, and by which layer.

Source: trust P-7, §6, §12, V-6 and V-7; trust L-1 for what is not found.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import psycopg
import pytest
from click.testing import Result
from msgspec.structs import replace
from typer.testing import CliRunner

from ledger.cli import command_table  # noqa: F401 - registers them
from ledger.cli.app import app
from ledger.errors import LogCorrupted
from ledger.events import StoredEvent
from ledger.ports import Store
from ledger.stores.postgres import Target
from ledger.verification import verify_namespace, verify_session
from ledger.verification.auditor import Auditor
from tests.postgres.conftest import opened
from tests.support.attacked_log import AttackedLog, places
from tests.support.attacks import DETECTED, UNDETECTED, Attack
from tests.support.databases import Server
from tests.support.store_requests import an_event, append
from tests.support.whole_log import whole_log

pytestmark = pytest.mark.postgres

Mighty = psycopg.Connection[Any]


def each(attacks: list[Attack]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("attack", attacks, ids=[attack.name for attack in attacks])


#: What shows in one session: neither names nor positions, and an event of its own must be wrong.
OF_A_SESSION = [
    attack
    for attack in DETECTED
    if any(layer < 3 and session and version for layer, session, version in attack.found)
    and "counter" not in attack.name
]


@pytest.fixture(scope="module")
def mighty(server: Server, quiet_database: str) -> Iterator[Mighty]:
    """A superuser in the database."""
    with server.superuser(quiet_database) as connection:
        yield connection


@pytest.fixture
def url(server: Server, quiet_database: str, app_login: str) -> str:
    """How the application, a plain login, enters that database."""
    return server.url_of(app_login, quiet_database)


@pytest.fixture
async def store(url: str, mighty: Mighty) -> AsyncIterator[Store]:
    """The application's store."""
    async with opened(Target(url)) as store:
        yield store


@pytest.fixture
async def log(store: Store, namespace: str) -> AttackedLog:
    """A log to attack, in a namespace of this test's own."""
    return await AttackedLog.written(store, namespace)


async def verify(url: str, namespace: str, *options: str) -> Result:
    """Run ``memory-ledger verify``."""
    arguments = ["--database-url", url, "--namespace", namespace, "verify", *options]
    return await asyncio.to_thread(CliRunner().invoke, app, arguments)


async def test_an_untouched_log_is_as_it_was_written(log: AttackedLog, url: str) -> None:
    """trust V-1."""
    report = await verify_namespace(log.store, log.namespace)
    assert (report.verdict, report.checked) == ("OK-CHAINED", 7)
    assert (await verify_session(log.store, log.one)).verdict == "OK-CHAINED"
    done = await verify(url, log.namespace)
    assert (done.exit_code, done.stdout) == (0, "OK-CHAINED: 7 events checked\n")


async def test_a_changed_schema_is_found_and_what_guards_the_log_is_tampering(
    log: AttackedLog, mighty: Mighty, url: str
) -> None:
    """trust K-3."""
    for change, undo, found in (
        ("DISABLE TRIGGER events_no_truncate", "ENABLE ALWAYS TRIGGER events_no_truncate", "events.events_no_truncate"),
        ("ADD COLUMN more int", "DROP COLUMN more", "column events.more is added"),
    ):
        mighty.execute(f"ALTER TABLE ledger.events {change}")
        done = await verify(url, log.namespace)
        mighty.execute(f"ALTER TABLE ledger.events {undo}")
        assert done.exit_code == 40
        assert found in done.stdout
    mighty.execute("ALTER TABLE ledger.jobs ADD CONSTRAINT much CHECK (true)")
    done = await verify(url, log.namespace)
    mighty.execute("ALTER TABLE ledger.jobs DROP CONSTRAINT much")
    assert (done.exit_code, done.stdout.splitlines()[0]) == (13, "CACHES DIFFER: 7 events checked")


@each(DETECTED)
async def test_tampering_is_found_where_it_is(attack: Attack, log: AttackedLog, mighty: Mighty, url: str) -> None:
    """trust A-1, A-2, A-3, A-4, A-5, A-6, A-7, A-8, A-9, A-20, and H-19: also a payload alone."""
    log.suffer(attack, mighty)
    report = await verify_namespace(log.store, log.namespace)
    assert report.verdict == "TAMPERED"
    assert places(report) == set(attack.found), report.findings
    assert {finding.namespace for finding in report.findings} == {log.namespace}

    done = await verify(url, log.namespace, "--json")
    assert done.exit_code == 40
    answers = json.loads(done.stdout)
    assert answers["verdict"] == "TAMPERED"
    assert {(each["layer"], each["session_id"], each["version"]) for each in answers["findings"]} == set(attack.found)


async def test_the_command_reports_it_as_text_too(log: AttackedLog, mighty: Mighty, url: str) -> None:
    log.suffer(next(attack for attack in DETECTED if attack.name == "middle event deleted"), mighty)
    done = await verify(url, log.namespace)
    assert done.exit_code == 40
    assert done.stdout.splitlines() == [
        "TAMPERED: 6 events checked",
        "  one of user-1 version 4: position 5 is missing before it (layer 3)",
        "  one of user-1 version 4: version 3 is missing; the event is numbered 4 (layer 1)",
    ]


@each(OF_A_SESSION)
async def test_a_session_by_itself_is_found_tampered_with(attack: Attack, log: AttackedLog, mighty: Mighty) -> None:
    log.suffer(attack, mighty)
    hit = {session for layer, session, _ in attack.found if layer < 3}
    assert (await verify_session(log.store, log.one)).ok is ("one" not in hit)
    assert (await verify_session(log.store, log.two)).ok is ("two" not in hit)


async def test_a_session_whose_head_was_deleted_is_tampered_with_not_unknown(
    log: AttackedLog, mighty: Mighty, url: str
) -> None:
    log.suffer(next(attack for attack in DETECTED if attack.name == "head deleted"), mighty)
    done = await verify(url, log.namespace, "one", "--user", "user-1", "--json")
    assert done.exit_code == 40
    assert [each["version"] for each in json.loads(done.stdout)["findings"]] == [1, 2, 3, 4]
    unknown = await verify(url, log.namespace, "three")
    assert unknown.exit_code == 2


def blind(auditor: Auditor, event: StoredEvent) -> None:
    """Note where streams end, as `check` does, and check nothing."""
    auditor.checked += 1
    auditor._ends[event.stream_id.int] = (event.version, event.hash)


#: Layer → how a verifier forgets it.
FORGOTTEN = {
    1: {"check": blind},
    2: dict.fromkeys(("_check_names", "check_heads", "check_unused_heads"), lambda *_: None),
    3: dict.fromkeys(
        ("check_position", "check_counter", "check_beyond_counter", "check_name", "check_bounds"), lambda *_: None
    ),
}


@pytest.mark.parametrize("layer", FORGOTTEN)
async def test_a_verifier_without_one_layer_misses_its_attacks(
    layer: int, store: Store, mighty: Mighty, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: each layer is needed, and each attack is caught at the layers it says."""
    for name, forgotten in FORGOTTEN[layer].items():
        monkeypatch.setattr(Auditor, name, forgotten)
    missed = [attack for attack in DETECTED if {place[0] for place in attack.found} == {layer}]
    assert len(missed) > 3
    for number, attack in enumerate(missed):
        log = await AttackedLog.written(store, f"{namespace}-{number}")
        log.suffer(attack, mighty)
        assert (await verify_namespace(store, log.namespace)).ok, attack.name


@each(UNDETECTED)
async def test_a_rewrite_in_which_everything_fits_is_not_found(
    attack: Attack, log: AttackedLog, mighty: Mighty
) -> None:
    """The known limit of a chain (trust L-1, SECURITY.md); only receipts kept elsewhere expose what they are of."""
    log.suffer(attack, mighty)
    assert (await verify_namespace(log.store, log.namespace)).ok
    now = {event.position: event.hash.hex() for event in await whole_log(log.store, log.namespace)}
    exposed = any(now.get(position) != stored for position, stored in log.receipts.items())
    assert exposed is ("inserted" not in attack.name), "a receipt exposes all but what was added"


@pytest.mark.parametrize("batch", [1, 20])
async def test_an_append_where_an_event_was_planted_is_not_to_be_tried_again(
    log: AttackedLog, mighty: Mighty, batch: int
) -> None:
    """trust K-7: its number is taken, now and later."""
    log.suffer(next(attack for attack in DETECTED if attack.name.endswith("chained, nothing fitted")), mighty)
    with pytest.raises(LogCorrupted, match="memory-ledger verify"):
        await append(log.store, log.one, *(an_event() for _ in range(batch)))


async def test_what_a_newer_release_wrote_is_no_tampering(log: AttackedLog, url: str) -> None:
    note = an_event(item_id="note-1")
    newer = replace(note, type="entry.added", schema_version=3, event_id=an_event().event_id)
    await append(log.store, log.two, note, newer)
    assert (await verify_namespace(log.store, log.namespace)).ok
    sealed = replace(newer, schema_version=1, codec=2, event_id=an_event().event_id)
    await append(log.store, log.two, sealed)
    report = await verify_namespace(log.store, log.namespace)
    assert report.verdict == "CANNOT VERIFY"
    assert places(report) == {(1, "two", 6)}
    assert (await verify(url, log.namespace)).exit_code == 20


async def test_tampering_outranks_what_cannot_be_verified(log: AttackedLog, mighty: Mighty, url: str) -> None:
    await append(log.store, log.two, replace(an_event(item_id="x"), type="entry.added", codec=2))
    log.suffer(next(attack for attack in DETECTED if attack.name == "head forged"), mighty)
    assert (await verify_namespace(log.store, log.namespace)).verdict == "TAMPERED"
    assert (await verify(url, log.namespace)).exit_code == 40


async def test_on_the_oldest_postgresql_all_of_it_is_found_too(server_15: Server, namespace: str) -> None:
    with server_15.fresh() as database, server_15.superuser(database) as mighty:
        async with opened(server_15.target(database)) as store:
            for number, attack in enumerate(DETECTED):
                log = await AttackedLog.written(store, f"{namespace}-{number}")
                assert (await verify_namespace(store, log.namespace)).ok, attack.name
                log.suffer(attack, mighty)
                assert places(await verify_namespace(store, log.namespace)) == set(attack.found), attack.name
