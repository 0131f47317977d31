"""Tampering with a fork, or with the history it shares, is found, also through the fork. Source: trust P-7, H-16."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import psycopg
import pytest

from ledger.ports import Store
from ledger.stores.postgres import Target
from ledger.verification import verify_namespace, verify_session
from ledger.verification.auditor import Auditor
from tests.postgres.conftest import opened
from tests.support.attacked_log import AttackedLog, places
from tests.support.attacks import Attack
from tests.support.databases import Server
from tests.support.fork_attacks import FORKS_DETECTED, FORKS_UNDETECTED

pytestmark = pytest.mark.postgres

Mighty = psycopg.Connection[Any]


@pytest.fixture(scope="module")
def mighty(server: Server, quiet_database: str) -> Iterator[Mighty]:
    """A superuser in the database."""
    with server.superuser(quiet_database) as connection:
        yield connection


@pytest.fixture
async def store(server: Server, quiet_database: str, app_login: str, mighty: Mighty) -> AsyncIterator[Store]:
    """The application's store."""
    async with opened(Target(server.url_of(app_login, quiet_database))) as store:
        yield store


@pytest.fixture
async def log(store: Store, namespace: str) -> AttackedLog:
    """A log with a fork to attack, which this process has read before."""
    written = await AttackedLog.forked(store, namespace)
    assert len(await store.events.read_stream(written.two)) == 5
    return written


def shows_in_the_fork(attack: Attack) -> bool:
    """Tell whether what is found is of the fork's own events, of those it shares, or of their stream."""
    return any(
        layer < 3 and version and (session in {"two", None} or (session == "one" and version <= 3))
        for layer, session, version in attack.found
    )


async def test_an_untouched_fork_is_as_it_was_written(log: AttackedLog) -> None:
    report = await verify_namespace(log.store, log.namespace)
    assert (report.verdict, report.checked) == ("OK-CHAINED", 10)
    for stream, events in ((log.one, 5), (log.two, 5)):
        report = await verify_session(log.store, stream)
        assert (report.verdict, report.checked) == ("OK-CHAINED", events)


@pytest.mark.parametrize("attack", FORKS_DETECTED, ids=[attack.name for attack in FORKS_DETECTED])
async def test_tampering_is_found_where_it_is_and_through_the_fork(
    attack: Attack, log: AttackedLog, mighty: Mighty
) -> None:
    log.suffer(attack, mighty)
    report = await verify_namespace(log.store, log.namespace)
    assert report.verdict == "TAMPERED"
    assert places(report) == set(attack.found), report.findings
    session = await verify_session(log.store, log.two)
    assert session.ok is not shows_in_the_fork(attack), session.findings


async def test_a_verifier_that_trusts_the_heads_of_forks_misses_their_changes(
    log: AttackedLog, mighty: Mighty, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control."""
    log.suffer(next(attack for attack in FORKS_DETECTED if attack.name == "another parent, chained anew"), mighty)
    assert not (await verify_namespace(log.store, log.namespace)).ok
    monkeypatch.setattr(Auditor, "_check_origin", lambda *_: None)
    assert (await verify_namespace(log.store, log.namespace)).ok


async def test_a_verifier_that_takes_forks_for_new_sessions_raises_false_alarm(
    log: AttackedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: the hash of the fork point is what is compared."""
    monkeypatch.setattr(Auditor, "_origin_of", lambda *_: (3, bytes(32)))
    assert places(await verify_session(log.store, log.two)) >= {(1, "two", 4)}


@pytest.mark.parametrize("attack", FORKS_UNDETECTED, ids=[attack.name for attack in FORKS_UNDETECTED])
async def test_a_rewrite_of_all_that_shares_a_history_is_not_found(
    attack: Attack, log: AttackedLog, mighty: Mighty
) -> None:
    """The known limit of a chain (trust L-1); a fork makes it dearer, for it must be rewritten too."""
    log.suffer(attack, mighty)
    assert (await verify_namespace(log.store, log.namespace)).ok
