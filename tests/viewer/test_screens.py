"""Every screen shows what it should, and every control of the session screen does what it says."""

import json
import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from ledger.formats.importers import documents, read
from projections.memory_config import config as memory_config
from projections.strategies import WINDOWS
from tests.server.conftest import Running
from tests.support.viewer_scene import file_of, ledger_of, on_loop
from tests.viewer.conftest import Watched

TRIP = "session?id=trip"
ROWS = ".row .cell-text bdi"


def test_the_sessions_are_listed_and_filtered(watched: Watched) -> None:
    """viewer U-8, U-26."""
    page = watched.open("", ".list tbody tr")
    heads = ["session", "user", "status", "version", "entries", "tokens kept", "updated", "forked from"]
    assert page.locator(".list thead th").all_inner_texts() == heads
    assert page.locator(".list tbody th").all_inner_texts() == ["hostile", "trip-again", "trip"]
    page.get_by_label("Part of the id").fill("again")
    expect(page.locator(".list tbody tr")).to_have_count(1)
    expect(page.locator(".list tbody tr")).to_contain_text("trip v")
    page.get_by_label("Status").select_option("ended")
    expect(page.locator(".empty")).to_contain_text("Clear a filter")
    page.reload()
    expect(page.get_by_label("Part of the id")).to_have_value("again")


def test_tokens_kept_are_one_number_in_the_list_and_on_the_session(watched: Watched, viewed: Running) -> None:
    """viewer U-8, U-18: those of entries and live summaries, as the library counts them."""
    stats = on_loop(viewed, ledger_of(viewed).get_stats("trip"))
    assert stats.total_tokens > stats.active_tokens
    page = watched.open("", ".list tbody tr")
    row = page.locator(".list tbody tr").filter(has=page.get_by_role("rowheader", name="trip", exact=True))
    assert row.locator("td").all_inner_texts()[4] == f"{stats.total_tokens:,}"
    page = watched.open(TRIP, ROWS)
    kept = f"{stats.total_tokens:,} tokens kept"
    expect(page.get_by_role("slider", name="Version")).to_have_attribute("aria-valuetext", re.compile(re.escape(kept)))


def test_a_list_of_a_server_that_takes_no_writes_says_how_old_it_is(watched: Watched) -> None:
    """viewer U-8, U-26: as the header of the answer says; tests/faults/test_read_only.py shows that header."""
    age = "the index session_rows is as of position 3 of 9"

    def older(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, headers={**answer.headers, "ledger-index-age": age})

    watched.page.route("**/v1/sessions?*", older)
    page = watched.open("", ".list tbody tr")
    expect(page.get_by_role("status")).to_contain_text(age)
    watched.page.unroute("**/v1/sessions?*")
    page.reload()
    page.wait_for_selector(".list tbody tr")
    expect(page.get_by_text(age)).to_have_count(0)


def test_an_unknown_session_and_an_unknown_version_are_said(watched: Watched) -> None:
    """viewer U-26."""
    watched.page.goto(f"{watched.base}/ui/session?id=nobody")
    expect(watched.page.locator("[role=alert]")).to_contain_text("does not exist")
    page = watched.open(f"{TRIP}&tab=diff&a=9999", ".diff-tab")
    expect(page.locator(".empty")).to_contain_text("There is no version 9999")


def test_a_refusal_goes_with_the_tab_that_asked(watched: Watched) -> None:
    page = watched.open(f"{TRIP}&tab=what-if", "#try")
    page.get_by_label("Config as JSON").fill("{")
    page.locator("#try").click()
    expect(page.locator("[role=alert]")).to_contain_text("The config is not JSON")
    page.locator("#tab-chart").click()
    expect(page.locator("[role=alert]")).to_have_count(0)


