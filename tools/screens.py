"""Take the pictures of the viewer in docs/screens/ from the example transcript: ``python -m tools.screens``.

It needs a Chromium. A test checks that the pages show what it makes.
"""

import json
import shutil
from typing import Final

from playwright.sync_api import Browser, sync_playwright

from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.server.conftest import running
from tests.support.viewer_scene import ledger_of, on_loop
from tools.rasters import ROOT

TARGET: Final = ROOT / "docs" / "screens"
#: Name → address, width, height, colours.
SCREENS: Final = {
    "viewer": ("session?id=coding-agent&v=140&sel=e60", 1280, 800, "light"),
    "viewer-window": ("session?id=coding-agent&v=139&tab=window", 1280, 800, "dark"),
    "viewer-what-if": ('session?id=coding-agent&v=140&tab=what-if#{"config":{"profile":"none"}}', 1280, 800, "light"),
    "viewer-phone": ("session?id=coding-agent&v=140", 390, 844, "light"),
}
_CONFIG: Final = ROOT / "examples" / "configs" / "token_threshold.json"
_TRANSCRIPT: Final = ROOT / "examples" / "coding_agent.jsonl"


def main() -> None:
    """Write each picture."""
    with running(InMemoryStore()) as service, sync_playwright() as started:
        on_loop(service, _fill(ledger_of(service)))
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name in SCREENS:
            _take(browser, service.url, name)
        browser.close()


def _take(browser: Browser, base: str, name: str) -> None:
    path, width, height, scheme = SCREENS[name]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
    context.add_init_script("localStorage.setItem('memory-ledger:toured', 'yes')")
    page = context.new_page()
    page.goto(f"{base}/ui/{path}")
    page.wait_for_selector(".row .cell-text bdi, .item, .numbers")
    page.wait_for_timeout(1_500)  # what is read in the background
    page.screenshot(path=TARGET / f"{name}.png")
    context.close()


async def _fill(ledger: MemoryLedger) -> None:
    await ledger.update_config("coding-agent", json.loads(_CONFIG.read_bytes()), replace=True)
    for line in _TRANSCRIPT.read_text().splitlines():
        message = json.loads(line)
        if isinstance(message.get("content"), str) and message.get("role") in {"system", "user", "assistant", "tool"}:
            if message["role"] == "user":
                await ledger.settle()
            entry = {"role": message["role"], "content": message["content"]}
            if message["role"] == "tool":
                entry |= {"kind": "tool_result", "tool_name": message.get("name", "tool")}
            await ledger.add_entries("coding-agent", [entry])
            if message["role"] == "user":
                await ledger.get_context("coding-agent", record=True)


if __name__ == "__main__":
    main()
