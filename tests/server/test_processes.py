"""``serve --workers``: several processes behind one address."""

import asyncio
import multiprocessing
import os
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import httpx
import pytest

from ledger.server import processes
from ledger.server.processes import Processes
from ledger.server.service_settings import load_service_settings
from ledger.settings import Settings
from tests.support import http_client
from tests.support.browser import OIDC, Browser, a_jwt
from tests.support.databases import Server
from tests.support.service_process import ServiceProcess

pytestmark = pytest.mark.full


@contextmanager
def serving(folder: Path, server: Server, database: str, **environment: str) -> Iterator[ServiceProcess]:
    """Serve with two processes."""
    with server.login("ledger_app") as login:
        process = ServiceProcess(folder, server.url_of(login, database), "--workers", "2", **environment)
        try:
            process.wait_until_it_serves()
            wait_for(lambda: "listening" in process.output.read_text())  # all of them serve
            yield process
        finally:
            process.process.terminate()
            process.process.wait(20)


def answering(process: ServiceProcess) -> set[int]:
    """Return the ids of the processes that hold the listening socket, without their parent."""
    found = set()
    for folder in Path("/proc").iterdir():
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == process.process.pid and b"spawn_main" in (folder / "cmdline").read_bytes():
                found.add(int(folder.name))
        except (OSError, ValueError, IndexError):
            continue
    return found


def is_running(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


async def add(client: httpx.AsyncClient, number: int, namespace: str) -> int:
    entry = {"role": "user", "content": f"message {number}"}
    path = f"/v1/sessions/s{number % 3}/entries"
    answer = await client.post(path, params={"namespace": namespace}, json={"entries": [entry]})
    return answer.status_code


def test_two_processes_store_every_acknowledged_message(
    tmp_path: Path, server: Server, shared_database: str, namespace: str
) -> None:
    """Also when one of them is killed, which is then started again; at the end all stop in order."""

    async def load(url: str, killed: int) -> tuple[list[int], int]:
        async with httpx.AsyncClient(base_url=url, timeout=20) as client:
            first = await asyncio.gather(*(add(client, number, namespace) for number in range(30)))
        os.kill(killed, signal.SIGKILL)
        async with httpx.AsyncClient(base_url=url, timeout=20) as client:
            rest = await asyncio.gather(
                *(add(client, number, namespace) for number in range(30, 60)), return_exceptions=True
            )
            stored = 0
            for session in range(3):
                answer = await client.get(f"/v1/sessions/s{session}/state", params={"namespace": namespace})
                stored += len(answer.json()["entries"])
        return [*first, *(code for code in rest if isinstance(code, int))], stored

    with serving(tmp_path, server, shared_database) as process:
        before = answering(process)
        assert len(before) == 2
        codes, stored = asyncio.run(load(process.url, min(before)))
        assert codes.count(201) >= 30
        assert set(codes) <= {201, 503}
        assert stored >= codes.count(201)
        wait_for(lambda: len(answering(process)) == 2 and answering(process) != before)
        children = answering(process)
        process.process.send_signal(signal.SIGTERM)
        assert process.process.wait(20) == 0
        assert not any(map(is_running, children))
    assert "Traceback" not in process.errors.read_text()


def test_metrics_count_all_processes_which_end_when_their_parent_was_killed(
    tmp_path: Path, server: Server, shared_database: str
) -> None:
    """They end in order: each closes what it opened, and nothing is left of what they shared."""
    shared = tmp_path / "shared"
    shared.mkdir()
    counted = {"MEMORY_LEDGER_METRICS": "true", "TMPDIR": str(shared)}
    with serving(tmp_path, server, shared_database, **counted) as process:
        children = answering(process)
        assert list(shared.iterdir())
        for _ in range(20):  # each by a connection of its own, so that both processes answer some
            http_client.get(f"{process.url}/v1/sessions")
        counted_in_all = http_client.get(f"{process.url}/metrics").text
        total = re.search(
            r'memory_ledger_requests_total\{method="GET",route="/v1/sessions",status="200"\} ([0-9.]+)', counted_in_all
        )
        assert total is not None, counted_in_all
        assert float(total[1]) == 20
        process.process.kill()
        wait_for(lambda: not any(map(is_running, children)))
    assert not list(shared.iterdir())


def never_starts(*_: object) -> None:
    time.sleep(60)


def is_refused(_: object, settings: Settings, __: object, started: Connection) -> None:
    """Serve at the first start, end at once, and do not start again."""
    assert settings.data_dir is not None
    if settings.data_dir.exists():
        started.send("the database is away")
    else:
        settings.data_dir.touch()
        started.send("")
    started.close()
    os._exit(7)


async def stopping_s(
    folder: Path, child: Callable[..., None], monkeypatch: pytest.MonkeyPatch, *, after: Callable[[], bool]
) -> float:
    """Run a process that does *child*, send SIGTERM to this one *after* that, and return how long the stop took."""
    monkeypatch.setattr(processes, "_serve_in_child", child)
    with socket.socket() as listener:
        several = Processes([listener], Settings(data_dir=folder / "started"), load_service_settings(), 1)
        running = asyncio.create_task(several.run(ready=lambda: None))
        await asyncio.to_thread(wait_for, after)
        began_s = time.monotonic()
        os.kill(os.getpid(), signal.SIGTERM)
        await running
    return time.monotonic() - began_s


async def test_a_signal_ends_processes_that_still_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        await stopping_s(tmp_path, never_starts, monkeypatch, after=lambda: bool(multiprocessing.active_children())) < 2
    )


async def test_a_process_that_cannot_start_again_is_reported_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert await stopping_s(tmp_path, is_refused, monkeypatch, after=lambda: "is away" in caplog.text) < 2
    assert "exit code 7" in caplog.text
    assert "serves again" not in caplog.text


@pytest.mark.parametrize("number", ["0", "65"])
def test_the_number_of_processes_has_bounds(tmp_path: Path, number: str) -> None:
    process = ServiceProcess(tmp_path, "postgresql://localhost/none", "--workers", number)
    assert process.process.wait(20) == 2
    assert "--workers" in process.errors.read_text()


def test_a_database_that_cannot_be_used_is_reported_once(tmp_path: Path) -> None:
    process = ServiceProcess(tmp_path, "postgresql://127.0.0.1:1/none", "--workers", "2")
    assert process.process.wait(60) == 1
    assert process.errors.read_text().count("\n") == 1


@pytest.mark.slow
def test_every_process_knows_the_logins_of_the_others(tmp_path: Path, server: Server, shared_database: str) -> None:
    """Without a key of their own, too: they share one that was made for them."""
    settings = {"AUTH_MODE": "oidc"} | {
        f"MEMORY_LEDGER_{name.upper()}": value for name, value in OIDC.items() if name != "auth_mode"
    }
    with serving(tmp_path, server, shared_database, **settings) as process:
        browser = Browser(process)
        assert browser.log_in(a_jwt("read")).status_code == 200
        answers = [browser.send("GET", "/v1/sessions").status_code for _ in range(40)]
    assert answers == [200] * 40
