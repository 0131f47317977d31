"""A field has one name: in the library, in `--json`, in the answers of the service, in stored events and exports."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import pytest
from fastapi import FastAPI
from pydantic import BaseModel, create_model

from ledger.application.json_models.entry_json import AddedEntryShape, EntryShape
from ledger.application.json_models.shapes import Shape
from ledger.results import AddedEntry
from ledger.server import native
from projections.entries import Entry
from tests.support.json_model_sources import MADE_OF, STORED_AS, WRAPPERS


def shapes() -> set[type[BaseModel]]:
    """Return every model that answers are made of, those of single routes included."""
    found: set[type[BaseModel]] = {Shape}
    new = found
    while new:
        new = {each for shape in new for each in shape.__subclasses__()} - found
        found = found | new
    return {shape for shape in found if shape.__module__.startswith("ledger.")}


def names(structs: Iterable[type[msgspec.Struct]]) -> set[str]:
    """Return the fields and the public properties."""
    return {
        name
        for struct in structs
        for each in struct.__mro__
        for name, member in vars(each).items()
        if not name.startswith("_") and (name in struct.__struct_fields__ or isinstance(member, property))
    }


def unexplained(library: set[str], shape: set[str], reasons: Mapping[str, str]) -> set[str]:
    """Return the fields that only one of two has without a reason, and those with a reason that both or none have."""
    return (library ^ shape) ^ set(reasons)


def schemas() -> dict[str, set[str]]:
    """Return the properties of every schema of the native OpenAPI document that an answer is made of."""
    app = FastAPI(title="native", version="1")
    app.include_router(native.router)
    document = app.openapi()
    answers = [
        content
        for methods in document["paths"].values()
        for route in methods.values()
        for status, answer in route["responses"].items()
        if status.startswith("2")
        for content in answer.get("content", {}).values()
    ]
    return {
        name: set(document["components"]["schemas"][name].get("properties", {}))
        for name in reached(answers, document["components"]["schemas"])
    }


def reached(value: Any, components: Mapping[str, Any]) -> set[str]:
    """Return the names of the schemas that *value* refers to, through any number of others."""
    found: set[str] = set()
    left = [value]
    while left:
        match left.pop():
            case {"$ref": str(target)} if (name := target.rpartition("/")[2]) not in found:
                found.add(name)
                left.append(components[name])
            case dict() as inner:
                left.extend(inner.values())
            case list() as inner:
                left.extend(inner)
            case _:
                pass
    return found


@pytest.mark.parametrize("shape", MADE_OF, ids=lambda shape: shape.__name__)
def test_the_library_and_its_json_have_the_same_names(shape: type[BaseModel]) -> None:
    structs, reasons = MADE_OF[shape]
    assert unexplained(names(structs), set(shape.model_fields), reasons) == set()


@pytest.mark.parametrize("shape", STORED_AS, ids=lambda shape: shape.__name__)
def test_stored_events_and_exports_have_the_same_names(shape: type[BaseModel]) -> None:
    structs, reasons = STORED_AS[shape]
    stored = {name for struct in structs for name in struct.__struct_fields__}
    assert stored - set(shape.model_fields) == set(reasons)


def test_no_shape_is_left_out() -> None:
    assert shapes() == {*MADE_OF, *WRAPPERS}


def test_the_service_answers_nothing_but_shapes() -> None:
    documented = schemas()
    known = {shape.__name__: set(shape.model_fields) for shape in shapes()}
    assert len(documented) > 30
    assert {name: keys for name, keys in documented.items() if known.get(name) != keys} == {}


# negative controls: a field of another name is noticed wherever it is


def test_a_shape_with_another_name_for_a_field_is_noticed() -> None:
    structs, reasons = MADE_OF[EntryShape]
    fields = {"id" if name == "entry_id" else name for name in EntryShape.model_fields}
    assert unexplained(names(structs), fields, reasons) == {"entry_id", "id"}


def test_a_reason_for_a_field_that_both_have_is_noticed() -> None:
    assert unexplained(names([AddedEntry]), set(AddedEntryShape.model_fields), {"hash": "none"}) == {"hash"}


def test_a_model_that_no_list_has_is_noticed() -> None:
    other = create_model("Other", __base__=EntryShape, __module__="ledger.server.native.entry_routes", id=(str, ""))
    try:
        assert shapes() - {*MADE_OF, *WRAPPERS} == {other}
    finally:
        other.__module__ = __name__  # a class lives until it is collected


def test_an_answer_with_another_name_for_a_field_is_noticed() -> None:
    document = {"Entry": {"properties": {"id": {}, "summary": {"$ref": "#/components/schemas/Summary"}}}, "Summary": {}}
    assert reached([{"schema": {"$ref": "#/components/schemas/Entry"}}], document) == {"Entry", "Summary"}
    renamed = schemas() | {"EntryShape": {"id"}}
    known = {shape.__name__: set(shape.model_fields) for shape in shapes()}
    assert [name for name, keys in renamed.items() if known.get(name) != keys] == ["EntryShape"]


def test_properties_count_as_fields() -> None:
    assert {"entry_id", "created_at", "recorded_us"} <= names([Entry])
