"""`memory-ledger doctor` names each promise that is weaker here, and what would keep the ledger from starting.

Source: trust V-9, D-10, P-2.
"""

import asyncio
import json

import pytest
from typer.testing import CliRunner

from ledger.cli import command_table  # noqa: F401 - registers them
from ledger.cli.app import app
from ledger.errors import LedgerError, SummarizerFailed
from ledger.memory import MemoryLedger
from ledger.ports import SummaryText
from ledger.stores.postgres import PostgresStore, Target
from projections.prompts import SummaryRequest
from tests.postgres.conftest import opened
from tests.postgres.test_connections import DURABILITY, unsafe
from tests.support.databases import Server
from tests.support.weakenings import WEAKENINGS, Weakening

pytestmark = pytest.mark.postgres

ALL_HOLD, WEAKER, WILL_NOT_START = 0, 3, 4


def doctor(url: str) -> tuple[int, dict[str, tuple[str, str]]]:
    """Return the exit code of the command, and (level, found) by the names of its checks."""
    done = CliRunner().invoke(app, ["--database-url", url, "doctor", "--json"])
    answers = json.loads(done.stdout)
    checks = {check["name"]: (check["level"], check["found"]) for check in answers["checks"]}
    worst = max((level for level, _ in checks.values()), key=("ok", "weaker", "fails").index)
    assert answers["verdict"] == worst
    assert done.exit_code == {"ok": ALL_HOLD, "weaker": WEAKER, "fails": WILL_NOT_START}[worst]
    return done.exit_code, checks


def weak(checks: dict[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Return the checks that found something."""
    return {name: (level, found) for name, (level, found) in checks.items() if level != "ok"}


@pytest.fixture
def url(server: Server, fresh_database: str, app_login: str) -> str:
    """How a plain login enters a database of this test's own."""
    return server.url_of(app_login, fresh_database)


def test_where_all_holds_nothing_is_named(url: str) -> None:
    code, checks = doctor(url)
    assert (code, weak(checks)) == (ALL_HOLD, {})
    assert set(checks) >= {"PostgreSQL", "fsync", "schema", "role", "row security", "functions", "grants", "cascades"}


def test_an_index_that_is_stuck_is_named(url: str, server: Server, fresh_database: str) -> None:
    assert CliRunner().invoke(app, ["--database-url", url, "add", "s", "hello"]).exit_code == 0
    assert CliRunner().invoke(app, ["--database-url", url, "search", "hello"]).exit_code == 0
    with server.superuser(fresh_database) as mighty:
        mighty.execute("UPDATE ledger.projection_checkpoints SET last_error = 'too large' WHERE projection = 'search'")
    assert weak(doctor(url)[1]) == {"indexes": ("weaker", "stuck: search of default behind position 2 (too large)")}


@pytest.mark.parametrize(("failures", "level"), [(2, "ok"), (3, "weaker")])
def test_a_session_whose_model_fails_repeatedly_is_named(failures: int, level: str, url: str) -> None:
    """Also one that nobody has listed. Twice is not yet repeatedly."""
    asyncio.run(failing_summaries(url, failures))
    code, checks = doctor(url)
    assert (checks["summaries"][0], code) == (level, WEAKER if level == "weaker" else ALL_HOLD)
    if level == "weaker":
        found = checks["summaries"][1]
        assert "s of default, 3 in a row since 20" in found
        assert "model gpt-none: error: the endpoint answered 401" in found
        assert "MEMORY_LEDGER_SUMMARIZER_MODEL" in found


async def failing_summaries(url: str, failures: int) -> None:
    class Refused:
        method, model = "llm", "gpt-none"

        async def summarize(self, request: SummaryRequest) -> SummaryText:
            raise SummarizerFailed("error", "the endpoint answered 401")

    store = await PostgresStore.open(Target(url))
    config = {"maxEntries": 2, "recentWindow": 1, "minEntriesToCompress": 1}
    async with MemoryLedger.open(store=store, config=config, summarizer=Refused()) as ledger:
        for number in range(failures * 2):
            await ledger.add_user_message("s", f"message {number}")
            await ledger.settle()
    await store.close()


@pytest.mark.parametrize("weakening", WEAKENINGS, ids=[each.name for each in WEAKENINGS])
def test_what_is_weaker_is_named(weakening: Weakening, url: str, server: Server, fresh_database: str) -> None:
    with server.superuser(fresh_database) as mighty:
        mighty.execute(weakening.sql)
    code, checks = doctor(url)
    assert code == WEAKER
    assert set(weak(checks)) == {weakening.check}
    level, found = checks[weakening.check]
    assert level == "weaker"
    assert weakening.words in found
    asyncio.run(opens(Target(url)))


async def opens(target: Target) -> None:
    async with opened(target):
        pass


@pytest.mark.parametrize("name", DURABILITY)
def test_settings_that_keep_the_ledger_from_starting_are_named(name: str, url: str, server: Server) -> None:
    with unsafe(server, name):
        code, checks = doctor(url)
    assert (code, set(weak(checks))) == (WILL_NOT_START, {name})


@pytest.mark.parametrize(
    ("roles", "attributes", "check"),
    [
        (("ledger_app",), "SUPERUSER", "role"),
        (("ledger_app",), "BYPASSRLS", "role"),
        (("ledger_owner",), "", "role"),
        (("ledger_app", "ledger_owner"), "", "role"),
        ((), "", "schema"),
    ],
)
def test_a_login_that_may_do_too_much_or_too_little_is_named(
    roles: tuple[str, ...], attributes: str, check: str, server: Server, shared_database: str
) -> None:
    with server.login(*roles, attributes=attributes) as login:
        url = server.url_of(login, shared_database)
        code, checks = doctor(url)
        assert (code, checks[check][0]) == (WILL_NOT_START, "fails")
        assert login in checks[check][1]
        with pytest.raises(LedgerError):
            asyncio.run(opens(Target(url)))


def test_set_role_does_not_hide_the_login(server: Server, shared_database: str) -> None:
    with server.login("ledger_app", "ledger_owner") as login:
        url = server.url_of(login, shared_database, options="-c role=ledger_app")
        code, checks = doctor(url)
        assert (code, checks["role"][0]) == (WILL_NOT_START, "fails")
        assert login in checks["role"][1]


def test_other_schemas_are_named(url: str, server: Server, fresh_database: str) -> None:
    for revision in ("0000", "9999"):
        with server.superuser(fresh_database) as mighty:
            mighty.execute("UPDATE ledger.alembic_version SET version_num = %s", (revision,))
        code, checks = doctor(url)
        assert (code, set(weak(checks))) == (WILL_NOT_START, {"schema"})
        assert revision in checks["schema"][1]


def test_doctor_reports_a_database_without_schema(server: Server, app_login: str) -> None:
    with server.fresh(migrated=False) as name:
        code, checks = doctor(server.url_of(app_login, name))
    assert (code, set(weak(checks))) == (WILL_NOT_START, {"schema"})
    assert "memory-ledger db upgrade" in checks["schema"][1]


def test_what_does_not_answer_is_named_without_its_password() -> None:
    code, checks = doctor("postgresql://me:hunter2@127.0.0.1:1/none")
    assert (code, set(weak(checks))) == (WILL_NOT_START, {"connection"})
    assert "hunter2" not in checks["connection"][1]
