"""The decisions: each number once, each that is named exists, and what was replaced names what replaced it."""

import re
from pathlib import Path

import pytest

from tests.docs.citations import ROOT
from tests.docs.test_citations import files

DECISIONS = ROOT / "docs" / "decisions"
_ITEM = re.compile(r"^- \*\*(\d+)\. ", re.MULTILINE)
_ROW = re.compile(r"^\| (\d+) \| .+ \| (\d+(?:, \d+)*) \|$", re.MULTILINE)
_NAMED = re.compile(r"\bdecisions?\s+(\d+(?:(?:, | and | or | to )\d+)*)\b", re.IGNORECASE)
_REPLACED = re.compile(r"Replaced by decision (\d+)\.$")


def named(text: str) -> set[int]:
    """Return the decisions that *text* names."""
    return {int(number) for found in _NAMED.findall(text) for number in re.findall(r"\d+", found)}


def faults(pages: dict[str, str], others: dict[str, str]) -> list[str]:
    """Return what is wrong in the *pages* of decisions, by their names, and in *others*, by their paths."""
    numbers = sorted(int(number) for text in pages.values() for number in _ITEM.findall(text))
    last = max(numbers)
    found = [f"decision {number} is there twice" for number in set(numbers) if numbers.count(number) > 1]
    found += [f"decision {number} is missing" for number in sorted(set(range(1, last + 1)) - set(numbers))]
    for name, text in (pages | others).items():
        found += [f"{name} names decision {number}" for number in sorted(named(text) - set(numbers))]
    if f"The next decision is **{last + 1}**." not in pages["README.md"]:
        found.append(f"README.md must say that the next decision is {last + 1}")
    archive = pages["archive.md"]
    replaced = set[int]()
    for item in re.split(r"\n(?=- |\n)", archive):
        if number := _ITEM.match(item):
            replaced.add(int(number[1]))
            by = _REPLACED.search(item)
            if not by or int(by[1]) not in numbers:
                found.append(f"decision {number[1]} does not say what replaced it")
    for old, new in _ROW.findall(archive):
        if not {int(old), *map(int, new.split(", "))} <= set(numbers) - replaced:
            found.append(f"the row of decision {old} names {new}")
    return found


def pages() -> dict[str, str]:
    """Return the pages of decisions by name."""
    return {path.name: path.read_text() for path in DECISIONS.glob("*.md")}


def test_every_decision_is_there_once_and_every_one_that_is_named_exists() -> None:
    others = {str(path.relative_to(ROOT)): path.read_text() for path in files() if _is_other(path)}
    assert len(others) > 500
    assert faults(pages(), others) == []


def _is_other(path: Path) -> bool:
    return path.parent != DECISIONS and path != Path(__file__)


def test_every_item_is_a_decision() -> None:
    """An item whose number is written otherwise would be passed over."""
    for name, text in pages().items():
        if name != "README.md":
            assert len(re.findall(r"^- ", text, re.MULTILINE)) == len(_ITEM.findall(text)), name


@pytest.mark.parametrize(
    ("name", "old", "new", "fault"),
    [
        ("log.md", "- **89. ", "- **88. ", "decision 88 is there twice"),
        ("log.md", "- **89. ", "- **", "decision 89 is missing"),
        ("log.md", "decision 107", "decision 999", "log.md names decision 999"),
        (
            "README.md",
            "The next decision is **",
            "The next decision is **1",
            "README.md must say that the next decision",
        ),
        ("archive.md", "Replaced by decision 69.", "", "decision 11 does not say what replaced it"),
        ("archive.md", "| 88 |", "| 11 |", "the row of decision 2 names 11"),
    ],
)
def test_a_wrong_page_is_noticed(name: str, old: str, new: str, fault: str) -> None:
    """Negative control."""
    wrong = pages()
    assert old in wrong[name]
    wrong[name] = wrong[name].replace(old, new, 1)
    assert any(found.startswith(fault) for found in faults(wrong, {}))


def test_a_number_that_is_not_there_is_noticed_in_code() -> None:
    """Negative control."""
    assert faults(pages(), {"module.py": "# see decisions 8 and 9999"}) == ["module.py names decision 9999"]
    assert named("Decision 8, decisions 304 and 310; decide 5") == {8, 304, 310}