def test_a_file_without_what_ifs_offers_none(watched: Watched, viewed: Running, tmp_path: Path) -> None:
    """viewer U-33."""
    path = tmp_path / "hostile.html"
    path.write_bytes(file_of(viewed, "hostile", configs=()))
    page = watched.open(path.as_uri(), ROWS)
    page.locator("#tab-what-if").click()
    expect(page.locator(".what-if-tab")).to_contain_text("--config CONFIG")
    expect(page.locator("#try")).to_have_count(0)


def test_the_session_screen_has_its_parts(watched: Watched) -> None:
    """viewer U-9, U-11: the lanes, the bar and the tabs; a raster without room says that dots are combined."""
    page = watched.open(TRIP, ROWS)
    names = ["Transcript", "Window", "Diff", "What-if", "Chart", "Events", "Proof", "Forks"]
    assert page.locator("[role=tab]").all_inner_texts() == names
    colours = page.evaluate("""() => {
      const canvas = document.querySelector('.raster canvas');
      const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      const seen = new Set();
      for (let i = 0; i < data.length; i += 4) seen.add(data.slice(i, i + 3).join());
      return seen.size;
    }""")
    assert colours >= 4, "in the window, not shown, behind a summary, and nothing"
    assert page.locator(".tick.compaction").count() > 0
    assert page.locator(".tick.context").count() == 3


def test_the_window_says_why_it_may_not_be_what_an_imported_agent_sent(watched: Watched, viewed: Running) -> None:
    """viewer U-55, adapters IN-16."""
    lines = [
        {"timestamp": "2026-05-01T10:00:00Z", "type": "session_meta", "payload": {"id": "imported"}},
        {
            "type": "response_item",
            "payload": {"type": "message", "role": "user", "content": [{"text": "Mend the pump."}]},
        },
        {
            "type": "compacted",
            "payload": {"replacement_history": [{"type": "compaction", "encrypted_content": "eA=="}]},
        },
    ]
    found = read(documents(b"\n".join(json.dumps(line).encode() for line in lines)), name="imported")
    on_loop(viewed, ledger_of(viewed).import_conversations(found))
    page = watched.open("session?id=imported&tab=window", ".window-tab")
    note = page.locator(".not-known")
    expect(note).to_contain_text("may not be what the agent sent")
    expect(note).to_contain_text("a compaction stands in the window encrypted")
    expect(note).to_contain_text("line 3")
    watched.open(f"{TRIP}&tab=window", ".window-tab")
    expect(note).to_have_count(0)
    on_loop(viewed, ledger_of(viewed).clear_session("imported", end=True))


def test_the_slider_goes_by_version_compaction_turn_and_time(watched: Watched) -> None:
    """viewer U-10, U-29."""
    page = watched.open(TRIP, ROWS)
    where = page.locator(".where")
    slider = page.get_by_role("slider", name="Version")
    page.keyboard.press("Home")
    expect(where).to_contain_text("v1/")
    page.keyboard.press("ArrowRight")
    expect(where).to_contain_text("v2/")
    expect(slider).to_have_attribute("aria-valuetext", re.compile(r"^version 2 of \d+, turn 0, [\d,]+ tokens kept$"))
    page.keyboard.press("}")
    expect(where).to_contain_text("turn 1")
    page.keyboard.press("]")
    first = where.inner_text()
    page.keyboard.press("]")
    assert where.inner_text() != first
    page.keyboard.press("[")
    assert where.inner_text() == first
    page.keyboard.press("{")
    page.keyboard.press("End")
    assert "v=" not in page.url, "the newest version is followed"
    page.keyboard.press("g")
    page.keyboard.type("2000-01-01")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("began later")
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    assert "v=" in page.url


