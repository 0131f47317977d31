"""Every rule and vector of the strategies spec that is built is cited by a test, in a name or in a docstring."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

#: Area → how many there are; of those in LATER, the strategy comes later.
RULES = {"GEN": 13, "TOK": 7, "CFG": 9, "CMP": 11, "SUM": 10, "WIN": 3, "000": 16, "001": 10}
VECTORS = {"GEN": 6, "TOK": 12, "CFG": 5, "CMP": 5, "SUM": 4, "000": 13, "001": 23}
LATER = {"R-CFG-8", "V-CFG-3"}  # what is preserved, and seed 002's shape
NAMES = [
    f"{kind}-{area}-{number}"
    for kind, areas in (("R", RULES), ("V", VECTORS))
    for area, count in areas.items()
    for number in range(1, count + 1)
]


def cited() -> str:
    sources = (path.read_text() for path in TESTS.rglob("test_*.py") if path != Path(__file__))
    return "\n".join(sources).replace("_", "-")


def is_cited(name: str, text: str) -> bool:
    return re.search(rf"{name}(?!\d)", text) is not None


@pytest.fixture(scope="module")
def text() -> str:
    return cited()


@pytest.mark.parametrize("name", [name for name in NAMES if name not in LATER])
def test_a_rule_is_cited_by_a_test(name: str, text: str) -> None:
    assert is_cited(name, text), f"no test says what {name} demands"


def test_what_nobody_cites_is_noticed(text: str) -> None:
    assert not is_cited("V-000-14", text)
    assert not is_cited("R-CMP-1", "see R-CMP-11")
