"""A rebuild in the viewer: what starts one, how far it is, what it will change, and why there is none."""

import gzip
import json
import re
import shlex
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from ledger.errors import SummarizerFailed
from ledger.ports import SummaryText
from ledger.stores.in_memory import InMemoryStore
from ledger.worker import Worker
from projections.prompts import SummaryRequest
from tests.server.conftest import Running, running
from tests.support.viewer_scene import file_of, ledger_of, on_loop
from tests.support.worker_scene import at_once
from tests.viewer.conftest import Watched, watch

MOST = 3
CONFIG = {"compactions": [{"type": "rolling_blocks", "size": 2, "max_summaries": 50}]}
LINE, ROWS = ".rebuild", ".row .cell-text bdi"


@pytest.fixture(scope="module")
def rebuilding() -> Iterator[Running]:
    """A service without a worker of its own, so that a rebuild waits after ``MOST`` summaries."""
    with running(InMemoryStore(), worker=False, compactions_in_a_row=MOST) as service:
        service.service.services.compactor.set_summarizer(None, Writing())
        yield service


class Writing:
    """A model whose texts depend on what it was asked alone."""

    method, model = "llm", "house-model"

    async def summarize(self, request: SummaryRequest) -> SummaryText:
        return SummaryText(f"s {request.request_hash[:5]}", 10, 2)


class Failing:
    """A model that does not answer."""

    method, model = "llm", "away"

    async def summarize(self, request: SummaryRequest) -> SummaryText:
        raise SummarizerFailed("error", "the model is away")


def filled(service: Running, session_id: str, user_id: str | None = None) -> None:
    entries = [{"role": "user", "content": f"it's message {number} " * 5} for number in range(20)]
    on_loop(service, ledger_of(service).add_entries(session_id, entries, user_id=user_id))


def open_session(context: BrowserContext, service: Running, names: str, ready: str) -> tuple[Watched, Page]:
    watched = watch(context, service.url)
    return watched, watched.open(f"session?{names}", ready)


def block_of(path: Path, name: str) -> str:
    """Return a block of a file."""
    (found,) = re.findall(f'data-block="{name}">([^<]*)<', path.read_text())
    return gzip.decompress(b64decode(found)).decode()


def asked_as_the_page_says(page: Page) -> httpx.Response:
    """Send the request that the page shows, as a shell would read it."""
    (text,) = [each for each in page.locator(".copy code").all_inner_texts() if each.startswith("curl")]
    curl, *words = shlex.split(text)
    assert (curl, words[:2]) == ("curl", ["-X", "PUT"])
    url, rest = words[2], words[3:]
    assert rest[0::2] == ["-H", "-d"]
    name, _, value = rest[1].partition(": ")
    return httpx.put(url, content=rest[3], headers={name: value})


def test_the_request_of_the_page_starts_it_and_the_page_shows_how_far_it_is(
    context: BrowserContext, rebuilding: Running
) -> None:
    """viewer U-17."""
    filled(rebuilding, "it's me", "ann")
    watched, page = open_session(context, rebuilding, "id=it%27s+me&user=ann&tab=what-if", "#try")
    expect(page.locator(LINE)).to_have_count(0)
    page.locator("textarea").fill(json.dumps(CONFIG))
    page.locator("#try").click()
    page.get_by_role("button", name="Estimate it").click()  # a what-if asks no model
    commands = page.locator(".copy code")
    expect(commands.first).to_have_text("memory-ledger adopt 'it'\\''s me' --config config.json --user 'ann' --rebuild")
    assert asked_as_the_page_says(page).status_code == 202
    expect(page.locator(LINE)).to_contain_text(f"{MOST} summaries written; it waits for a worker")
    progress = page.get_by_role("progressbar", name="Rebuilding the session")
    assert 0 < int(progress.get_attribute("value") or 0) < int(progress.get_attribute("max") or 0)

    page.locator("#tab-transcript").click()
    page.get_by_role("button", name="What it will change").click()
    expect(page.locator("textarea")).to_have_value(re.compile("rolling_blocks"))
    page.get_by_role("button", name="Estimate it").click()  # most of the summaries are not written yet
    expect(page.locator(".what-if-tab .numbers").first).to_be_visible()
    expect(page.locator(LINE)).to_be_visible()
    on_loop(rebuilding, Worker(rebuilding.service.services, settings=at_once()).run_once())
    expect(page.locator(LINE)).to_have_count(0)
    assert watched.foreign == []
    assert [each.partition("status of ")[2] for each in watched.faults] == ["404 (Not Found)"] * 2, "of the what-ifs"


def test_a_file_shows_a_rebuild_that_was_not_completed_and_the_config_of_one_that_was(
    context: BrowserContext, rebuilding: Running, tmp_path: Path
) -> None:
    """viewer U-33, U-17."""
    filled(rebuilding, "kept")
    ledger = ledger_of(rebuilding)
    on_loop(rebuilding, ledger.update_config("kept", CONFIG, rebuild=True))
    on_loop(rebuilding, ledger.settle("kept"))
    path = tmp_path / "kept.html"
    path.write_bytes(file_of(rebuilding, "kept"))
    page = watch(context, rebuilding.url).open(path.as_uri(), ROWS)
    expect(page.locator(LINE)).to_contain_text(f"{MOST} summaries written; it waits for a worker")

    on_loop(rebuilding, Worker(rebuilding.service.services, settings=at_once()).run_once())
    completed = on_loop(rebuilding, ledger.get_state("kept")).version
    other = {"window": {"type": "max_tokens", "memory_max_tokens": 500}}
    on_loop(rebuilding, ledger.update_config("kept", other, replace=True))
    path.write_bytes(file_of(rebuilding, "kept"))
    page.goto(f"{path.as_uri()}#v={completed}&tab=window")
    page.reload()
    expect(page.locator(LINE)).to_have_count(0)
    expect(page.locator(".window-tab")).to_be_visible()
    strategies = [each["config"]["compactions"] for each in json.loads(block_of(path, "session"))["configs"]]
    assert [[each["type"] for each in found] for found in strategies].count(["rolling_blocks"]) == 1


def test_a_rebuild_that_failed_says_why(context: BrowserContext, rebuilding: Running) -> None:
    """viewer U-17."""
    filled(rebuilding, "broken")
    services = rebuilding.service.services
    services.compactor.set_summarizer(None, Failing())
    try:
        on_loop(rebuilding, ledger_of(rebuilding).update_config("broken", CONFIG, rebuild=True))
        on_loop(rebuilding, ledger_of(rebuilding).settle("broken"))
    finally:
        services.compactor.set_summarizer(None, Writing())
    _, page = open_session(context, rebuilding, "id=broken", ROWS)
    expect(page.locator(LINE)).to_contain_text("rebuild failed")
    expect(page.locator(LINE)).to_contain_text("the model is away")
    on_loop(rebuilding, ledger_of(rebuilding).update_config("broken", CONFIG))
    expect(page.locator(LINE)).to_have_count(0)
