"""The pages of the strategies: the section of each, and its table of fields, which is the table of R-CFG-2."""

import re
from pathlib import Path

from projections.strategies import COMPACTIONS, WINDOWS
from tests.support.pages import ROOT

PAGES = ROOT / "docs" / "strategies"
STRATEGIES = {**WINDOWS, **COMPACTIONS}


def page_of(strategy: str) -> Path:
    """Return the page that describes *strategy*, in a section of its name."""
    return PAGES / ("windows.md" if strategy in WINDOWS else "compactions.md")


def section(page: Path, heading: str) -> str:
    """Return the text of *page* from *heading* to the next one."""
    parts = re.split(r"^#+ (.+)\n", page.read_text(), flags=re.MULTILINE)
    assert heading in parts, (
        f"{page.relative_to(ROOT) if page.is_relative_to(ROOT) else page.name} has no section {heading}: "
        "write one, as docs/add-something.md says"
    )
    return parts[parts.index(heading) + 1]


def tables(page: Path, heading: str) -> list[dict[str, str]]:
    """Return the tables of fields under *heading*: field → default, as they are written."""
    text = section(page, heading)
    found = re.findall(r"^\| field \| default \|.*\n\| ---.*\n((?:\|.*\n)*)", text, re.MULTILINE)
    return [dict(re.findall(r"^\| `(\w+)` \| `?(.+?)`? \|", table, re.MULTILINE)) for table in found]
