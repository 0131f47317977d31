"""What docs/spec/ numbers, and where the tree cites it. How to cite is in docs/spec/README.md."""

import ast
import io
import re
import tokenize
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT = Path(__file__).parents[2]
SPEC = ROOT / "docs" / "spec"
STRATEGIES, HTTP, TRUST, VIEWER, ADAPTERS = (
    SPEC / f"{name}.md" for name in ("strategies", "working-memory-http", "trust", "viewer", "adapters")
)
#: The word of a citation → its page.
PAGES: Final = {
    "strategies": STRATEGIES,
    "http": HTTP,
    "trust": TRUST,
    "viewer": VIEWER,
    "adapters": ADAPTERS,
    "style": SPEC / "style.md",
}
#: A name that says its document by itself.
UNIQUE: Final = r"(?:R-(?:[A-Z]{2,3}|00\d)(?:-\d+)?|V-(?:[A-Z]{2,3}|00\d)-\d+|LAW-\d+)"
_OF_ADAPTERS: Final = r"(?:AD|OA|LG|CL|MC|IN|LF|PY|GA|LC|PM)-[1-9]\d?"
_PLAIN: Final = rf"(?:{_OF_ADAPTERS}|[AD-FHIK-NPR-W]-[1-9]\d{{0,2}}|[BC][1-9]\d?)"
_NAMED: Final = rf"(?<![\w-])(?:{UNIQUE}|{_PLAIN})(?![\w-])"
_TOKEN: Final = rf"(?<![\w-])(?:{_PLAIN}(?![\w-])|§\d+(?:\.\d+|a)?)"
_ANY_CITATION: Final = re.compile(rf"{UNIQUE}|{_TOKEN}")
_GAP: Final = r"(?:[ \t]*\n[ \t]*(?:#:?|--)?[ \t]*|[ \t]+)"
_CONNECTOR: Final = rf"(?:,{_GAP}(?:(?:and|or){_GAP})?|{_GAP}(?:and|or|to|…){_GAP}|…|\u2013)"
#: The fields that hold statements, or what holds statements.
_BLOCKS: Final = ("body", "orelse", "finalbody", "handlers", "cases")
#: One document and a list of its rules or sections.
LIST: Final = re.compile(
    rf"\b(?P<document>[Tt]rust|[Hh]ttp|[Ss]trategies|[Ss]tyle|[Vv]iewer|[Aa]dapters){_GAP}"
    rf"(?P<rules>{_TOKEN}(?:{_CONNECTOR}{_TOKEN})*)"
)
#: A rule or a section, with its document or without.
ANY: Final = re.compile(rf"{_NAMED}|§ ?\d|\bseed 00\d|\b(?:DESIGN|STYLE)\b")
#: A test's name, read with hyphens: its numbers stand without a document.
_IN_A_NAME: Final = re.compile(rf"(?<![A-Za-z0-9])(?:{UNIQUE}|{_PLAIN})(?![A-Za-z0-9])")


_RULE: Final = rf"(?:{UNIQUE}|{_PLAIN})"


class Citation(NamedTuple):
    """A rule or section that is cited; *document* is empty if none was given and the name does not say it."""

    document: str
    name: str


