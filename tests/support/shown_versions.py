"""Compare what the viewer shows of a session with what the library says, version by version."""

from collections.abc import Iterable
from typing import Final

from playwright.sync_api import Page

from tests.server.conftest import Running
from tests.support.viewer_scene import ledger_of, on_loop

#: What a row may say of an entry with a status.
FATES: Final = {
    "active": {"in the window", "active, not shown"},
    "covered": {"behind a summary"},
    "erased": {"erased from the window"},
    "removed": {"removed"},
    "cleared": {"cleared"},
}
_SLIDE: Final = """(version) => {
  const slider = document.querySelector('input[type=range]');
  slider.value = version;
  slider.dispatchEvent(new Event('input', { bubbles: true }));
}"""
_THERE: Final = """(version) =>
  document.querySelector('.where').textContent.includes(`v${version}/`) &&
  document.querySelector('.budget').getAttribute('aria-busy') === 'false'"""
_SHOWN: Final = """() => [
  document.querySelector('.budget-total b').textContent,
  [...document.querySelectorAll('.row')].map((row) =>
    [row.querySelector('.cell-version').textContent, row.querySelector('.cell-fate .sr').textContent])]"""


def differences(page: Page, service: Running, session: str, versions: Iterable[int]) -> list[str]:
    """Return where the open page of *session* differs: the tokens of the window, and the fate of each row in sight."""
    ledger = ledger_of(service)
    wrong: list[str] = []
    for version in versions:
        page.evaluate(_SLIDE, version)
        page.wait_for_function(_THERE, arg=version)
        tokens, rows = page.evaluate(_SHOWN)
        window = on_loop(service, ledger.get_window(session, version=version))
        history = on_loop(service, ledger.get_history(session, version=version))
        if tokens != f"{window.tokens:,}":
            wrong.append(f"{session} v{version}: {tokens} tokens, not {window.tokens:,}")
        shown = {at for first, last in window.shown for at in range(first, last + 1)}
        status = {past.version: past.status for past in history.entries}
        for name, fate in rows:
            at = int(name)
            if fate not in FATES[status[at]] or (fate == "in the window") != (at in shown):
                wrong.append(f"{session} v{version}: entry {at} is {fate}, not {status[at]}")
    return wrong