def test_keys_are_listed_silent_in_fields_and_can_be_switched_off(watched: Watched) -> None:
    """viewer U-29."""
    page = watched.open(TRIP, ROWS)
    page.keyboard.press("?")
    listed = page.locator("dialog .keys kbd").all_inner_texts()
    wanted = [
        "←",
        "→",
        "[",
        "]",
        "{",
        "}",
        "Home",
        "End",
        "j",
        "k",
        "Enter",
        "Esc",
        "/",
        "g",
        "y",
        "d",
        "w",
        "v",
        "f",
        "c",
        "?",
    ]
    assert listed == wanted
    page.get_by_label("use these keys").uncheck()
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("w")
    expect(page.locator("#tab-transcript")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("?")
    assert page.locator("dialog[open]").count() == 0
    page.evaluate("localStorage.setItem('memory-ledger:keys', 'on')")
    page.reload()
    page.wait_for_selector(ROWS)
    page.get_by_label("Find in this session").press_sequentially("wvg")
    expect(page.locator("#tab-transcript")).to_have_attribute("aria-selected", "true")


def test_a_part_of_the_budget_selects_its_rows(watched: Watched) -> None:
    """viewer U-12, U-13."""
    page = watched.open(TRIP, ROWS)
    expect(page.locator(".budget-total")).to_contain_text("/ 120 tokens shown by window.memory_max_tokens")
    page.locator(".part.user").click()
    roles = page.locator(".row .cell-role")
    assert set(roles.all_inner_texts()) == {"U user"} or {text[0] for text in roles.all_inner_texts()} == {"U"}
    page.locator(".filters .chip").click()
    page.get_by_label("in the window").check()
    page.wait_for_function("() => document.querySelectorAll('.row:not(.fate-shown)').length === 0")
    assert page.locator(".row").count() > 0
    page.get_by_label("in the window").uncheck()
    page.get_by_label("changed by this version").check()
    expect(page.locator(".row.changed").first).to_be_visible()
    page.wait_for_function("() => document.querySelectorAll('.row:not(.changed)').length === 0")


def test_the_difference_of_two_versions(watched: Watched, viewed: Running) -> None:
    """viewer U-16: entered, left, edited with the words marked, tokens, cost."""
    (edited,) = on_loop(viewed, ledger_of(viewed).get_log("trip", type="entry.edited")).events
    at = edited.version
    page = watched.open(f"{TRIP}&v={at}&a={at - 1}&tab=diff", ".diff-tab .numbers")
    expect(page.locator(".diff-tab .edited ins").first).to_contain_text("ten")
    expect(page.locator(".diff-tab .edited del").first).to_contain_text("nine")
    page.goto(f"{watched.base}/ui/{TRIP}&v=30&a=9&tab=diff")
    expect(page.locator(".side").first).to_contain_text("\u2212")
    expect(page.locator(".side").last).to_contain_text("+")
    expect(page.locator(".numbers")).to_contain_text("cost so far")


def test_a_what_if_that_needs_a_model_offers_an_estimate(watched: Watched) -> None:
    """viewer U-17."""
    page = watched.open(f"{TRIP}&tab=what-if", "#try")
    config = '{"compactions": [{"type": "summarization", "max_tokens": 200, "summarizer": {"model": "gpt-4o-mini"}}]}'
    page.locator("textarea").fill(config)
    page.locator("#try").click()
    page.locator(".what-if-tab .numbers, [role=alert], .what-if-tab .why").first.wait_for()
    offered = page.get_by_role("button", name="Estimate it")
    if offered.count():
        offered.click()
        expect(page.locator(".what-if-tab .badge.warn").first).to_have_text("estimated")
    page.locator("textarea").fill("{")
    page.locator("#try").click()
    expect(page.locator("[role=alert]")).to_contain_text("not JSON")


def test_each_strategy_of_the_form_is_a_config_that_is_tried_as_it_stands(watched: Watched) -> None:
    """viewer U-17: its strategies and their fields are those of the server's presets."""
    page = watched.open(f"{TRIP}&tab=what-if", "#try")
    strategies = page.get_by_role("combobox", name="Strategy")
    expect(strategies.locator("option")).to_have_count(len(WINDOWS))
    assert set(strategies.locator("option").all_text_contents()) == set(WINDOWS)
    for name in WINDOWS:
        strategies.select_option(name)
        limit = page.get_by_role("spinbutton")
        fields = {}
        if limit.count():
            limit.fill("7")
            fields = {
                (page.locator("label", has=page.get_by_role("spinbutton")).text_content() or "").removeprefix(
                    "Limit: "
                ): 7
            }
        with page.expect_request("**/what-if**") as asked, page.expect_response("**/what-if**") as answered:
            page.locator("#try").click()
        assert answered.value.status == 200, (name, answered.value.text())
        config = json.loads(asked.value.post_data or "")["config"]
        assert config["window"]["type"] == name
        assert fields.items() <= config["window"].items(), "what was typed is sent"
        memory_config.load(config)


def test_the_chart_is_a_table_too(watched: Watched) -> None:
    """viewer U-18."""
    page = watched.open(f"{TRIP}&tab=chart", ".chart-tab tbody tr")
    assert page.locator(".chart-tab tbody tr").count() >= 12
    page.locator(".chart-tab tbody button").nth(3).click()
    expect(page.locator(".chart-tab tr.now")).to_have_count(1)


def test_events_have_their_links_and_are_filtered(watched: Watched) -> None:
    """viewer U-19."""
    page = watched.open(f"{TRIP}&tab=events", ".events li")
    page.get_by_label("Type").select_option("compaction.completed")
    page.wait_for_function("() => document.querySelectorAll('.events li').length < 10")
    assert set(page.locator(".events b").all_inner_texts()) == {"compaction.completed"}
    page.locator(".events summary").first.click()
    expect(page.locator(".hashes").first).to_contain_text(re.compile("[0-9a-f]{64}"))
    assert set(page.locator(".events summary .sr").all_inner_texts()) == {"link ok"}


def test_what_comes_is_followed_or_counted(watched: Watched, viewed: Running) -> None:
    """viewer U-21: nothing moves under a reader of an earlier version."""
    ledger = ledger_of(viewed)
    on_loop(viewed, ledger.add_user_message("live", "first"))
    page = watched.open("session?id=live", ROWS)
    on_loop(viewed, ledger.add_user_message("live", "second"))
    expect(page.locator(".where")).to_contain_text("v3/3")
    page.keyboard.press("Home")
    on_loop(viewed, ledger.add_user_message("live", "third"))
    expect(page.locator(".live")).to_contain_text("1 new")
    expect(page.locator(".where")).to_contain_text("v1/4")
    page.locator(".live").click()
    expect(page.locator(".where")).to_contain_text("v4/4")


def test_forks_are_a_tree_and_compared_from_their_common_version(watched: Watched) -> None:
    """viewer U-22."""
    page = watched.open(f"{TRIP}&tab=forks", ".forks-tab .tree")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator(".forks-tab")).to_contain_text("which both share")
    expect(page.locator(".forks-tab .side").nth(3)).to_be_visible()
    page.get_by_role("link", name="trip-again").click()
    expect(page.locator("h1")).to_have_text("trip-again")


