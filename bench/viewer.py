"""Measure the viewer in a browser: `python -m bench.viewer` prints the figures beside the bounds of the specification.

It needs a Chromium and PostgreSQL; ratios decide, since times depend on the machine. Source: viewer U-34.
"""

import json
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

from ledger import SyncMemoryLedger

SIZES: Final = {"small": 100, "middle": 10_000, "large": 100_000}
CONFIG: Final = {"window": {"type": "max_tokens", "memory_max_tokens": 2_000}}
RUNS: Final = 5
STEPS: Final = 60
JUMPS: Final = 120
_COMMAND: Final = (sys.executable, "-c", "from ledger.cli import main; main()")
_ARGUMENTS: Final = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")
_FCP: Final = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
# the icon is asked for by the browser, for its tab; no paint waits for it
_BEFORE_PAINT: Final = f"""1 + performance.getEntriesByType('resource')
  .filter((each) => each.startTime < {_FCP} && !each.name.endsWith('/icon.svg')).length"""
_PAINTED: Final = "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"  # the frame is painted then
_STEP: Final = f"""async (version) => {{
  const slider = document.querySelector('input[type=range]');
  const begin = performance.now();
  slider.value = version;
  slider.dispatchEvent(new Event('input', {{ bubbles: true }}));
  await {_PAINTED};
  return performance.now() - begin;
}}"""
_TEXT: Final = """async (version) => {
  const slider = document.querySelector('input[type=range]');
  const begin = performance.now();
  slider.value = version;
  slider.dispatchEvent(new Event('input', { bubbles: true }));
  const there = () => document.querySelector('.window-tab .tab-head')?.textContent.includes(`Version ${version},`);
  while (!there()) await new Promise((done) => setTimeout(done, 2));
  return performance.now() - begin;
}"""
_JUMP: Final = f"""async (part) => {{
  const rows = document.querySelector('.rows');
  const begin = performance.now();
  rows.scrollTop = part * rows.scrollHeight;
  await {_PAINTED};
  return [performance.now() - begin, document.querySelectorAll('*').length];
}}"""
_LONG_TASKS: Final = """() => {
  window.longest = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((each) => {
    window.longest = Math.max(window.longest, each.duration);
  })).observe({ type: 'longtask' });
}"""


class Figure(NamedTuple):
    """What was measured, and the most that it may be."""

    name: str
    value: float
    bound: float


def main() -> None:
    """Print the figures as a table."""
    with filled_service() as (base, folder), sync_playwright() as started:
        browser = started.chromium.launch(executable_path=_chromium(), args=list(_ARGUMENTS))
        for name, value, bound in measure(base, browser, folder):
            print(f"{name:<56} {value:>10,.2f}   at most {bound:,}")
        browser.close()


@contextmanager
def filled_service() -> Iterator[tuple[str, str]]:
    """Yield the address of a service with sessions of each size, and its data folder."""
    with tempfile.TemporaryDirectory(prefix="viewer-bench-") as folder:
        _fill(folder)
        with _service(folder) as base:
            yield base, folder


