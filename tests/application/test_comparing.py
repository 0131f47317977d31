"""What changed between two points of a session, as data, and how it is reported (http W-72)."""

from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.errors import InvalidInput, VersionNotFound
from ledger.memory import MemoryLedger
from projections.values.json_patch import json_patch
from tests.application.conftest import talk

KEYS = st.text("ab~/", max_size=3)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(-1, 1) | st.text("xy", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)


@given(OBJECTS, OBJECTS)
def test_a_patch_makes_one_object_of_the_other(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Applied by another's implementation of RFC 6902."""
    created = jsonpatch.apply_patch(before, json_patch(before, after))
    assert created == after
    assert json_patch(after, after) == []


def test_values_of_another_kind_are_another_value() -> None:
    assert json_patch({"a": 1}, {"a": True}) == [{"op": "replace", "path": "/a", "value": True}]
    assert json_patch({"a/b~": {"c": 1}}, {"a/b~": {}}) == [{"op": "remove", "path": "/a~1b~0/c"}]


async def test_entries_are_added_edited_removed_or_covered(small: MemoryLedger) -> None:
    await talk(small, 3)
    before = (await small.get_state("s")).version
    first, second, _ = await small.get_active_entries("s")
    await small.edit_entry("s", second.entry_id, "another text")
    await small.remove_entry("s", first.entry_id)
    await talk(small, 2, first=4)
    changes = (await small.diff("s", before)).changes
    assert [entry.content for entry in changes.entries.added] == ["message 4", "message 5"]
    assert [entry.content for entry in changes.entries.removed] == ["message 1"]
    assert [(edit.before.content, edit.after.content) for edit in changes.entries.edited] == [
        ("message 2", "another text")
    ]
    assert (changes.entries.covered, changes.context.before, changes.context.after) == ((), None, None)
    middle = changes.versions.after
    await talk(small, 2, first=6)
    later = (await small.diff("s", middle)).changes
    assert [entry.content for entry in later.entries.covered] == ["another text", "message 3", "message 4", "message 5"]
    assert later.entries.removed == ()
    assert [summary.text for summary in later.summaries.added] == [later.context.after]
    back = (await small.diff("s", later.versions.after, middle)).changes
    assert [entry.content for entry in back.entries.added] == [entry.content for entry in later.entries.covered]
    assert (await small.diff("s", middle, middle)).changes.entries.added == ()


async def test_a_what_if_is_compared_with_what_was(small: MemoryLedger) -> None:
    await talk(small, 8)
    version = (await small.get_state("s")).version
    covered = len((await small.get_history("s")).entries) - len(await small.get_active_entries("s"))
    changes = (await small.diff("s", None, {"window": {"type": "full"}})).changes
    assert len(changes.entries.added) == covered > 0
    assert len(changes.summaries.removed) == 1
    assert (await small.get_state("s")).version == version, "nothing is written"


async def test_points_that_are_none_are_refused(small: MemoryLedger) -> None:
    await talk(small, 1)
    with pytest.raises(VersionNotFound):
        await small.diff("s", 99)
    with pytest.raises(InvalidInput, match="moment"):
        await small.diff("s", True)
