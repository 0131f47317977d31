"""The pages a reader is given, and the code blocks in them."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")])

_BLOCK = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def name_of(page: Path) -> str:
    """Return the path of *page* from the root, to name a test by."""
    return str(page.relative_to(ROOT))


class Block(NamedTuple):
    """A fenced block: its language, whether it may run here, its text, and the name of the file it is, if it is one."""

    language: str
    runs: bool
    text: str
    title: str | None = None


def blocks(page: Path) -> list[Block]:
    """Return the code blocks of *page*, in order."""
    found = _BLOCK.findall(page.read_text())
    return [
        Block(language, "norun" not in marks, text, (re.findall(r'title="([\w.]+)"', marks) or [None])[0])
        for language, marks, text in found
    ]