def measure(base: str, browser: Browser, folder: str) -> list[Figure]:
    """Return each figure with its bound; times in ms unless the name says otherwise."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    paints = {name: median(_first_paint(page, base, name) for _ in range(RUNS)) for name in ("small", "middle")}
    _open(page, base, "middle")
    requests = page.evaluate(_BEFORE_PAINT)
    steps = {name: _p95(_steps(page, base, name, _STEP)) for name in SIZES}
    texts = _p95(_steps(page, base, "middle", _TEXT, tab="window"))
    heaps: dict[str, float] = {}
    for name in ("middle", "large"):
        jumps = _jumps(page, base, name)
        longest = float(page.evaluate("window.longest"))
        heaps[name] = _heap(page)
    timeline = len(urllib.request.urlopen(f"{base}/v1/sessions/large/timeline?limit=20000").read())
    opened = _one_file(page, folder)
    return [
        Figure("requests before the first paint", requests, 4),
        Figure("first paint, 10,000 versions / 100", paints["middle"] / paints["small"], 1.3),
        Figure("first paint, 10,000 versions", paints["middle"], 1_000),
        Figure("slider step, 10,000 versions, p95", steps["middle"], 50),
        Figure("slider step, 10,000 / at 100", steps["middle"] / steps["small"], 1.5),
        Figure("slider step, 100,000 versions, p95", steps["large"], 50),
        Figure("step to the text of the window, 10,000, p95", texts, 250),
        Figure("jumps through 100,000 entries, p95", _p95([each for each, _ in jumps]), 50),
        Figure("elements of the page then", max(size for _, size in jumps), 3_000),
        Figure("longest task then (0: none over 50)", longest, 200),
        Figure("heap after it, MiB", heaps["large"] / 2**20, 64),
        Figure("heap, 100,000 / at 10,000", heaps["large"] / heaps["middle"], 4),
        Figure("bytes of the timeline an entry", timeline / 20_000, 40),
        Figure("opening one file of 10,000 events, s", opened, 2),
    ]


def _open(page: Page, base: str, name: str, tab: str = "transcript") -> None:
    page.goto("about:blank")
    page.goto(f"{base}/ui/session?id={name}&tab={tab}")
    page.wait_for_selector(".row" if tab == "transcript" else ".window-tab .item")
    page.wait_for_timeout(1_500)  # what is read in the background


def _first_paint(page: Page, base: str, name: str) -> float:
    page.goto("about:blank")
    page.goto(f"{base}/ui/session?id={name}")
    page.wait_for_selector(".row")
    return float(page.evaluate(_FCP))


def _steps(page: Page, base: str, name: str, script: str, tab: str = "transcript") -> list[float]:
    _open(page, base, name, tab)
    chance = random.Random(1)
    return [float(page.evaluate(script, chance.randrange(2, SIZES[name]))) for _ in range(STEPS)]


def _jumps(page: Page, base: str, name: str) -> list[tuple[float, int]]:
    _open(page, base, name)
    page.evaluate(_LONG_TASKS)
    chance = random.Random(2)
    return [tuple(page.evaluate(_JUMP, chance.random())) for _ in range(JUMPS)]


def _heap(page: Page) -> float:
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    return float(session.send("Runtime.getHeapUsage")["usedSize"])


def _one_file(page: Page, folder: str) -> float:
    path = Path(folder, "middle.html")
    _ledger(folder, "view", "middle", "--html", str(path))
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        page.goto(path.as_uri())
        page.wait_for_selector(".row")
        times.append(time.perf_counter() - begin)
    return median(times)


def _p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


def _fill(folder: str) -> None:
    with SyncMemoryLedger.open(data_dir=folder, config=CONFIG) as ledger:
        for name, size in SIZES.items():
            for first in range(0, size - 1, 1_000):
                ledger.add_entries(name, [_entry(at) for at in range(first, min(first + 1_000, size - 1))])


def _entry(at: int) -> dict[str, str]:
    return {
        "role": ("user", "assistant")[at % 2],
        "content": f"message {at} about topic {at % 97}" + " more" * (at % 9),
    }


@contextmanager
def _service(folder: str) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [*_COMMAND, "--data-dir", folder, "serve", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    base = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                json.load(urllib.request.urlopen(f"{base}/v1/me"))
                break
            except OSError:
                time.sleep(0.1)
        yield base
    finally:
        process.terminate()
        process.wait(30)
        _ledger(folder, "db", "stop")


def _ledger(folder: str, *arguments: str) -> None:
    subprocess.run([*_COMMAND, "--data-dir", folder, *arguments], check=True, capture_output=True)


def _chromium() -> str:
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        raise SystemExit("no Chromium found; install the package `chromium`")
    return found


if __name__ == "__main__":
    main()
