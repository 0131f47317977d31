"""A browser, and a service whose ledger has everything that the viewer shows."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.server.conftest import Running
from tests.support.viewer_scene import file_of, viewed_service

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what drives a browser."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)


@dataclass(frozen=True)
class Watched:
    """A page, and what it did that it should not: other origins that it asked, refused content, errors, dialogs."""

    page: Page
    base: str
    foreign: list[str]
    faults: list[str]

    def open(self, path: str, ready: str = ".row, .item, #main h1") -> Page:
        """Go to a path below ``ui/``, or to an address, and wait until *ready* is there."""
        self.page.goto(path if "://" in path else f"{self.base}/ui/{path}")
        self.page.wait_for_selector(ready)
        return self.page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The Chromium of this machine; without one these tests are skipped, but not in CI.

    It is closed with each file: while it runs, no other test of the process may run an event loop.
    """
    found = os.environ.get("MEMORY_LEDGER_TEST_BROWSER") or next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        message = "no Chromium: the viewer was NOT tested; install the package `chromium`"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as started:
        launched = started.chromium.launch(executable_path=found, args=list(_ARGUMENTS))
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def viewed() -> Iterator[Running]:
    """The service of the scene."""
    with viewed_service() as service:
        yield service


@pytest.fixture(scope="module")
def one_file(viewed: Running, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The session ``trip`` as one file."""
    path = tmp_path_factory.mktemp("viewer") / "trip.html"
    path.write_bytes(file_of(viewed, "trip"))
    return path


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser that has seen the tour."""
    made = browser.new_context(viewport={"width": 1280, "height": 800})
    made.add_init_script("localStorage.setItem('memory-ledger:toured', 'yes')")
    made.set_default_timeout(10_000)
    yield made
    made.close()


@pytest.fixture
def watched(context: BrowserContext, viewed: Running) -> Watched:
    """A new page of the service."""
    return watch(context, viewed.url)


def watch(context: BrowserContext, base: str) -> Watched:
    """Return a new page that notes what it should not do."""
    found = Watched(context.new_page(), base, [], [])
    found.page.on("request", lambda request: None if _is_own(request.url, base) else found.foreign.append(request.url))
    found.page.on("pageerror", lambda fault: found.faults.append(str(fault)))
    found.page.on("dialog", lambda dialog: (found.faults.append(dialog.message), dialog.dismiss()))
    found.page.on("console", lambda message: found.faults.append(message.text) if message.type == "error" else None)
    return found


def _is_own(url: str, base: str) -> bool:
    return url.startswith((f"{base}/", "file:", "data:", "blob:", "about:"))