def numbered() -> dict[str, dict[str, str]]:
    """Return for each document its rules, each with its state: ``built``, ``planned`` or ``stated``."""
    strategies = re.findall(
        r"^- (R-[0-9A-Z]+-\d+)|\b(V-[0-9A-Z]+-\d+)|^\| (LAW-\d+)", STRATEGIES.read_text(), re.MULTILINE
    )
    http = re.findall(r"^(?:- \*\*|\| )([WBC]-?\d+)\b.*?(?=( \[planned\])|$)", HTTP.read_text(), re.MULTILINE)
    trust = re.findall(r"\b([A-Z]-\d+)(?:, ([A-Z]-\d+))? \[(built|planned|stated)\b", TRUST.read_text())
    viewer = re.findall(r"^- (U-\d+)\b.*?(?=( \[planned\])|$)", VIEWER.read_text(), re.MULTILINE)
    adapters = re.findall(rf"(?:\*\*|^\| )({_OF_ADAPTERS})\b( \[planned\])?", ADAPTERS.read_text(), re.MULTILINE)
    return {
        "strategies": {name: "built" for found in strategies for name in found if name},
        "http": {name: "planned" if mark else "built" for name, mark in http},
        "trust": {name: state for first, second, state in trust for name in (first, second) if name},
        "viewer": {name: "planned" if mark else "built" for name, mark in viewer},
        "adapters": {name: "planned" if mark else "built" for name, mark in adapters},
        "style": {},
    }


def sections(document: str) -> set[str]:
    """Return the sections of a page, as ``§2.1``."""
    return {f"§{number}" for number in re.findall(r"^##+ (\d+(?:\.\d+|a)?)", PAGES[document].read_text(), re.MULTILINE)}


def cited(text: str) -> Iterator[Citation]:
    """Yield what *text* cites, the ends of a range for a range."""
    for found in re.findall(rf"(?<![\w-]){UNIQUE}(?![\w-])", text):
        yield Citation("strategies", found)
    rest = []
    end = 0
    for group in LIST.finditer(text):
        rest.append(text[end : group.start()])
        end = group.end()
        for found in re.findall(_TOKEN, group["rules"]):
            yield Citation(group["document"].lower(), found)
    rest.append(text[end:])
    for part in rest:
        for found in re.findall(_TOKEN, part):
            yield Citation("", found)


def in_name(name: str) -> list[str]:
    """Return the rules that the name of a test ends or begins with."""
    return _IN_A_NAME.findall(name.replace("_", "-"))


def id_of_case(text: str) -> list[str]:
    """Return the rules that a text begins with, as the ids of cases do."""
    found = re.match(rf"{_RULE}(?:, {_RULE})*(?=$|[ :,]|-[A-Za-z])", text)
    return _IN_A_NAME.findall(found[0]) if found else []


def prose(path: Path) -> Iterator[str]:
    """Yield the comments and docstrings of a file, or its text if it is a page; never data, never identifiers.

    A file in which nothing looks like a citation has none to yield.
    """
    text = path.read_text()
    if not _ANY_CITATION.search(text):
        return
    if path.suffix == ".py":
        yield from (docstring for _, docstring in docstrings(ast.parse(text)))
        if any("#" in line and _ANY_CITATION.search(line) for line in text.splitlines()):  # taking it apart is slow
            yield comments(text)
    elif path.suffix == ".md":
        yield text
    else:
        mark = "--" if path.suffix == ".sql" else "#"
        yield "\n".join(f"{mark}{line.partition(mark)[2]}" if mark in line else "" for line in text.splitlines())


def comments(source: str) -> str:
    """Return the comments of a Python file; an empty line stands between those that do not belong together."""
    found = []
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            own_line = not token.line[: token.start[1]].strip()
            found.append(token.string if own_line and token.start[0] == last + 1 else f"\n{token.string}")
            last = token.start[0] if own_line else 0
    return "\n".join(found)


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield *tree* and the statements below it, outer before inner; they are a tenth of all nodes."""
    waiting = deque([tree])
    while waiting:
        node = waiting.popleft()
        for field in _BLOCKS:
            below = getattr(node, field, ())
            if isinstance(below, list):
                waiting.extend(below)
        yield node


def docstrings(tree: ast.AST) -> Iterator[tuple[ast.Expr, str]]:
    """Yield the docstrings below *tree*, those of fields and constants too."""
    for node in statements(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node, node.value.value


def texts(tree: ast.AST) -> Iterator[str]:
    """Yield every text below *tree* that is no docstring, also the fixed parts of f-strings."""
    prose = {node.value for node, _ in docstrings(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in prose:
            yield node.value
