"""What the page shows is what the library says, at every version (viewer U-49)."""

import json
import random
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page

from ledger.formats.importers import documents, read
from ledger.stores.in_memory import InMemoryStore
from tests.conftest import DATA
from tests.server.conftest import Running, running
from tests.support.shown_versions import differences
from tests.support.viewer_scene import ledger_of, on_loop
from tests.viewer.conftest import Watched, watch

AIRLINE = DATA / "tau_bench" / "gpt-4o-airline.json"
CONFIGS = (
    {"window": {"type": "full"}},
    {"window": {"type": "max_tokens", "memory_max_tokens": 60}},
    {"compactions": [{"type": "token_threshold", "max_tokens": 60, "recent_window": 2, "max_summary_tokens": 20}]},
    {"compactions": [{"type": "neuralyzer", "interaction_threshold_qty": 3, "interaction_keep": 1}]},
    {"window": {"type": "recall", "max_tokens": 80}},
)


@pytest.fixture
def tall(context: BrowserContext, viewed: Running) -> Watched:
    """A page that has room for every row of a short session."""
    seen = watch(context, viewed.url)
    seen.page.set_viewport_size({"width": 1280, "height": 4_000})
    return seen


def test_every_version_of_the_scene(tall: Watched, viewed: Running) -> None:
    newest = on_loop(viewed, ledger_of(viewed).get_state("trip")).version
    page = tall.open("session?id=trip&v=1", ".slider")
    assert differences(page, viewed, "trip", range(1, newest + 1)) == []


def test_a_page_that_forgets_who_left_is_caught(tall: Watched, viewed: Running) -> None:
    """The negative control."""
    tall.page.route("**/timeline*", _without_leavings)
    page = tall.open("session?id=trip&v=1", ".slider")
    assert differences(page, viewed, "trip", [40]) != []


def _without_leavings(route: object) -> None:
    answer = route.fetch()  # type: ignore[attr-defined]
    route.fulfill(response=answer, body=json.dumps({**answer.json(), "left": []}))  # type: ignore[attr-defined]


@pytest.fixture
def empty() -> Iterator[Running]:
    """A service whose ledger is empty."""
    with running(InMemoryStore()) as service:
        yield service


async def _write(service: Running, session: str, chance: random.Random) -> None:
    ledger = ledger_of(service)
    await ledger.update_config(session, chance.choice(CONFIGS), replace=True)
    for at in range(chance.randrange(4, 24)):
        match chance.choice(
            (
                "user",
                "user",
                "assistant",
                "assistant",
                "edit",
                "remove",
                "settle",
                "clear",
                "config",
                "context",
                "rebuild",
            )
        ):
            case "user" | "assistant" as role:
                await ledger.add_entries(
                    session, [{"role": role, "content": f"{at} " + "word " * chance.randrange(12)}]
                )
            case "edit" | "remove" as change:
                entries = list(await ledger.get_active_entries(session))
                if entries and change == "edit":
                    await ledger.edit_entry(session, chance.choice(entries).entry_id, f"edited at {at}")
                elif entries:
                    await ledger.remove_entry(session, chance.choice(entries).entry_id)
            case "settle":
                await ledger.settle()
            case "clear" if chance.random() < 0.3:
                await ledger.clear_session(session)
            case "config":
                await ledger.update_config(session, chance.choice(CONFIGS), replace=True)
            case "rebuild":
                await ledger.settle()
                await ledger.update_config(session, chance.choice(CONFIGS), replace=True, rebuild=True)
            case "context":
                await ledger.get_context(session, record=True)
            case _:
                pass
    await ledger.settle()


def test_every_version_of_a_session_that_was_rebuilt_twice(context: BrowserContext, empty: Running) -> None:
    """R-RBD-3: entries that return are in the window again, and those that leave once more are not."""

    async def write() -> int:
        ledger = ledger_of(empty)
        await ledger.update_config("s", CONFIGS[2], replace=True)
        for number in range(20):
            await ledger.add_user_message("s", f"{number} " + "word " * 9)
            await ledger.settle()
        for config in (CONFIGS[0], CONFIGS[2]):
            await ledger.update_config("s", config, replace=True, rebuild=True)
            await ledger.settle()
            await ledger.add_user_message("s", "and then " + "word " * 9)
            await ledger.settle()
        return (await ledger.get_state("s")).version

    newest = on_loop(empty, write())
    page = _tall_page(context, empty)
    page.goto(f"{empty.url}/ui/session?id=s&v=1")
    page.wait_for_selector(".slider")
    assert differences(page, empty, "s", range(1, newest + 1)) == []


@pytest.mark.slow
@pytest.mark.timeout(1_500)
def test_every_version_of_200_random_histories(context: BrowserContext, empty: Running) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    page = _tall_page(context, empty)
    for number in range(200):
        session = f"s-{number}"
        on_loop(empty, _write(empty, session, random.Random(seed + number)))
        newest = on_loop(empty, ledger_of(empty).get_state(session)).version
        page.goto(f"{empty.url}/ui/session?id={session}&v=1")
        page.wait_for_selector(".slider")
        assert differences(page, empty, session, range(1, newest + 1)) == [], f"seed {seed}, history {number}"


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.timeout(1_500)
@pytest.mark.skipif(not AIRLINE.exists(), reason=f"NOT TESTED on real transcripts: {AIRLINE} is absent")
def test_every_tenth_version_of_200_real_sessions(context: BrowserContext, empty: Running) -> None:
    """tau-bench, airline: 200 sessions."""
    ledger = ledger_of(empty)
    on_loop(empty, ledger.update_config(None, CONFIGS[2]))
    imported = on_loop(empty, ledger.import_conversations(read(documents(AIRLINE.read_bytes()), name="airline")))
    assert len(imported.session_ids) == 200
    page = _tall_page(context, empty)
    for session in imported.session_ids:
        newest = on_loop(empty, ledger.get_state(session)).version
        page.goto(f"{empty.url}/ui/session?id={session}&v=1")
        page.wait_for_selector(".slider")
        assert differences(page, empty, session, {*range(10, newest, 10), newest}) == []


def _tall_page(context: BrowserContext, service: Running) -> Page:
    seen = watch(context, service.url)
    seen.page.set_viewport_size({"width": 1280, "height": 4_000})
    return seen.page
