"""`memory-ledger view`: a service that only reads, for the browser that has its one-time key.

Source: viewer U-39, U-46, U-51.
"""

import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from ledger.server.access.browser_login import OneTimeKey
from ledger.server.http.guard import RequestGuard
from ledger.server.service import Service
from ledger.server.traffic.observers import Observers
from ledger.server.view_service import READER, open_view, view_app
from ledger.settings import Settings
from ledger.stores.in_memory import InMemoryStore
from tests.support.browser import Browser

EXAMPLE = Path(__file__).parents[2] / "examples" / "support_chat.json"
ADDRESS = "http://127.0.0.1:8123"
OWN = {"origin": ADDRESS, "sec-fetch-site": "same-origin"}


@pytest.fixture
async def viewed(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Service]:
    """A view of a ledger in memory, whatever the environment sets for a service."""
    monkeypatch.setenv("MEMORY_LEDGER_ALLOWED_HOSTS", "evil.example")
    monkeypatch.setenv("MEMORY_LEDGER_HOST", "0.0.0.0")
    monkeypatch.setenv("MEMORY_LEDGER_UI", "false")
    async with open_view(Settings(), InMemoryStore()) as service:
        yield service


def client(service: Service, key: OneTimeKey) -> httpx.AsyncClient:
    app = view_app(service, service.settings, key)
    guard = RequestGuard(app, service.settings, Observers(service.clock), service.stopping)
    return httpx.AsyncClient(transport=httpx.ASGITransport(guard), base_url=ADDRESS)


async def test_the_key_lets_in_once(viewed: Service) -> None:
    key = OneTimeKey(READER)
    async with client(viewed, key) as first:
        assert (await first.get("/v1/sessions")).status_code == 401
        wrong = await first.post("/ui/login", json={"key": key.text[:-1]}, headers=OWN)
        assert wrong.status_code == 401
        begun = await first.post("/ui/login", json={"key": key.text}, headers=OWN)
        assert begun.status_code == 200
        assert (await first.get("/v1/sessions")).json()["sessions"] == []
        csrf = {**OWN, "x-csrf-token": begun.json()["csrf"]}
        assert (await first.post("/v1/search", json={"query": "q"}, headers=csrf)).status_code == 200
        assert (await first.post("/v1/search", json={"query": "q"}, headers=OWN)).status_code == 403
        again = await first.post("/ui/login", json={"key": key.text}, headers=OWN)
    assert (again.status_code, again.json()["code"]) == (401, "not_authenticated")


async def test_another_page_and_a_rebound_name_are_refused(viewed: Service) -> None:
    """trust S-1: also with the key and the cookie."""
    key = OneTimeKey(READER)
    async with client(viewed, key) as page:
        for headers in (
            {"origin": "http://127.0.0.1:1", "sec-fetch-site": "same-site"},
            {"origin": "http://evil.example", "sec-fetch-site": "cross-site"},
        ):
            assert (await page.post("/ui/login", json={"key": key.text}, headers=headers)).status_code == 403
        assert (await page.get("/ui/", headers={"host": "evil.example"})).status_code == 400
        await page.post("/ui/login", json={"key": key.text}, headers=OWN)
        assert (await page.get("/v1/sessions", headers={"sec-fetch-site": "same-site"})).status_code == 403
        assert (await page.get("/v1/sessions", headers={"host": "evil.example"})).status_code == 400
        assert (await page.get("/v1/sessions")).status_code == 200, "the key was not spent by the others"


async def test_it_has_no_route_that_writes(viewed: Service) -> None:
    key = OneTimeKey(READER)
    async with client(viewed, key) as page:
        begun = await page.post("/ui/login", json={"key": key.text}, headers=OWN)
        headers = {**OWN, "x-csrf-token": begun.json()["csrf"]}
        for method, path in (
            ("POST", "/v1/sessions/s/entries"),
            ("POST", "/v1/sessions/s/clear"),
            ("PUT", "/v1/working-memory/s"),
            ("GET", "/v1/working-memory/s"),
            ("POST", "/v1/long-term-memory/"),
        ):
            body = None if method == "GET" else {}
            answer = await page.request(method, path, json=body, headers=headers)
            assert answer.status_code in {404, 405}, path
        assert (await page.get("/ui/")).status_code == 200


@pytest.mark.full
@pytest.mark.processes
def test_a_transcript_is_shown_until_interrupted(tmp_path: Path) -> None:
    """Nothing is stored, and the printed address opens the session."""
    command = [sys.executable, "-c", "from ledger.cli import main; main()", "view", "--no-browser", str(EXAMPLE)]
    home = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    process = subprocess.Popen(
        command, env=home, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        found = re.fullmatch(r"open (http://127\.0\.0\.1:\d+)/(\S+)#key=(\S+)\n", process.stdout.readline())
        assert found, process.communicate(timeout=5)
        assert urlsplit(found[2]).path == "ui/session"
        browser = Browser(found[1])
        begun = browser.send("POST", "/ui/login", body={"key": found[3]})
        browser.cookie = begun.headers["set-cookie"].partition(";")[0]
        session = found[2].partition("id=")[2]
        assert browser.send("GET", f"/v1/sessions/{session}/stats").json()["active_entries"] == 85
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    finally:
        process.kill()
    assert (process.returncode, errors) == (0, "")
    assert {path.name for path in tmp_path.iterdir()} <= {".cache"}, "of the tokenizer"


@pytest.mark.full
@pytest.mark.processes
@pytest.mark.parametrize(
    ("arguments", "word"),
    [(["wrong.json"], "wrong.json"), (["--html", "x.html"], "SESSION"), (["s", "--config", "c.json"], "--html")],
)
def test_what_cannot_be_shown_is_refused_in_one_line(tmp_path: Path, arguments: list[str], word: str) -> None:
    (tmp_path / "wrong.json").write_text("{")
    command = [sys.executable, "-c", "from ledger.cli import main; main()", "view", "--no-browser", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert word in done.stderr
