"""A ledger in a forked child, as with multiprocessing, gunicorn's preload and Celery's prefork: never a hang."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.databases import Server

if not hasattr(os, "fork"):
    pytest.skip("needs os.fork", allow_module_level=True)

ROOT = Path(__file__).parents[2]
REFUSED = (
    "child: the ledger was opened in another process, before a fork, with a store, summarizer, embedder or handler "
    "that cannot be shared; open it in this process"
)
HOW = ["os.fork", "multiprocessing"]


@pytest.fixture
def url(server: Server, shared_database: str) -> Iterator[str]:
    """The shared database, entered by a login of the application."""
    with server.login("ledger_app") as login:
        yield server.url_of(login, shared_database)


def ran(*arguments: str) -> list[str]:
    """Return what the program printed; it has a minute, and says nothing on standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.forking_process", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.sample(2)
@pytest.mark.postgres
@pytest.mark.parametrize("how", HOW)
def test_a_child_opens_again_and_the_parent_continues(how: str, url: str) -> None:
    assert ran(how, "url", url) == [
        "child: parent child True",
        "exit: 0",
        "child: parent child child True",
        "exit: 0",
        "parent: parent child child parent True",
    ]


@pytest.mark.full
@pytest.mark.processes
@pytest.mark.parametrize("how", HOW)
def test_a_store_of_the_callers_is_refused_in_a_child(how: str) -> None:
    assert ran(how, "store") == [REFUSED, "exit: 0", REFUSED, "exit: 0", "parent: parent parent True"]


@pytest.mark.full
@pytest.mark.postgres
def test_a_handler_is_refused_in_a_child(url: str) -> None:
    assert ran("os.fork", "handler", url)[:2] == [REFUSED, "exit: 0"]


@pytest.mark.full
@pytest.mark.postgres
def test_an_asynchronous_ledger_is_refused_in_a_child(url: str) -> None:
    refused, *others = ran("os.fork", "async", url)
    assert refused == "child: the ledger was opened in another process, before a fork; open it in this process"
    assert others == ["child: closed", "exit: 0", "parent: parent parent"]
