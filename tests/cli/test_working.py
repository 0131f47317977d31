"""Background work by command: worker, jobs list, jobs retry."""

import signal
import time
from typing import Any

import pytest

import ledger.cli.worker_commands
from ledger.application.services import Services
from ledger.worker import Worker
from tests.cli.conftest import Cli

pytestmark = pytest.mark.postgres


@pytest.fixture
def with_message(cli: Cli, file: object) -> Cli:
    """A session of the working-memory API with a message; no model is set."""
    config = file({"profile": "working_memory"})  # type: ignore[operator]
    cli.json("config", "s", "--file", config)
    cli("add", "s", "I moved to Oslo")
    return cli


def test_a_worker_without_a_model_reports_it_and_leaves_the_messages(with_message: Cli) -> None:
    ran = with_message.try_("worker", "--once")
    assert ran.code == 0
    assert "no model is set" in ran.out
    assert "0 jobs done" in ran.out
    (job,) = with_message.json("jobs", "list")["jobs"]
    assert (job["session_id"], job["kind"], job["status"], job["attempts"]) == ("s", "extract", "waiting", 0)
    assert "extract" in with_message("jobs", "list").out
    assert with_message.json("jobs", "list", "--dead") == {"jobs": []}
    assert with_message.json("jobs", "retry") == {"revived": 0}
    assert with_message.json("worker", "--once") == {"done": 0}


def test_a_namespace_without_sessions_has_nothing_to_do(cli: Cli) -> None:
    assert cli("jobs", "list").lines == ["There are no jobs."]


@pytest.mark.sample(2)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_worker_works_until_it_is_interrupted_and_ends_in_order(with_message: Cli, number: signal.Signals) -> None:
    with with_message.process("worker") as process:
        assert process.stdout is not None
        lines = [process.stdout.readline(), process.stdout.readline()]
        assert "working" in lines[1], lines
        time.sleep(0.2)
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")


def test_a_bad_setting_of_the_worker_is_one_line(with_message: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_LEDGER_WORKER_LEASE_S", "never")
    ran = with_message.try_("worker", "--once")
    assert ran.code == 2
    assert "MEMORY_LEDGER_WORKER_LEASE_S" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_worker_asks_models_as_often_in_a_row_as_a_service_does__M_6(
    with_message: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounds: list[tuple[int | None, int | None]] = []

    class Seen(Worker):
        def __init__(self, services: Services, **options: Any) -> None:
            super().__init__(services, **options)
            bounds.append((services.compactor.most_in_a_row, services.compactor.rebuilder.most_in_a_row))

    monkeypatch.setattr(ledger.cli.worker_commands, "Worker", Seen)
    with_message.try_("worker", "--once")
    monkeypatch.setenv("MEMORY_LEDGER_COMPACTIONS_IN_A_ROW", "4")
    with_message.try_("worker", "--once")
    assert bounds == [(10, 10), (4, 4)]
