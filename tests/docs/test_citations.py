"""Every rule, vector and law of the strategies spec is cited by a test, in a name or in a docstring."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

#: Area → how many there are.
RULES = {
    "GEN": 13,
    "TOK": 7,
    "CFG": 9,
    "CMP": 11,
    "SUM": 10,
    "WIN": 3,
    "000": 16,
    "001": 10,
    "002": 9,
    "003": 12,
    "COD": 6,
    "CND": 5,
    "KB": 4,
    "004": 10,
    "REC": 5,
    "WIF": 11,
}
VECTORS = {
    "GEN": 6,
    "TOK": 12,
    "CFG": 5,
    "CMP": 5,
    "SUM": 4,
    "000": 13,
    "001": 23,
    "002": 14,
    "003": 16,
    "COD": 8,
    "CND": 16,
    "KB": 3,
    "004": 10,
    "REC": 6,
    "WIF": 7,
}
LAWS = 27
#: Of the HTTP service, which is not there yet: only it lets a caller write the context of a session.
LATER = {"R-004-9"}
NAMES = [
    *(
        f"{kind}-{area}-{number}"
        for kind, areas in (("R", RULES), ("V", VECTORS))
        for area, count in areas.items()
        for number in range(1, count + 1)
    ),
    *(f"LAW-{number}" for number in range(1, LAWS + 1)),
]
#: Beside the project, where it is developed.
SPEC = TESTS.parents[1] / "shared" / "spec" / "strategies.md"


def cited() -> str:
    sources = (path.read_text() for path in TESTS.rglob("test_*.py") if path != Path(__file__))
    return "\n".join(sources).replace("_", "-")


def is_cited(name: str, text: str) -> bool:
    return re.search(rf"{name}(?!\d)", text) is not None


@pytest.fixture(scope="module")
def text() -> str:
    return cited()


@pytest.mark.parametrize("name", [name for name in NAMES if name not in LATER])
def test_a_rule_vector_or_law_is_cited_by_a_test(name: str, text: str) -> None:
    assert is_cited(name, text), f"no test says what {name} demands"


def test_all_that_the_spec_numbers_is_counted_here() -> None:
    if not SPEC.exists():
        pytest.skip("the specification is not beside the project")
    numbered = re.findall(r"^- (R-[0-9A-Z]+-\d+)|\b(V-[0-9A-Z]+-\d+)|^\| (LAW-\d+)", SPEC.read_text(), re.MULTILINE)
    assert {name for found in numbered for name in found if name} == set(NAMES)


def test_what_is_built_later_is_not_cited_yet(text: str) -> None:
    assert not any(is_cited(name, text) for name in LATER)


def test_what_nobody_cites_is_noticed(text: str) -> None:
    assert not is_cited("V-000-14", text)
    assert not is_cited("R-CMP-1", "see R-CMP-11")
