"""Each question of the viewer is answered in at most three actions (viewer U-1, U-14, U-15, U-48)."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.server.conftest import Running
from tests.viewer.conftest import Watched, watch


class Actions:
    """Counts what a reader does: a click, a key or a chord of keys, a text that is typed."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.count = 0

    def click(self, selector: str) -> None:
        self.count += 1
        self.page.locator(selector).first.click()

    def press(self, key: str) -> None:
        self.count += 1
        self.page.keyboard.press(key)

    def write(self, text: str) -> None:
        """Type a text and end it with Enter."""
        self.count += 1
        self.page.keyboard.type(text)
        self.page.keyboard.press("Enter")

    def tab_to(self, selector: str) -> None:
        """Go to a control by Tab alone, and press Enter."""
        self.count += 1
        for _ in range(80):
            if self.page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
                self.page.keyboard.press("Enter")
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab does not reach {selector}")


@pytest.fixture(params=["mouse", "keyboard", "phone", "file"])
def reader(request: pytest.FixtureRequest, context: BrowserContext, viewed: Running, one_file: Path) -> "Reader":
    """A reader of the session ``trip``, by mouse, by keyboard alone, on a phone, or of the one file."""
    seen = watch(context, viewed.url)
    if request.param == "phone":
        seen.page.set_viewport_size({"width": 360, "height": 740})
    path = one_file.as_uri() if request.param == "file" else "session?id=trip"
    seen.open(path, ".row .cell-text bdi")
    return Reader(seen, request.param)


class Reader:
    """A page, and how it is used."""

    def __init__(self, seen: Watched, way: str) -> None:
        self.seen, self.page, self.way = seen, seen.page, way
        self.actions = Actions(seen.page)

    def do(self, by_mouse: Callable[[Actions], None], by_keyboard: Callable[[Actions], None]) -> None:
        """Act in this reader's way, in at most three actions."""
        (by_keyboard if self.way == "keyboard" else by_mouse)(self.actions)
        assert self.actions.count <= 3


def test_what_did_the_model_see_at_turn_8(reader: Reader) -> None:
    """viewer U-2: the context recorded before the first answer, and the screen says so."""

    def by_mouse(act: Actions) -> None:
        act.click(".where")
        act.write("t8")

    def by_keyboard(act: Actions) -> None:
        act.press("g")
        act.write("t8")

    reader.do(by_mouse, by_keyboard)
    expect(reader.page.locator(".window-tab .tab-head")).to_contain_text("turn 8")
    expect(reader.page.locator(".window-tab .badge")).to_have_text("✓ proved")
    expect(reader.page.locator(".item").last).to_contain_text("museum 8: opens at 9")


def test_why_is_an_entry_no_longer_in_the_window(reader: Reader) -> None:
    _scroll_to_top(reader.page)

    def by_mouse(act: Actions) -> None:
        act.click(".row[aria-rowindex='3']")

    def by_keyboard(act: Actions) -> None:
        act.press("j")
        act.press("j")
        act.press("y")

    reader.do(by_mouse, by_keyboard)
    why = reader.page.locator("#why")
    expect(why).to_contain_text("Σ Covered at version")
    expect(why).to_contain_text("because tokens > 220")


def test_what_replaced_it_and_from_which_entries(reader: Reader) -> None:
    _scroll_to_top(reader.page)

    def by_mouse(act: Actions) -> None:
        act.click(".row[aria-rowindex='3']")
        act.click("text=Summary and its tree")

    def by_keyboard(act: Actions) -> None:
        reader.page.evaluate("document.querySelector(\".row[aria-rowindex='3']\").click()")  # as by k and j
        act.press("y")
        act.tab_to("#why button")

    reader.do(by_mouse, by_keyboard)
    pane = reader.page.locator(".pane")
    expect(pane).to_contain_text("What it stands for")
    expect(pane.locator(".tree").first).to_contain_text("entries 3")
    expect(pane).to_contain_text("heuristic")


