"""What is cited is in docs/spec/, and what docs/spec/ calls built is cited by a test, in a name or in a docstring."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.docs.citations import (
    PAGES,
    ROOT,
    SPEC,
    TRUST,
    Citation,
    cited,
    docstrings,
    id_of_case,
    in_name,
    numbered,
    prose,
    sections,
    statements,
    texts,
)

TESTS = ROOT / "tests"
RULES = numbered()
SECTIONS = {document: sections(document) for document in PAGES}
BUILT = sorted(name for rules in RULES.values() for name, state in rules.items() if state == "built")
_KINDS = {".py", ".sql", ".md", ".toml", ".yml", ".yaml", ".ini", ".mako"}
_FOLDERS = ("ledger", "projections", "migrations", "tests", "bench", "docs", "examples", "tools")
#: They cite what is not there, to show that it is noticed, or show how to cite.
_CONTROLS = {Path(__file__).with_name(name) for name in ("test_citations.py", "test_public_text.py", "citations.py")}
_CONTROLS.add(SPEC / "README.md")


def files() -> list[Path]:
    """Return every file in which a rule may be cited; golden files and data have none."""
    below = (path for folder in _FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in _KINDS)
    here = (path for path in ROOT.iterdir() if path.suffix in _KINDS or path.name in {"Makefile", "Dockerfile"})
    return sorted({path for path in (*below, *here) if path not in _CONTROLS and path.is_file()})


def faults(citations: list[Citation], own: str = "") -> list[str]:
    """Return what is wrong with *citations*; in the page of the document *own* its rules need no document."""
    found = []
    for document, name in citations:
        given = document or own
        if not given:
            found.append(f"{name} without its document")
        elif name.startswith("§"):
            if name not in SECTIONS[given]:
                found.append(f"{given} has no {name}")
        elif re.fullmatch(r"R-[0-9A-Z]{2,3}", name):
            if not any(rule.startswith(f"{name}-") for rule in RULES[given]):
                found.append(f"there is no area {name}")
        elif name not in RULES[given]:
            found.append(f"{given} has no {name}")
    return found


def own_document(path: Path) -> str:
    """Return the document whose page *path* is, or nothing."""
    return next((document for document, page in PAGES.items() if page == path), "")


def test_every_citation_resolves() -> None:
    found = {}
    for path in files():
        citations = [citation for text in prose(path) for citation in cited(text)]
        found[str(path.relative_to(ROOT))] = faults(citations, own_document(path))
    assert len(found) > 500
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_the_number_in_the_name_of_a_test_is_one_of_a_rule() -> None:
    tests, _ = read_tests()
    names = [found for test in tests for found in in_name(test)]
    known = {name for rules in RULES.values() for name in rules}
    assert [name for name in names if name not in known and not re.fullmatch(r"R-[0-9A-Z]{2,3}", name)] == []


@cache
def read_tests() -> tuple[list[str], set[str]]:
    """Return the names of all tests, and the rules that their files cite in an id of a case or in a docstring."""
    tests, rules = list[str](), set[str]()
    for path in TESTS.rglob("test_*.py"):
        if path not in _CONTROLS:
            tree = ast.parse(path.read_text())
            functions = (node for node in statements(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
            tests += [node.name for node in functions if node.name.startswith("test_")]
            rules |= {name for _, text in docstrings(tree) for _, name in cited(text)}
            rules |= {name for text in texts(tree) for name in id_of_case(text)}
    return tests, rules


@pytest.fixture(scope="module")
def proved() -> set[str]:
    """What tests cite: in a name, in the id of a case, in a docstring. A range says nothing of what is inside it."""
    tests, rules = read_tests()
    return rules | {found for test in tests for found in in_name(test)}


def test_every_built_rule_is_cited_by_a_test(proved: set[str]) -> None:
    """If no test proves a rule, it is planned."""
    assert [name for name in BUILT if name not in proved] == []


def test_every_rule_of_trust_has_a_state() -> None:
    unmarked = re.findall(r"^(?:- |\| )(?:\*\*)?([A-Z]-\d+)(?!(?:, [A-Z]-\d+)? \[|\d)", TRUST.read_text(), re.MULTILINE)
    assert unmarked == []


def test_the_pages_number_what_they_should() -> None:
    """Were a page not parsed, nothing would be demanded."""
    counts = {document: len(rules) for document, rules in RULES.items() if rules}
    assert all(counts[document] > least for document, least in {"strategies": 300, "http": 100, "trust": 250}.items())
    assert sum(counts.values()) == len({name for rules in RULES.values() for name in rules}), "a name has two meanings"
    assert {"R-CMP-1", "V-000-13", "LAW-27"} <= RULES["strategies"].keys()
    assert RULES["trust"]["E-1"] == "planned"
    assert {RULES["http"][rule] for rule in ("W-36", "C23", "W-76", "B10")} == {RULES["trust"]["H-22"]} == {"built"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("see W-54", "W-54 without its document"),
        ("http W-54, R-CMP-1, W-55", "W-55 without its document"),
        ("trust N-8; I-60", "I-60 without its document"),
        ("C5", "C5 without its document"),
        ("§9", "§9 without its document"),
        ("http W-999", "http has no W-999"),
        ("http W-16, W-51 … W-99", "http has no W-99"),
        ("http H-6", "http has no H-6"),
        ("V-000-14", "strategies has no V-000-14"),
        ("LAW-99", "strategies has no LAW-99"),
        ("R-XYZ", "there is no area R-XYZ"),
        ("style §99", "style has no §99"),
    ],
)
def test_a_wrong_citation_is_noticed(text: str, fault: str) -> None:
    """Negative control."""
    assert faults(list(cited(text))) == [fault]


@pytest.mark.parametrize(
    "text",
    [
        "http W-16, W-51 … W-61",
        "trust N-8,\n    # I-60 and I-64",
        "Source: R-CMP-6, trust M-3, I-53; http B3, C5 and §2.1.",
        "R-CND, R-CMP-1 to R-CMP-3 and V-CFG-5; style §4; UTF-8, SHA-256, PC-1",
    ],
)
def test_a_right_citation_has_no_fault(text: str) -> None:
    assert faults(list(cited(text))) == []


def test_what_nobody_cites_is_noticed(proved: set[str]) -> None:
    """Negative control."""
    assert "R-CMP-99" not in proved
    assert in_name("test_a_failed_summary_leaves_the_window__V_CMP_1") == ["V-CMP-1"]
    assert in_name("test_paging__C16") == ["C16"]
    assert id_of_case("I-1, I-2: a NUL") == ["I-1", "I-2"]
    assert id_of_case("as I-1") == []
    assert [name for _, name in cited("http W-1 … W-9")] == ["W-1", "W-9"], "a range is its ends"
