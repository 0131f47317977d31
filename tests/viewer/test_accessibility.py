"""No screen breaks a rule of WCAG 2.2 AA that a program can check, in light and dark (viewer U-30, U-31, U-47)."""

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.server.conftest import Running

TABS = ("transcript", "window", "diff", "what-if", "chart", "events", "proof", "forks")
_RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
#: Nothing else depends on the colours.
_CONTRAST = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}


def violations(page: Page, options: dict[str, Any] = _RULES) -> list[str]:
    """Return what axe finds, a line each."""
    found = Axe().run(page, options=options).response["violations"]
    return [
        f"{each['id']}: {node['html'][:160]} {node['failureSummary'][:200]}" for each in found for node in each["nodes"]
    ]


def in_both_schemes(page: Page) -> list[str]:
    """Return what axe finds on the page as it is, in light, and in dark by the rules that colours matter to."""
    page.emulate_media(color_scheme="light")
    found = violations(page)
    page.emulate_media(color_scheme="dark")
    return found + [f"dark: {each}" for each in violations(page, _CONTRAST)]


def test_axe_finds_nothing(browser: Browser, viewed: Running) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    wrong: dict[str, list[str]] = {}
    for screen in ("sessions", "search", "records", "backtests", "login"):
        page.goto(f"{viewed.url}/ui/{screen}")
        page.wait_for_selector("h1")
        wrong[screen] = in_both_schemes(page)
    page.goto(f"{viewed.url}/ui/session?id=trip&sel=e12")
    page.wait_for_selector(".tour")
    wrong["tour"] = in_both_schemes(page)
    page.get_by_role("button", name="Close the tour").click()
    for tab in TABS:
        page.locator(f"#tab-{tab}").click()
        page.wait_for_timeout(400)  # what the tab loads
        wrong[tab] = in_both_schemes(page)
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    wrong["help"] = in_both_schemes(page)
    context.close()
    assert {name: found for name, found in wrong.items() if found} == {}


def test_axe_would_find_a_pale_text_in_the_dark(browser: Browser) -> None:
    """The negative control: what can be read in light only."""
    page = browser.new_page()
    style = "@media (prefers-color-scheme: dark) { p { color: #222; background: #111 } }"
    page.set_content(f"<html lang=en><title>x</title><style>{style}</style><main><h1>x</h1><p>text</p></main></html>")
    found = in_both_schemes(page)
    assert [line.partition(": ")[0] for line in found] == ["dark"], found
    page.close()


def test_axe_would_find_a_control_without_a_name(browser: Browser) -> None:
    """The negative control."""
    page = browser.new_page()
    page.set_content("<html lang=en><title>x</title><main><h1>x</h1><button></button></main></html>")
    assert any(line.startswith("button-name") for line in violations(page))
    page.close()
