"""Messages about fields are in terms of JSON, whatever pydantic calls a fault."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from ledger.events.field_messages import refused_value, unknown_field


def message(kind: Any, value: object, *, strict: bool) -> str:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(kind, config=ConfigDict(strict=strict)).validate_python(value)
    return refused_value(refused.value.errors()[0])


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (int, "x", "must be an integer"),
        (int, 1.5, "must be an integer"),
        (int, None, "must be an integer"),
        (float, "x", "must be a number"),
        (Decimal, "x", "must be a number"),
        (bool, "maybe", "must be true or false"),
        (str, 5, "must be text"),
        (list[int], {}, "must be a list"),
        (tuple[int, ...], 5, "must be a list"),
        (dict[str, int], 5, "must be an object"),
        (datetime, "soon", "must be a time in ISO 8601, such as 2026-01-31T09:30:00Z"),
        (Literal["a", "b"], "c", "must be 'a' or 'b'"),
        (Annotated[int, Field(ge=1)], 0, "must be at least 1"),
        (Annotated[int, Field(gt=1)], 1, "must be more than 1"),
        (Annotated[int, Field(le=1)], 2, "must be at most 1"),
        (Annotated[int, Field(lt=1)], 1, "must be less than 1"),
        (Annotated[str, Field(max_length=1)], "ab", "must have at most 1 characters"),
        (Annotated[list[int], Field(min_length=1)], [], "must have at least 1 items"),
    ],
)
def test_a_refused_value_is_described_in_terms_of_json(kind: Any, value: object, text: str, strict: bool) -> None:
    assert message(kind, value, strict=strict) == text


def test_a_fault_that_is_not_known_keeps_its_message() -> None:
    """Negative control."""
    assert refused_value({"type": "custom", "msg": "Input should be odd"}) == "Input should be odd"


def test_the_field_that_is_spelled_most_alike_is_named() -> None:
    assert unknown_field("sise", {"size", "unit"}) == "is not a field here; did you mean `size`?"
    assert unknown_field("x", {"size", "unit"}) == "is not a field here; its fields are: size, unit"
    assert unknown_field("x", ()) == "is not a field here"
