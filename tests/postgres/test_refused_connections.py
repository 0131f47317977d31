"""A server that refuses a connection is not one that does not answer: the error says what to correct (trust R-7)."""

from collections.abc import Iterator

import psycopg
import pytest

from ledger.errors import DatabaseRefused, DatabaseUnavailable, LedgerError
from ledger.stores.postgres import PostgresStore, Target
from ledger.stores.postgres.faults import ledger_error
from ledger.verification.database_checks import examine
from tests.support.own_cluster import Cluster, cluster

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def asking() -> Iterator[Cluster]:
    """A server that asks for passwords."""
    with cluster() as found:
        found.execute("CREATE ROLE me LOGIN PASSWORD 'secret'", "CREATE ROLE nobody")
        found.permit("host all nobody all trust", "host none all all reject")
        yield found


WRONG = [
    ("postgresql://me:hunter2@{}/postgres", "refuses the login or its password"),
    ("postgresql://me@{}/postgres", "asks for a password"),
    ("postgresql://you:hunter2@{}/postgres", "refuses the login or its password"),
    ("postgresql://nobody@{}/postgres", "may not log in"),
    ("postgresql://me:secret@{}/hunter2", "no such database"),
    ("postgresql://me:secret@{}/none", "permits no such connection"),
    ("postgresql://me:secret@{}/postgres?sslmode=require", "offers no TLS"),
    ("postgresql://me:hunter2@{},127.0.0.1:1/postgres", "refuses the login or its password"),
]


@pytest.mark.parametrize(("url", "message"), WRONG, ids=[url for url, _ in WRONG])
async def test_what_the_server_refuses_is_named(asking: Cluster, url: str, message: str) -> None:
    target = url.format(f"127.0.0.1:{asking.port}")
    with pytest.raises(DatabaseRefused, match=message) as refused:
        await PostgresStore.open(Target(target))
    assert "hunter2" not in str(refused.value)
    (check,) = await examine(target, embedded=False)
    assert (check.name, check.level, check.found) == ("connection", "fails", str(refused.value))


@pytest.mark.parametrize(
    "words",
    [
        'connection to server at "db", port 5432 failed: SSL error: certificate verify failed',
        'connection to server at "db" failed: server certificate for "other" does not match host name "db"',
        'connection to server failed: root certificate file "/none" does not exist',
        "connection to server failed: FATAL:  SSL required",
        'connection to server failed: FATAL:  no pg_hba.conf entry for host "::1", SSL encryption',
        "connection to server failed: FATAL:  no such user: me",
        'connection to server failed: FATAL:  permission denied for database "agents"',
    ],
)
def test_what_a_pooler_or_libpq_refuses_is_named(words: str) -> None:
    fault = ledger_error(psycopg.OperationalError(words))
    assert isinstance(fault, DatabaseRefused)
    assert "try again" not in str(fault)


@pytest.mark.parametrize(
    "words",
    [
        'connection to server at "db", port 5432 failed: Connection refused',
        "connection to server failed: FATAL:  the database system is starting up",
        "connection to server failed: FATAL:  sorry, too many clients already",
        'connection to server failed: FATAL:  database "agents" is not currently accepting connections',
        "connection to server failed: FATAL:  query_wait_timeout",
        "server closed the connection unexpectedly",
    ],
)
def test_what_will_pass_is_to_be_tried_again(words: str) -> None:
    """Negative control."""
    fault: LedgerError = ledger_error(psycopg.OperationalError(words))
    assert type(fault) is DatabaseUnavailable
    assert str(fault).endswith("try again")