def test_records_reports_and_search(watched: Watched, viewed: Running) -> None:
    """viewer U-23, U-24, U-25."""
    body = {"memories": [{"id": "r-1", "text": "Likes small museums", "namespace": "default", "user_id": "ann"}]}
    assert httpx.post(f"{viewed.url}/v1/long-term-memory/", json=body).is_success
    page = watched.open("records", "h1")
    page.get_by_label("User").fill("ann")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".hits")).to_contain_text("Likes small museums")
    page.locator(".hits summary").click()
    expect(page.locator(".hits pre")).to_contain_text("revision")
    watched.open("backtests", "h1")
    expect(page.locator(".empty")).to_contain_text("MEMORY_LEDGER_REPORTS")
    page = watched.open("search#museum", ".hits li")
    expect(page.locator(".hits li").first).to_contain_text("museum")
    page.locator(".hits a").first.click()
    expect(page.locator(".pane")).to_contain_text("museum")


def test_find_counts_and_goes_on(watched: Watched) -> None:
    """viewer U-25: in all entries up to the version, though only some rows exist."""
    page = watched.open(TRIP, ROWS)
    page.keyboard.press("/")
    page.keyboard.type("MUSEUM 3")
    page.keyboard.press("Enter")
    expect(page.locator(".find")).to_contain_text("1 of 2")
    page.get_by_role("button", name="Next match").click()
    expect(page.locator(".find")).to_contain_text("2 of 2")
    expect(page.locator(".pane pre").first).to_contain_text("Museum 3")


