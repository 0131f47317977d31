"""What an event says of its content is so: a file in which it is not is refused. Source: R-GEN-1, trust E-12, I-69."""

from collections.abc import Callable
from typing import Any

import pytest

from ledger.errors import ImportRefused
from ledger.formats.export import file_reader
from tests.support.crafted_files import events_of, file_of
from tests.transfer.test_crafted_files import _with_entries, a_long_session, fault_of

CASES: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "facts": ("entry.added", lambda payload: {**payload, "facts": {"thinks": True}}, "facts"),
    "another text": ("entry.added", lambda payload: {**payload, "content": "Error: none"}, "facts"),
    "other metadata": ("entry.added", lambda payload: {**payload, "metadata": {"end_turn": False}}, "facts"),
    "an edit": ("entry.edited", lambda payload: {**payload, "reads_as_error": True}, "reads_as_error"),
    "entries that return": (
        "entries.returned",
        _with_entries({"facts": {"turn_goes_on": True}}),
        r"entries\[0\]\.facts",
    ),
    "a model that failed": (
        "compaction.completed",
        lambda payload: {**payload, "model_failed": True},
        "model_failed",
    ),
}


async def crafted(case: str) -> tuple[list[bytes], int]:
    """Return a file with one event that says what is not so, and its line."""
    type_, change, _ = CASES[case]
    lines = await a_long_session()
    events = events_of(lines)
    at = next(at for at, event in enumerate(events) if event["type"] == type_)
    events[at] = {**events[at], "payload": change(events[at]["payload"])}
    return file_of(lines, events), at + 2


@pytest.mark.parametrize("case", CASES)
async def test_an_import_refuses_facts_that_are_not_those_of_the_content__I_69(case: str) -> None:
    file, line = await crafted(case)
    with pytest.raises(ImportRefused, match=CASES[case][2]) as refused:
        file_reader.check(file)
    assert (refused.value.code, refused.value.line) == ("bad_payload", line)


@pytest.mark.parametrize("case", ["facts", "an edit", "a model that failed"])
async def test_what_an_import_without_this_check_takes_verify_names__control(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control of the test above."""
    monkeypatch.setattr("ledger.formats.export.payload_checks.wrong_fact", lambda event: None)
    file, _ = await crafted(case)
    file_reader.check(file)
    fault = await fault_of(file)
    assert fault == f"TAMPERED: it says of its content what is not so ({CASES[case][2]})"
