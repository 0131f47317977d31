"""Each value of each sample replaced by each of another type: read, or refused at its line, never anything else."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

import pytest

from ledger.errors import ImportRefused
from ledger.formats.importers import Document, documents, read
from tests.support.examples import some
from tests.support.importer_samples import CASES, IDS, Case

JUNK = (None, 5, 1.5, True, "x", "", [], {}, [5], [[]], ["x"], {"a": {}}, [{"role": "user"}])

#: Samples whose lines are reports of calls, from several files or programs: a refusal may name the line of another one.
TRACED = [
    path
    for kind in ("langsmith", "langfuse", "otlp")
    for path in sorted((FilePath(__file__).parent / "samples").glob(f"{kind}_*"))
]

Path = tuple[str | int, ...]


def paths(value: Any, at: Path = ()) -> Iterator[Path]:
    """Yield the way to each value inside *value*."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*at, key)
        yield from paths(item, (*at, key))


def parent(value: Any, path: Path) -> Any:
    for key in path[:-1]:
        value = value[key]
    return value


Change = tuple[int, Path, Any]


def changes_of(found: list[Document]) -> list[Change]:
    """Return which document, where in it, and what is there then."""
    return [
        (number, path, junk)
        for number, document in enumerate(found)
        for path in paths(document.value)
        for junk in (*JUNK, "removed")
    ]


def mutant_of(found: list[Document], change: Change) -> list[Document]:
    number, path, junk = change
    changed = copy.deepcopy(found[number].value)
    holder = parent(changed, path)
    if junk == "removed":
        del holder[path[-1]]
    else:
        holder[path[-1]] = copy.deepcopy(junk)
    return [*found[:number], Document(found[number].line, changed), *found[number + 1 :]]


def numbered(case: Case) -> list[Document]:
    lines = [(number, line) for number, line in enumerate(case.data.splitlines(), start=1) if line.strip()]
    if case.by_line:
        return [Document(number, json.loads(line)) for number, line in lines]
    return [Document(1, json.loads(case.data))]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_a_field_of_another_type_is_stored_or_refused_at_its_line(case: Case) -> None:
    found = numbered(case)
    for change in some(changes_of(found)):
        mutant, line = mutant_of(found, change), found[change[0]].line
        refusal = refusal_of(mutant)
        if refusal is not None:
            assert refusal.line == line or (refusal.code == "unknown_format" and line == mutant[0].line), change


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_some_of_the_changes_are_refused_and_some_are_not__control(case: Case) -> None:
    """Those that a short run chooses may all be of one kind."""
    found, kinds = numbered(case), set()
    for change in changes_of(found):
        kinds.add(refusal_of(mutant_of(found, change)) is None)
        if len(kinds) == 2:
            return
    pytest.fail(f"all {'stored' if kinds == {True} else 'refused'}")


@pytest.mark.parametrize("path", TRACED, ids=lambda path: path.name)
def test_a_field_of_a_traced_run_is_stored_or_refused(path: FilePath) -> None:
    found = [*documents(path.read_bytes())]
    lines = {document.line for document in found}
    for change in some(changes_of(found)):
        refusal = refusal_of(mutant_of(found, change))
        assert refusal is None or refusal.line in lines or refusal.code in {"unknown_format", "no_content"}, change


def refusal_of(documents: list[Document]) -> ImportRefused | None:
    try:
        read(documents, name="file")
    except ImportRefused as refusal:
        return refusal
    return None
