"""What the pages mention exists: every dotted name imports, and no row of a table is there twice."""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from ledger.memory import MemoryLedger
from tests.support.pages import PAGES, ROOT, name_of

_PROSE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"\b(?:ledger|projections|migrations)(?:\.[A-Za-z_]\w*)+(?![\w*…])")
_CODE = re.compile(r"`[^`\n]+`")
#: The rules also name what is planned.
READ = [page for page in PAGES if page.parent.name != "spec"]
SCHEMA = (ROOT / "migrations" / "schema.sql").read_text()


def mentioned(text: str) -> set[str]:
    """Return the dotted names of ours in the inline code of *text*."""
    code = " ".join(_CODE.findall(_PROSE.sub("", text)))
    return {name for name in _NAME.findall(code) if not name.endswith((".py", ".sql", ".md"))}


def exists(name: str) -> bool:
    """Tell whether *name* is a module, what one has, a method of an open ledger, or an object of the database."""
    parts = name.split(".")
    if hasattr(MemoryLedger, parts[1]) or re.search(rf"\b{re.escape(name)}\b", SCHEMA):
        return True
    for length in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            fields = getattr(found, "__struct_fields__", ())
            if not hasattr(found, part) and part not in fields:
                return False
            found = getattr(found, part, None)
        return True
    return False


def repeated_rows(text: str) -> Iterator[str]:
    """Yield the rows of a table whose first cell another row of it has."""
    seen: set[str] = set()
    for line in text.splitlines():
        if not line.startswith("|"):
            seen = set()
            continue
        first = line.split("|")[1].strip() + (f" {line.split('|')[2].strip()}" if "| method |" in text else "")
        if first and not set(first) <= set("-: ") and first in seen:
            yield line
        seen.add(first)


@pytest.mark.parametrize("page", READ, ids=name_of)
def test_every_name_of_ours_on_a_page_exists(page: Path) -> None:
    assert {name for name in mentioned(page.read_text()) if not exists(name)} == set()


def test_enough_names_are_found() -> None:
    assert len(set().union(*(mentioned(page.read_text()) for page in READ))) >= 10


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_row_of_a_table_is_there_twice(page: Path) -> None:
    assert list(repeated_rows(page.read_text())) == []


def test_a_name_that_does_not_exist_and_a_row_that_repeats_are_noticed() -> None:
    """Negative control."""
    text = (
        "`ledger.llm.summarizers.NoSuchSummarizer` and `ledger.OpenAISummarizer`\n\n| a | 1 |\n| b | 2 |\n| a | 1 |\n"
    )
    assert {name for name in mentioned(text) if not exists(name)} == {"ledger.llm.summarizers.NoSuchSummarizer"}
    assert list(repeated_rows(text)) == ["| a | 1 |"]
