"""The viewer notices that the log went back under an open page, and says so. Source: viewer U-21; trust K-2."""

import asyncio
import copy
import socket
from concurrent.futures import ThreadPoolExecutor

from playwright.sync_api import BrowserContext, expect

from ledger.stores.in_memory import InMemoryStore
from tests.server.conftest import running
from tests.support.ledgers import ledger_over
from tests.viewer.conftest import watch


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def say(store: InMemoryStore, *texts: str) -> InMemoryStore:
    async def add() -> None:
        for text in texts:
            await ledger_over(store).add_user_message("s", text)

    with ThreadPoolExecutor(1) as thread:  # the browser has the event loop of this one
        thread.submit(asyncio.run, add()).result()
    return store


def test_a_page_says_that_the_log_went_back_and_shows_it_as_it_is__K_2(context: BrowserContext) -> None:
    """The page is quiet while the service stops for the restore, and no event ever arrives under its newest number."""
    store, port = say(InMemoryStore(), "in the backup"), free_port()
    backup = copy.deepcopy(store)
    with running(say(store, "lost"), port=port) as service:
        seen = watch(context, service.url)
        seen.open("session?id=s", ".row .cell-text bdi")
        expect(seen.page.locator(".row")).to_have_count(2)
        seen.page.wait_for_timeout(300)
    with running(say(backup, "another"), port=port):
        alert = seen.page.locator(".problem")
        expect(alert).to_contain_text("The log went back, as after a restore from a backup", timeout=15_000)
        expect(alert).to_contain_text("This is the session as it is now")
        expect(seen.page.locator(".row").first).to_be_visible()
        expect(seen.page.get_by_text("another").first).to_be_visible()
        assert not seen.page.get_by_text("lost", exact=True).count()


def test_a_page_whose_service_only_started_again_says_nothing__K_2(context: BrowserContext) -> None:
    """Negative control: the log goes on."""
    store, port = say(InMemoryStore(), "one"), free_port()
    with running(store, port=port) as service:
        seen = watch(context, service.url)
        seen.open("session?id=s", ".row .cell-text bdi")
        seen.page.wait_for_timeout(300)
    with running(say(store, "two"), port=port):
        expect(seen.page.get_by_text("two").first).to_be_visible(timeout=15_000)
        assert not seen.page.locator(".problem").count()