def test_what_if_recall_at_2000_tokens(reader: Reader) -> None:
    if reader.way == "file":
        reader.page.locator("#tab-what-if").click()
        reader.page.locator(".what-if-form select").first.select_option("config-1")
        reader.page.locator("#try").click()
    else:

        def by_mouse(act: Actions) -> None:
            act.click("#tab-what-if")
            act.click("#try")

        def by_keyboard(act: Actions) -> None:
            act.press("w")
            reader.page.wait_for_function("() => document.activeElement.id === 'try'")
            act.press("Enter")

        reader.do(by_mouse, by_keyboard)
    answer = reader.page.locator("section[aria-label='What if'] .sides")
    expect(answer.last).to_contain_text("What if,")
    expect(reader.page.locator(".numbers").first).to_contain_text("tokens shown")
    expect(reader.page.locator(".what-if-tab")).to_contain_text("recall")


def test_which_strategy_should_I_take(reader: Reader) -> None:
    def by_mouse(act: Actions) -> None:
        act.click("#tab-what-if")
        act.click("text=Compare them")

    def by_keyboard(act: Actions) -> None:
        act.press("w")
        act.tab_to(".trials button")

    reader.do(by_mouse, by_keyboard)
    expect(reader.page.locator(".bars tbody tr").first).to_be_visible(timeout=20_000)
    assert reader.page.locator(".bars tbody tr").count() >= (1 if reader.way == "file" else 10)


def test_has_anybody_tampered(reader: Reader) -> None:
    reader.do(lambda act: act.click(".session-head .badge"), lambda act: act.press("v"))
    verdicts = reader.page.locator(".proof-tab .badge.ok")
    expect(verdicts).to_have_count(1 if reader.way == "file" else 2)
    expect(verdicts.first).to_have_text("OK-CHAINED")
    expect(reader.page.locator(".session-head .badge")).to_have_text("OK-CHAINED")


def test_what_did_an_entry_reach_and_what_without_it(reader: Reader) -> None:
    _scroll_to_top(reader.page)
    reader.page.locator(".row[aria-rowindex='3']").click()
    reader.page.locator(".reach summary").wait_for()

    def by_mouse(act: Actions) -> None:
        act.click(".reach summary")

    def by_keyboard(act: Actions) -> None:
        act.tab_to(".reach summary")

    reader.do(by_mouse, by_keyboard)
    reach = reader.page.locator(".reach")
    expect(reach).to_contain_text("recorded context")
    expect(reach.locator("li").first).to_contain_text("Σ")
    if reader.way == "file":
        return  # a file has no new what-if
    reader.do(lambda act: act.click("text=Replay without it"), lambda act: act.tab_to(".reach .actions button"))
    expect(reader.page.locator(".numbers").first).to_contain_text("what-if")


def test_the_phone_never_scrolls_sideways(context: BrowserContext, viewed: Running) -> None:
    """viewer U-31."""
    seen = watch(context, viewed.url)
    seen.page.set_viewport_size({"width": 360, "height": 740})
    seen.open("session?id=trip")
    for tab in ("transcript", "window", "diff", "what-if", "chart", "events", "proof", "forks"):
        seen.page.locator(f"#tab-{tab}").click()
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 360, tab


def test_a_link_reloads_to_the_same_and_back_undoes(watched: Watched) -> None:
    """viewer U-27."""
    page = watched.open("session?id=trip&v=30&sel=e12", ".pane pre")
    before = page.locator("#main").inner_text()
    page.reload()
    page.wait_for_selector(".pane pre")
    expect(page.locator(".session-head .where")).to_contain_text("v30/")
    assert page.locator("#main").inner_text() == before
    page.locator("#tab-window").click()
    expect(page.locator(".window-tab")).to_contain_text("Version 30")
    page.go_back()
    expect(page.locator("#tab-transcript")).to_have_attribute("aria-selected", "true")
    assert "v=30" in page.url


def _scroll_to_top(page: Page) -> None:
    """Scroll until the third row is there: once the list knows its height, it goes to the end again."""
    third = page.locator(".row[aria-rowindex='3'] .cell-text bdi")
    for _ in range(200):
        page.evaluate("document.querySelector('.rows').scrollTop = 0")
        if third.count():
            return
        page.wait_for_timeout(50)
    third.wait_for()
