"""The page of the seeds names tests that exist, and its quotes are the seeds' words."""

import ast
import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "spec" / "seeds.md"
SEEDS = ROOT.parent / "shared" / "seeds"
_ROW = re.compile(r"^\| (\d\.\d+) \| `(.+?)` \| (.+?) \|(.*)\|$", re.MULTILINE)
_TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")


class Point(NamedTuple):
    """One row: its number, the words of the seed, and the tests it names as file and function."""

    number: str
    quote: str
    tests: list[tuple[str, str]]


def points(page: str) -> list[Point]:
    """Return the rows of *page* in their order."""
    return [Point(number, quote, _TEST.findall(rest)) for number, quote, _, rest in _ROW.findall(page)]


def faults(page: str) -> list[str]:
    """Say which rows of *page* name no test, or one that does not exist."""
    found = []
    for point in points(page):
        if not point.tests:
            found.append(f"{point.number} names no test")
        for file, function in point.tests:
            path = ROOT / "tests" / file
            names = _functions(path.read_text()) if path.exists() else set()
            if function not in names:
                found.append(f"{point.number}: there is no {file}::{function}")
    return found


def _functions(source: str) -> set[str]:
    return {node.name for node in ast.parse(source).body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}


def plain(text: str) -> str:
    """Return *text* without the marks and spaces in which one quote of a seed may differ from another."""
    return re.sub(r"[\s`*]+", "", text)


def test_every_point_names_a_test_that_exists() -> None:
    assert not faults(PAGE.read_text())


def test_the_points_of_each_seed_are_numbered_without_gaps() -> None:
    found = points(PAGE.read_text())
    rows = len(re.findall(r"^\| \d", PAGE.read_text(), re.MULTILINE))
    assert len(found) == rows > 100, "a row does not have the form of the others"
    for seed in range(5):
        numbers = [int(point.number[2:]) for point in found if point.number.startswith(f"{seed}.")]
        assert numbers == list(range(1, len(numbers) + 1))


def test_every_quote_is_in_its_seed() -> None:
    if not SEEDS.is_dir():
        pytest.skip("the seeds are not beside the repository")
    texts = {path.name[2]: plain(path.read_text()) for path in SEEDS.iterdir()}
    assert not [f"{p.number}: {p.quote}" for p in points(PAGE.read_text()) if plain(p.quote) not in texts[p.number[0]]]


def test_a_row_without_its_test_is_noticed() -> None:
    page = "| 0.1 | `a` | b | `test_seed.py::test_missing` | |\n| 0.2 | `a` | b | none | |"
    assert faults(page) == ["0.1: there is no test_seed.py::test_missing", "0.2 names no test"]
