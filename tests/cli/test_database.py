"""The commands about the database: an embedded server of one's own, upgrades, restores, pruning; and the demo."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.stores.embedded.server import EmbeddedServer
from tests.cli.conftest import Cli
from tests.support.attacked_log import without_guards
from tests.support.command_line_page import documented
from tests.support.databases import Server, server_folder


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A data directory whose server is stopped at the end."""
    with server_folder() as path:
        yield path
        EmbeddedServer(path).stop()


@pytest.fixture
def own(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command on an embedded server of its own."""
    monkeypatch.setenv("MEMORY_LEDGER_DATA_DIR", str(folder))
    monkeypatch.setattr(Cli, "where", ["--namespace", cli.namespace])
    return cli


def test_the_embedded_server_starts_with_the_first_command_that_needs_it(own: Cli, folder: Path) -> None:
    assert own.json("db", "status")["running"] is False
    own("add", "s", "hello")
    status = own.json("db", "status")
    assert status.keys() == documented("db status")[0] == {"running", "url", "data_dir", "postgres_version"}
    assert (status["running"], status["data_dir"]) == (True, str(folder))
    assert status["url"].startswith("postgresql://postgres@/memory_ledger?host=")
    assert status["postgres_version"].startswith("18.")
    assert own("db", "status").lines[0].split() == ["running", "True"]
    assert own.json("sessions")["sessions"][0]["session_id"] == "s"


def test_it_is_stopped_and_started_and_nothing_is_lost(own: Cli) -> None:
    own("add", "s", "hello")
    assert own.json("db", "stop") == {"stopped": True}
    assert own.json("db", "stop") == {"stopped": False}
    assert own("db", "stop").out == "it was not running\n"
    assert own.json("db", "start")["running"] is True
    assert own("db", "start").out.startswith("running: postgresql://")
    assert own.json("stats", "s")["version"] == 2


def test_its_schema_is_the_newest(own: Cli) -> None:
    own("db", "start")
    value = own.json("db", "upgrade")
    assert value["before"] == value["after"]
    assert own("db", "upgrade").out == f"revision {value['after']}, as before\n"


def test_its_login_has_fewer_rights_and_doctor_reports_it(own: Cli) -> None:
    """trust V-9: exit code 3."""
    ran = own.try_("doctor", "--json")
    assert (ran.code, ran.err) == (3, "")
    weaker = [check["name"] for check in ran.json["checks"] if check["level"] == "weaker"]
    assert (ran.json["verdict"], weaker) == ("weaker", ["login"])


def test_requests_are_pruned_and_events_are_not(own: Cli) -> None:
    own("add", "s", "hello", "--idempotency-key", "k")
    assert own.json("db", "prune") == {"pruned": 0}
    assert own("db", "prune", "--days", "1").out == "0 idempotency keys deleted\n"
    assert own.json("add", "s", "hello", "--idempotency-key", "k")["replayed"] is True


def test_a_users_own_server_is_upgraded_and_restored_by_its_owner(cli: Cli, server: Server) -> None:
    """Exit code 4 before, 0 after."""
    cli("add", "s", "hello")
    cli("export", "--all", "-o", "all.jsonl")
    with server.fresh(migrated=False) as name, server.login("ledger_app") as login:
        owner = ["--database-url", server.database(name), "--namespace", cli.namespace]
        there = Cli(server.url_of(login, name), cli.namespace)
        assert there.try_("doctor").code == 4
        upgraded = cli.try_("db", "upgrade", "--json", where=owner)
        assert upgraded.json.keys() == documented("db upgrade")[0] == {"before", "after"}
        assert upgraded.json["before"] is None
        assert there.try_("doctor").code == 0
        other = cli.try_("db", "restore", "all.jsonl", "--namespace", "other", where=owner)
        assert (other.code, other.err.partition(": ")[2].startswith("namespace: must be cli-")) == (2, True)
        restored = cli.try_("db", "restore", "all.jsonl", "--json", where=owner)
        assert restored.json == {"namespace": cli.namespace, "sessions": 1, "events": 2}
        assert there("export", "--all").out == Path("all.jsonl").read_text(), "every byte as it was"
        assert there.json("verify")["verdict"] == "OK-CHAINED"
        again = cli.try_("db", "restore", "all.jsonl", where=owner)
        assert (again.code, again.err.count("\n")) == (2, 1)
        assert f"namespace {cli.namespace!r}" in again.err


def test_what_was_tampered_with_is_found(server: Server, fresh_database: str, app_login: str) -> None:
    """trust V-7: exit code 40."""
    cli = Cli(server.url_of(app_login, fresh_database), "default")
    cli("add", "s", "Deploy on Friday.")
    cli("add", "other", "hello")
    with server.superuser(fresh_database) as connection, without_guards(connection):
        changed = connection.execute("UPDATE ledger.events SET content = content || ' '::bytea WHERE position = 2")
    assert changed.rowcount == 1
    ran = cli.try_("verify", "--json")
    assert (ran.code, ran.err, ran.json["verdict"]) == (40, "", "TAMPERED")
    (finding,) = ran.json["findings"]
    assert documented("verify [SESSION]")[1]["findings"] <= finding.keys()
    assert (finding["session_id"], finding["version"], finding["layer"]) == ("s", 2, 1)
    assert cli.try_("verify").lines == [
        "TAMPERED: 4 events checked",
        "  s version 2: its content is not the one that was hashed (layer 1)",
    ]
    assert cli.try_("verify", "s").code == 40
    assert cli.try_("verify", "other").code == 0


def test_the_demo_runs_and_proves_its_claims(cli: Cli) -> None:
    ran = cli.try_("demo", "--json", where=[])
    assert (ran.code, ran.err) == (0, "")
    answers = json.loads(ran.out)
    assert (answers["equal"], answers["replayed_equal"], answers["verdict"]) == (True, True, "OK-CHAINED")
    assert answers["entries"] > 169
    assert answers["shown_tokens"] < answers["tokens"]
    shown = {"as recorded": False, "full": True, "max_tokens": False, "recall": True}
    assert answers["shows_the_rules"] == shown
    assert answers["tampering_found"] == ["its content is not the one that was hashed"]
