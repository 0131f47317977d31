"""Old payloads in the newest shape.

A step turns the JSON of one schema version into the next; steps run in a row. They work on plain JSON, so that they
still work when the classes in `events` change.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias

PayloadJson: TypeAlias = dict[str, Any]
Step: TypeAlias = Callable[[PayloadJson], PayloadJson]


class UpcastFailed(Exception):
    """A step failed, or there is none, for one payload: others can still be read."""


def _with_new_fields_empty(payload: PayloadJson) -> PayloadJson:
    return payload


#: (event type, schema version it reads) -> step to the next schema version.
STEPS: Mapping[tuple[str, int], Step] = {
    ("compaction.completed", 1): _with_new_fields_empty,
    ("config.changed", 1): _with_new_fields_empty,
    ("entry.added", 1): _with_new_fields_empty,
    ("entry.edited", 1): _with_new_fields_empty,
    ("session.opened", 1): _with_new_fields_empty,
}


@cache
def reads_as(type_: str, schema_version: int, *, to: int) -> bool:
    """Tell whether a payload of *schema_version* has the shape of *to* already: it only lacks the new fields."""
    return all(STEPS.get((type_, version)) is _with_new_fields_empty for version in range(schema_version, to))


def upcast(
    type_: str,
    schema_version: int,
    payload: PayloadJson,
    *,
    to: int,
    steps: Mapping[tuple[str, int], Step] = STEPS,
) -> PayloadJson:
    """Return *payload* of *schema_version* in the shape of schema version *to*.

    Raises:
        UpcastFailed: a step failed on this payload, or is missing; the golden files show that.
    """
    for version in range(schema_version, to):
        try:
            payload = steps[type_, version](payload)
        except Exception as fault:
            raise UpcastFailed(f"the step from schema {version} failed: {fault!r}") from fault
    return payload
