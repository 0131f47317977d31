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


def mutants(found: list[Document]) -> Iterator[tuple[list[Document], int, str]]:
    """Yield changed documents, the line of the change, and its description: some hundreds, or all."""
    changes = [
        (number, path, junk)
        for number, document in enumerate(found)
        for path in paths(document.value)
        for junk in (*JUNK, "removed")
    ]
    for number, path, junk in some(changes):
        document = found[number]
        changed = copy.deepcopy(document.value)
        holder = parent(changed, path)
        if junk == "removed":
            del holder[path[-1]]
        else:
            holder[path[-1]] = copy.deepcopy(junk)
        mutant = [*found[:number], Document(document.line, changed), *found[number + 1 :]]
        yield mutant, document.line, f"{path} is {junk!r}"


def numbered(case: Case) -> list[Document]:
    lines = [(number, line) for number, line in enumerate(case.data.splitlines(), start=1) if line.strip()]
    if case.by_line:
        return [Document(number, json.loads(line)) for number, line in lines]
    return [Document(1, json.loads(case.data))]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_a_field_of_another_type_is_stored_or_refused_at_its_line(case: Case) -> None:
    taken = refused = 0
    for mutant, line, change in mutants(numbered(case)):
        refusal = refusal_of(mutant)
        if refusal is None:
            taken += 1
            continue
        assert refusal.line == line or (refusal.code == "unknown_format" and line == mutant[0].line), change
        refused += 1
    assert taken > 0
    assert refused > 0


@pytest.mark.parametrize("path", TRACED, ids=lambda path: path.name)
def test_a_field_of_a_traced_run_is_stored_or_refused(path: FilePath) -> None:
    taken = 0
    for mutant, _, change in mutants([*documents(path.read_bytes())]):
        refusal = refusal_of(mutant)
        taken += refusal is None
        lines = {document.line for document in mutant}
        assert refusal is None or refusal.line in lines or refusal.code in {"unknown_format", "no_content"}, change
    assert taken > 0


def refusal_of(documents: list[Document]) -> ImportRefused | None:
    try:
        read(documents, name="file")
    except ImportRefused as refusal:
        return refusal
    return None
