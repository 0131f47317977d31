"""A file of a namespace or a fork with what no writer writes is refused, and nothing of it is stored.

What random files are like: see test_crafted_namespaces.py. Source: trust E-12, I-68, I-69.
"""

from collections.abc import Callable

import pytest

from ledger.errors import ImportRefused, InvalidInput
from ledger.events.ids import namespace_id
from ledger.formats.export.histories import Histories
from ledger.stores.in_memory import InMemoryStore
from tests.support.crafted_files import another
from tests.support.rich_namespaces import ledger_for
from tests.transfer.test_crafted_namespaces import Draft, files, problem_of


def of_type(draft: Draft, name: str) -> int:
    return next(at for at, event in enumerate(draft.events) if event["type"] == name)


def more_of_its_parent(draft: Draft) -> None:
    draft.events.insert(-1, another(draft.events[2], 1))


def opened_twice(draft: Draft) -> None:
    at = next(at for at, event in enumerate(draft.events) if event["payload"].get("forked_from"))
    draft.events.insert(at + 1, another(draft.events[at], 1))


def before_its_parent(draft: Draft) -> None:
    """The fork of a fork goes on from an event of the first session, which has come."""
    third = next(head["stream_id"] for head in draft.trailer["heads"] if head["session_id"] == "h")
    own = [event for event in draft.events if event["stream_id"] == third]
    draft.events = [event for event in draft.events if event["stream_id"] != third]
    fork = next(fork for fork in draft.header["forks"] if fork["stream_id"] == third)
    at = next(at for at, event in enumerate(draft.events) if event["stream_id"] == fork["parent_id"])
    draft.events[at:at] = own


def with_a_rebuild_to_no_config(draft: Draft) -> None:
    draft.events[of_type(draft, "rebuild.requested")]["payload"]["config"] = {"window": 3}


def with_a_role_that_is_not_known(draft: Draft) -> None:
    draft.events[of_type(draft, "entries.returned")]["payload"]["entries"][0]["role"] = "SYSTEM"


def with_a_record_of_3_megabytes(draft: Draft) -> None:
    draft.events[of_type(draft, "record.created")]["payload"]["fields"]["text"] = "x" * 3_000_000


def with_a_space_that_is_no_name(draft: Draft) -> None:
    draft.events[of_type(draft, "kept.set")]["payload"]["space"] = "a space"


def with_a_view_of_unknown_fields(draft: Draft) -> None:
    draft.events[of_type(draft, "summary_view.created")]["payload"]["definition"]["group_by"] = ["moon"]


#: What is wrong, in the file of the namespace or that of its fork, and the code of the refusal.
CASES: tuple[tuple[Callable[[Draft], None], int, str], ...] = (
    (more_of_its_parent, 1, "fork_mismatch"),
    (opened_twice, 0, "bad_history"),
    (before_its_parent, 0, "version_gap"),
    (with_a_rebuild_to_no_config, 0, "bad_payload"),
    (with_a_role_that_is_not_known, 0, "unknown_role"),
    (with_a_record_of_3_megabytes, 0, "content_too_large"),
    (with_a_space_that_is_no_name, 0, "bad_space"),
    (with_a_view_of_unknown_fields, 0, "bad_view"),
)


@pytest.mark.parametrize(("change", "which", "code"), CASES)
async def test_what_no_writer_wrote_is_refused__I_69(change: Callable[[Draft], None], which: int, code: str) -> None:
    draft, store = Draft.of((await files())[which]), InMemoryStore()
    change(draft)
    async with ledger_for(store, "b") as ledger:
        with pytest.raises((ImportRefused, InvalidInput)) as refused:
            await ledger.import_file(draft.file)
        assert refused.value.code == code
        assert await store.events.overview(namespace_id("b")) is None


async def test_a_reader_that_follows_no_history_accepts_what_does_not_verify__control(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draft = Draft.of((await files())[0])
    opened_twice(draft)
    assert await problem_of(draft.file()) is None
    monkeypatch.setattr(Histories, "problem", lambda self, event, payload: None)
    assert "TAMPERED" in (await problem_of(draft.file()) or "")
