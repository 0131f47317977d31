"""Every rule, vector and law of the specs is cited by a test, in a name or in a docstring."""

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
#: Check of the HTTP contract, or hostile input of trust §9 → why no test cites it.
ELSEWHERE = {
    "C23": "summary views come later; that W-36 to W-38 are 501 is tested",
}
#: Of trust §9 those that come over HTTP.
HTTP = [
    *(f"W-{number}" for number in range(1, 76)),
    *(f"C{number}" for number in range(1, 26)),
    *(f"B{number}" for number in range(1, 11)),
    *(f"I-{number}" for number in (*range(1, 59), *range(78, 85))),
]
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
HTTP_SPEC = SPEC.with_name("working-memory-http.md")


def cited() -> str:
    sources = (path.read_text() for path in TESTS.rglob("test_*.py") if path != Path(__file__))
    return "\n".join(sources).replace("_", "-")


def is_cited(name: str, text: str) -> bool:
    return re.search(rf"(?<![A-Za-z0-9]){name}(?!\d)", text) is not None


@pytest.fixture(scope="module")
def text() -> str:
    return cited()


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_vector_or_law_is_cited_by_a_test(name: str, text: str) -> None:
    assert is_cited(name, text), f"no test says what {name} demands"


def test_all_that_the_spec_numbers_is_counted_here() -> None:
    if not SPEC.exists():
        pytest.skip("the specification is not beside the project")
    numbered = re.findall(r"^- (R-[0-9A-Z]+-\d+)|\b(V-[0-9A-Z]+-\d+)|^\| (LAW-\d+)", SPEC.read_text(), re.MULTILINE)
    assert {name for found in numbered for name in found if name} == set(NAMES)


@pytest.mark.parametrize("name", [name for name in HTTP if name not in ELSEWHERE])
def test_a_rule_check_or_hostile_input_of_the_service_is_cited_by_a_test(name: str, text: str) -> None:
    assert is_cited(name, text), f"no test says what {name} demands"


def test_what_is_tested_elsewhere_or_later_is_not_cited(text: str) -> None:
    assert not [name for name in ELSEWHERE if is_cited(name, text)], "take it off the list"


def test_all_that_the_http_contract_numbers_is_counted_here() -> None:
    if not HTTP_SPEC.exists():
        pytest.skip("the specification is not beside the project")
    numbered = re.findall(r"^- \*\*(W-\d+)|^\| ([CB]\d+) \|", HTTP_SPEC.read_text(), re.MULTILINE)
    assert {name for found in numbered for name in found if name} == {name for name in HTTP if name[:2] != "I-"}


def test_what_nobody_cites_is_noticed(text: str) -> None:
    assert not is_cited("V-000-14", text)
    assert not is_cited("R-CMP-1", "see R-CMP-11")
    assert not is_cited("C1", "see C10 and AC1")