def test_a_step_of_the_slider_asks_for_the_window_alone(watched: Watched) -> None:
    """viewer U-35: which rows are in it is arithmetic; one request is in flight, and the newest version wins."""
    page = watched.open(f"{TRIP}&v=20", ROWS)
    page.wait_for_timeout(500)
    asked: list[str] = []
    page.on("request", lambda request: None if request.url.endswith("icon.svg") else asked.append(request.url))
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".where")).to_contain_text("v40/")
    page.wait_for_timeout(500)
    assert asked
    assert [url for url in asked if "/window?" not in url] == []
    assert asked[-1].endswith("version=40&offset=0")
    assert len(asked) <= 20


def test_paper_gets_the_address_the_verdict_and_the_full_text(watched: Watched) -> None:
    """viewer U-32."""
    page = watched.open(f"{TRIP}&v=20&tab=window", ".item")
    page.emulate_media(media="print")
    expect(page.locator(".print-address")).to_contain_text("v=20")
    expect(page.locator(".print-address")).to_contain_text("not checked")
    assert not page.locator("nav.top").is_visible()
    assert page.evaluate("getComputedStyle(document.querySelector('.item pre')).maxHeight") == "none"


def test_the_tour_has_four_steps_and_can_be_closed(watched: Watched) -> None:
    """viewer U-26."""
    page = watched.open(TRIP, ROWS)
    page.keyboard.press("?")
    page.get_by_role("button", name="Show the tour").click()
    for step in range(4):
        expect(page.locator(".tour")).to_contain_text(f"{step + 1} of 4")
        page.locator(".tour .main").click()
    expect(page.locator(".tour")).to_have_count(0)


@pytest.mark.parametrize("prefix", ["", "deep/er/"])
def test_the_page_works_below_any_prefix(page_below: Page, prefix: str) -> None:
    """viewer U-28."""
    page_below.goto(f"https://proxy.example/{prefix}ui/session?id=trip")
    page_below.wait_for_selector(ROWS)
    page_below.locator("a.back").click()
    page_below.wait_for_selector(".list")
    assert page_below.url == f"https://proxy.example/{prefix}ui/sessions"


@pytest.fixture
def page_below(watched: Watched) -> Page:
    """A page that a proxy serves at another origin, below any prefix."""

    def forward(route: object) -> None:
        request = route.request  # type: ignore[attr-defined]
        path = re.sub(r"^https://proxy.example/(?:deep/er/)?", "/", request.url)
        if "/events/stream" in path:
            route.abort()  # type: ignore[attr-defined]
            return
        answer = httpx.request(request.method, watched.base + path, content=request.post_data)
        route.fulfill(status=answer.status_code, headers=dict(answer.headers), body=answer.content)  # type: ignore[attr-defined]

    watched.page.route("https://proxy.example/**", forward)
    return watched.page


def test_a_session_that_does_not_exist_has_words_and_a_way_on(watched: Watched) -> None:
    """viewer U-26: also after the message is closed; a session that exists has none of it."""
    page = watched.open("session?id=no-such-session", "#main .empty")
    page.locator("text=Close").first.click()
    expect(page.locator("#main .empty")).to_contain_text("Nothing of this session could be read.")
    page.locator("#main .empty a").click()
    expect(page.locator("#main h1")).to_have_text("Sessions")
    watched.open("session?id=trip", ".row .cell-text bdi")
    expect(page.locator("#main .empty", has_text="could be read")).to_have_count(0)
