"""What a user reads explains itself: no number of a rule, no section of the specification, no seed.

Developers read these numbers, in docs/spec/, in docs/decisions/, in comments and in what is not public.
"""

import ast
import inspect
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import typer.main
from fastapi import FastAPI

import ledger
from ledger import errors
from ledger.cli import command_table
from ledger.cli.app import app as command_line
from ledger.server import compat, health, native
from tests.docs.citations import ANY, ROOT, SPEC, docstrings, texts

assert command_table, "the commands are registered by importing them"

_DEVELOPERS = {*(ROOT / "docs" / "decisions").glob("*.md"), *SPEC.glob("*.md")}
PAGES = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")} - _DEVELOPERS)
CODE = sorted(path for package in ("ledger", "projections") for path in (ROOT / package).rglob("*.py"))


def numbers(text: str) -> list[str]:
    """Return what a reader without the specification cannot understand."""
    return ANY.findall(text)


def name_of(path: Path) -> str:
    """Return the path of a file from the root."""
    return str(path.relative_to(ROOT))


def test_no_page_for_users_has_a_rule_number() -> None:
    assert len(PAGES) > 20
    assert [(name_of(path), *numbers(path.read_text())) for path in PAGES if numbers(path.read_text())] == []


def test_no_message_has_a_rule_number() -> None:
    """Errors, findings of `doctor`, help of options, descriptions: every text of the code that is no docstring."""
    assert len(CODE) > 200
    messages = [(name_of(path), text) for path in CODE for text in texts(ast.parse(path.read_text()))]
    assert [(name, text) for name, text in messages if numbers(text)] == []


def help_texts(command: typer.core.TyperCommand | typer.core.TyperGroup, name: str) -> Iterator[tuple[str, str]]:
    """Yield what ``--help`` shows of *command* and of all below it."""
    yield name, command.help or ""
    for parameter in command.params:
        yield f"{name} {parameter.name}", getattr(parameter, "help", None) or ""
    for below, each in getattr(command, "commands", {}).items():
        yield from help_texts(each, f"{name} {below}")


def test_no_help_of_a_command_has_a_rule_number() -> None:
    helped = dict(help_texts(typer.main.get_command(command_line), "memory-ledger"))
    assert len(helped) > 100
    assert {name: numbers(text) for name, text in helped.items() if numbers(text)} == {}


@pytest.fixture(scope="module")
def description() -> str:
    """The OpenAPI document."""
    service = FastAPI(title="all routes", version="1")
    for router in (compat.router, native.router, health.router):
        service.include_router(router)
    return json.dumps(service.openapi(), ensure_ascii=False)


def test_no_description_of_the_service_has_a_rule_number(description: str) -> None:
    assert numbers(description) == []


@cache
def classes() -> dict[str, ast.ClassDef]:
    """Return the classes of the code by name."""
    return {
        node.name: node
        for path in CODE
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    }


def names_in(annotation: ast.AST | None) -> Iterator[str]:
    """Yield the names that an annotation uses, also one in quotes."""
    for node in ast.walk(annotation) if annotation else ():
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r"\w+", node.value)


def public_classes() -> set[str]:
    """Return the classes that a user meets: those of ``ledger``, what their methods take and give, and the errors."""
    met = set[str]()
    waiting = {*ledger.__all__, "LongTermMemory", *(name for name, _ in inspect.getmembers(errors, inspect.isclass))}
    waiting |= {base for name in waiting if name in classes() for base in bases(classes()[name])}
    waiting |= {name for _, function in use_cases() for name in names_in(function.returns)}
    while waiting:
        name = waiting.pop()
        if name in classes() and name not in met:
            met.add(name)
            for node in public_members(classes()[name]):
                annotation = node.annotation if isinstance(node, ast.AnnAssign) else getattr(node, "returns", None)
                waiting |= set(names_in(annotation))
    return met


def bases(node: ast.ClassDef) -> Iterator[str]:
    """Yield the names of a class's bases, and of theirs."""
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in classes():
            yield base.id
            yield from bases(classes()[base.id])


def public_members(node: ast.ClassDef) -> Iterator[ast.stmt]:
    """Yield the methods and fields of a class that have no underscore."""
    for member in node.body:
        name = member.target.id if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name) else ""
        if not (name or getattr(member, "name", "")).startswith("_"):
            yield member


def public_docstrings(node: ast.ClassDef) -> Iterator[str]:
    """Yield the docstring of a class, and those of its public members."""
    yield ast.get_docstring(node) or ""
    for member in public_members(node):
        if not isinstance(member, ast.ClassDef):
            yield from (text for _, text in docstrings(member))


def use_cases() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield the functions behind the methods of a ledger."""
    for path in (ROOT / "ledger" / "application").rglob("*.py"):
        if path.parent.name == "json_models":
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
                yield f"{path.stem}.{node.name}", node


def test_no_docstring_that_help_shows_has_a_rule_number() -> None:
    read = {(name, text) for name in public_classes() for text in public_docstrings(classes()[name])}
    read |= {(name, ast.get_docstring(node) or "") for name, node in use_cases()}
    assert {(name, *numbers(text)) for name, text in read if numbers(text)} == set()


def test_the_public_classes_are_found() -> None:
    """Negative control: were they not, nothing would be read."""
    assert {"MemoryLedger", "SyncMemoryLedger", "LongTermMemory", "VersionConflict", "Context"} <= public_classes()


@pytest.mark.parametrize(
    "text", ["(trust H-6)", "Source: R-CMP-3", "see C5", "seed 004", "style §4", "STYLE §4", "LAW-7", "R-WIF"]
)
def test_a_number_is_noticed(text: str) -> None:
    """Negative control."""
    assert numbers(f"It is so, {text}.") != []
    assert list(texts(ast.parse(f'"a docstring, {text}"\nfault = f"{{0}}: {text}"'))) != []
    assert numbers("UTF-8, SHA-256, PC-1, R-3075, RFC 9457, C, B") == []
