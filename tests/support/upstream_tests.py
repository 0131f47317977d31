"""Run the tests of an SDK's source with a plugin that puts ours in the place of its own. Source: adapters AD-15."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]


def run_upstream(source: Path, plugin: str, *asked: str, path: tuple[Path, ...]) -> tuple[dict[str, int], str]:
    """Run pytest with *plugin* in *source*, with the options and files *asked* for; folders of *path* come first.

    Return how many tests passed, failed, had an error or were deselected, each 0 if none, and what was printed.
    """
    folders = ":".join(map(str, (*path, ROOT)))
    done = subprocess.run(
        [*(sys.executable, "-W", "ignore", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", plugin), *asked],
        cwd=source,
        env={"PYTHONPATH": folders, "PATH": "/usr/bin:/bin", "HOME": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )
    counts = dict.fromkeys(("passed", "failed", "error", "deselected"), 0)
    counts |= {word: int(number) for number, word in re.findall(rf"(\d+) ({'|'.join(counts)})", done.stdout)}
    return counts, done.stdout[-4_000:] + done.stderr[-4_000:]


def deselected(folder: Path) -> dict[str, str]:
    """Return the tests that ``deselected.txt`` of *folder* names, each with the reason."""
    lines = (folder / "deselected.txt").read_text().splitlines()
    return {name.strip(): reason.strip() for name, _, reason in (line.partition("#") for line in lines)}
