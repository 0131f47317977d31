"""Content is never more than text: nothing runs, nothing is loaded (viewer U-36, U-37, U-50; trust I-57 … I-59)."""

from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Route, expect

from ledger.server.ui.viewer_page import file_text
from tests.server.conftest import Running
from tests.support.viewer_scene import file_of
from tests.viewer.conftest import Watched, watch

TABS = ("transcript", "window", "diff", "what-if", "chart", "events", "proof", "forks")
_VIOLATIONS = """
  window.violations = [];
  document.addEventListener('securitypolicyviolation', (event) => window.violations.push(event.violatedDirective));
"""


def look_everywhere(seen: Watched, start: str) -> None:
    """Open each tab and the first rows, as a reader would."""
    page = seen.open(start, ".row .cell-text bdi")
    for tab in TABS:
        page.locator(f"#tab-{tab}").click()
        page.locator("#panel").wait_for()
        if tab == "transcript":
            page.evaluate("document.querySelector('.rows').scrollTop = 0")
            for row in (1, 2, 3, 4, 20, 28):
                page.evaluate("(row) => { document.querySelector('.rows').scrollTop = (row - 1) * 28 }", row)
                page.locator(f".row[aria-rowindex='{row}']").click()
                page.locator(".pane pre").first.wait_for()
        if tab == "events":
            page.locator(".events summary").first.click()
            page.locator(".events pre").first.wait_for()
    page.wait_for_timeout(300)  # what it would load


def faults_of(seen: Watched) -> list[str]:
    """Return everything that content made the page do."""
    page = seen.page
    hacked = page.evaluate("String(window.hacked)")
    violations: list[str] = page.evaluate("window.violations")
    return [*seen.foreign, *seen.faults, *violations] + ([] if hacked == "undefined" else [f"ran {hacked}"])


def test_hostile_content_stays_text_in_the_service(context: BrowserContext, viewed: Running) -> None:
    context.add_init_script(_VIOLATIONS)
    seen = watch(context, viewed.url)
    look_everywhere(seen, "session?id=hostile&v=30")
    assert faults_of(seen) == []
    seen.open("search#script", ".hits, .empty")
    assert faults_of(seen) == []


def test_hostile_content_stays_text_in_the_one_file(context: BrowserContext, viewed: Running, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    path.write_bytes(file_of(viewed, "hostile"))
    context.add_init_script(_VIOLATIONS)
    seen = watch(context, viewed.url)
    look_everywhere(seen, path.as_uri())
    assert faults_of(seen) == []


def test_characters_that_cannot_be_seen_are_shown(watched: Watched) -> None:
    """viewer U-37: and counted on the row; long texts are cut until asked."""
    page = watched.open("session?id=hostile", ".row .cell-text bdi")
    page.get_by_label("Find in this session").fill("gnp.exe")
    page.keyboard.press("Enter")
    chips = page.locator(".pane .hidden-char")
    expect(chips.first).to_have_text("U+202E")
    assert {"U+2066", "U+200B", "U+E0041"} <= set(chips.all_inner_texts())
    assert chips.all_inner_texts().count("U+000D") == 1, "of a line that is overwritten, not of one that ends"
    expect(page.locator(".row .chip.warn").first).to_contain_text("hidden")
    page.get_by_label("Find in this session").fill("a long line")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Show all").click()
    assert len(page.locator(".pane pre").first.inner_text()) > 100_000


@pytest.mark.parametrize("breaks", ["as HTML", "without a policy"])
def test_a_page_that_reads_content_as_html_is_caught(context: BrowserContext, viewed: Running, breaks: str) -> None:
    """The negative control: the same check fails when a text is put into the page by innerHTML."""
    script = file_text("viewer.js")
    broken = script.replace(_CHIPS, _BREAK, 1)
    assert broken != script

    def answer(route: Route) -> None:
        response = route.fetch()
        headers = dict(response.headers)
        if breaks == "without a policy":
            headers.pop("content-security-policy", None)
        body = broken if route.request.url.endswith("viewer.js") else response.text()
        route.fulfill(status=response.status, headers=headers, body=body)

    context.route("**/ui/**", answer)
    context.add_init_script(_VIOLATIONS)
    seen = watch(context, viewed.url)
    seen.page.route("**/*evil.example/**", lambda route: route.abort())
    seen.page.goto(f"{viewed.url}/ui/session?id=hostile&v=30")
    seen.page.wait_for_timeout(1_500)  # the content may replace the page, so there is nothing to wait for
    assert seen.foreign or faults_of(seen)


_CHIPS = """  function Chips({ text }) {
"""
_BREAK = f"""{_CHIPS}    const box = document.createElement("div");
    document.body.append(box);
    box.innerHTML = text;
"""
