"""docs/benchmarks.md: prose, with tables between markers that runs replace."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

TABLES: Final = ("ratios", "more", "peers", "adapters")
PAGE: Final = Path(__file__).parents[1] / "docs" / "benchmarks.md"


def write(tables: Mapping[str, str]) -> None:
    """Replace the tables of these names; the rest of the page stays."""
    PAGE.write_text(replaced(PAGE.read_text(), tables))


def replaced(text: str, tables: Mapping[str, str]) -> str:
    """Return *text* with each table between ``<!-- name -->`` and ``<!-- end of name -->`` replaced.

    Raises:
        ValueError: the page has no such place.
    """
    for name, table in tables.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise ValueError(f"the page needs one place for the table {name}")
        head, rest = text.split(begin)
        text = f"{head}{begin}\n{table}\n{end}{rest.split(end)[1]}"
    return text
