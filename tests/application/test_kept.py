"""Values that are kept beside the window. Source: adapters LF-1."""

from hashlib import sha256
from typing import Any

import pytest

from ledger.application.writing import key_values as kept
from ledger.errors import InvalidInput, VersionConflict, VersionNotFound
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.support.ledgers import ledger_over


def value(key: str, content: Any, space: str = "steps") -> dict[str, Any]:
    return {"space": space, "key": key, "value": content}


async def keys(ledger: MemoryLedger, session: str = "s", **bounds: Any) -> list[str]:
    return [each.key for each in await ledger.list_kept(session, "steps", **bounds)]


@pytest.fixture
def ledger() -> MemoryLedger:
    return ledger_over(InMemoryStore())


async def test_a_value_is_read_by_its_key_and_an_older_one_by_version__LF_1(ledger: MemoryLedger) -> None:
    first = await ledger.keep("s", [value("a", {"n": 1})])
    second = await ledger.keep("s", [value("a", [2, None]), value("b", b"\x00\xff")])
    found = await ledger.get_kept("s", "steps", "a")
    assert found is not None
    assert (found.value, found.version) == ([2, None], second.versions[0])
    old = await ledger.get_kept("s", "steps", "a", version=first.version)
    assert old is not None
    assert old.value == {"n": 1}
    content = await ledger.get_kept("s", "steps", "b")
    assert content is not None
    assert (content.value, content.digest) == (b"\x00\xff", sha256(b"\x00\xff").hexdigest())
    assert await ledger.get_kept("s", "other", "a") is None
    assert await ledger.get_kept("unknown", "steps", "a") is None
    with pytest.raises(VersionNotFound):
        await ledger.get_kept("s", "steps", "a", version=99)


async def test_values_are_outside_the_window_and_its_tokens__LF_1(ledger: MemoryLedger) -> None:
    await ledger.add_user_message("s", "hello")
    before = await ledger.get_stats("s")
    await ledger.keep("s", [value(str(number), "a long text " * 100) for number in range(50)])
    after = await ledger.get_stats("s")
    assert (after.active_tokens, after.total_entries) == (before.active_tokens, before.total_entries)
    assert "long text" not in await ledger.get_context_for_llm("s")


async def test_a_range_of_keys_is_listed_in_both_orders__LF_1(ledger: MemoryLedger) -> None:
    await ledger.keep("s", [value(key, key) for key in ("b", "a", "ab", "c")])
    await ledger.keep("s", [{"space": "steps", "key": "b", "removed": True}])
    assert await keys(ledger) == ["a", "ab", "c"]
    assert await keys(ledger, greatest_first=True) == ["c", "ab", "a"]
    assert await keys(ledger, greatest_first=True, limit=2) == ["c", "ab"]
    assert await keys(ledger, prefix="a") == ["a", "ab"]
    assert await keys(ledger, after="a", before="c") == ["ab"]
    assert await keys(ledger, limit=2) == ["a", "ab"]
    assert await keys(ledger, limit=1, after="a") == ["ab"]


async def test_a_limit_counts_only_what_is_not_removed__LF_1(ledger: MemoryLedger) -> None:
    await ledger.keep("s", [value(f"{number:03}", number) for number in range(100)])
    await ledger.keep("s", [{"space": "steps", "key": f"{number:03}", "removed": True} for number in range(95)])
    assert await keys(ledger, limit=2) == ["095", "096"]


async def test_every_value_of_a_key_is_listed_since_it_was_removed__LF_1(ledger: MemoryLedger) -> None:
    for content in (1, 2):
        await ledger.keep("s", [value("a", content)])
    await ledger.keep("s", [{"space": "steps", "key": "a", "removed": True}])
    for content in (3, 4):
        await ledger.keep("s", [value("a", content)])
    assert [each.value for each in await ledger.list_kept("s", "steps", every=True)] == [3, 4]


async def test_a_clear_keeps_values_and_the_end_of_the_life_ends_them__LF_1(ledger: MemoryLedger) -> None:
    await ledger.add_user_message("s", "hello")
    kept = await ledger.keep("s", [value("a", 1)])
    await ledger.clear_session("s")
    assert await keys(ledger) == ["a"]
    await ledger.clear_session("s", end=True)
    assert await keys(ledger) == []
    assert await keys(ledger, version=kept.version) == ["a"]
    await ledger.add_user_message("s", "again")
    assert await keys(ledger) == []
    await ledger.keep("s", [value("b", 1)])
    assert await keys(ledger) == ["b"]


async def test_a_fork_has_the_values_of_its_parent_and_its_own__LF_1(ledger: MemoryLedger) -> None:
    await ledger.keep("s", [value("a", 1)])
    await ledger.fork("s", "f")
    await ledger.keep("s", [value("b", 2)])
    await ledger.keep("f", [value("a", 3), value("c", 4)])
    assert await keys(ledger, "f") == ["a", "c"]
    assert await keys(ledger) == ["a", "b"]
    (parent, own) = (await ledger.get_kept("s", "steps", "a"), await ledger.get_kept("f", "steps", "a"))
    assert parent is not None
    assert own is not None
    assert (parent.value, own.value) == (1, 3)


async def test_entries_are_written_with_the_values_and_others_leave__LF_1(ledger: MemoryLedger) -> None:
    entries = [{"role": "user", "content": text, "entry_id": text} for text in ("a", "b", "c")]
    await ledger.keep("s", [value("1", 1)], entries=entries[:2], config={"profile": "none"})
    written = await ledger.keep("s", [value("2", 2)], entries=entries[1:], only_entries=True)
    assert [entry.entry_id for entry in await ledger.get_active_entries("s")] == ["b", "c"]
    events = await ledger.get_events("s")
    assert [event.type for event in events[-3:]] == ["entry.removed", "entry.added", "kept.set"]
    assert len({event.payload.write_id for event in events[-3:]}) == 1
    assert written.version == events[-1].version


@pytest.mark.parametrize("wanted", ["", "ab", "bc", "ca", "dabc", "acb", "abcd"])
async def test_the_window_has_only_the_entries_of_a_list_in_its_order__LF_1(ledger: MemoryLedger, wanted: str) -> None:
    entries = {text: {"role": "user", "content": text, "entry_id": text} for text in "abcd"}
    first = [entries[text] for text in "abc"]
    await ledger.keep("s", [value("1", 1)], entries=first, config={"profile": "none"})
    await ledger.keep("s", [value("2", 2)], entries=[entries[text] for text in wanted], only_entries=True)
    assert [entry.entry_id for entry in await ledger.get_active_entries("s")] == list(wanted)


async def test_others_leave_a_window_whose_entries_are_not_in_memory__LF_1(
    ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state of a session holds little content, and reads the rest of it from the log."""
    monkeypatch.setattr(ledger._handle.services.states._contents, "_limit_b", 0)
    entries = [{"role": "user", "content": f"{number}", "entry_id": f"{number}"} for number in range(300)]
    await ledger.keep("s", [], entries=entries, config={"profile": "none"})
    assert len(await ledger.get_active_entries("s")) == 300
    await ledger.keep("s", [], entries=entries[1:], only_entries=True)
    assert [entry.content for entry in await ledger.get_active_entries("s")] == [f"{n}" for n in range(1, 300)]


@pytest.mark.parametrize("wanted", ["", "f", "defx", "fed"])
async def test_many_entries_leave_with_one_event__LF_1(
    ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch, wanted: str
) -> None:
    entries = {text: {"role": "user", "content": text, "entry_id": text} for text in "abcdefx"}
    await ledger.keep("s", [value("1", 1)], entries=[entries[text] for text in "abcdef"], config={"profile": "none"})
    before = (await ledger.get_state("s")).version
    monkeypatch.setattr(kept, "_MOST_REMOVED", 4)
    leaving = {"": 6, "f": 5, "defx": 3, "fed": 5}[wanted]
    await ledger.keep("s", [], entries=[entries[text] for text in wanted], only_entries=True)
    assert [entry.entry_id for entry in await ledger.get_active_entries("s")] == list(wanted)
    types = [event.type for event in await ledger.get_events("s") if event.version > before]
    assert types.count("session.cleared") == (1 if leaving > 4 else 0)
    assert types.count("entry.removed") == (0 if leaving > 4 else leaving)
    found = await ledger.get_kept("s", "steps", "1")
    assert found is not None
    assert found.value == 1


async def test_values_are_exported_imported_and_verified__LF_1(ledger: MemoryLedger) -> None:
    await ledger.add_user_message("s", "hello")
    await ledger.keep("s", [value("a", {"n": 1}), value("b", b"\x00")])
    lines = [line async for line in ledger.export_file()]
    copy = ledger_over(InMemoryStore())
    await copy.import_file(lambda: lines)
    assert [each.value for each in await copy.list_kept("s", "steps")] == [{"n": 1}, b"\x00"]
    assert (await ledger.verify("s")).ok
    assert (await copy.verify("s")).ok


async def test_a_repeated_request_is_written_once__LF_1(ledger: MemoryLedger) -> None:
    first = await ledger.keep("s", [value("a", 1)], idempotency_key="k")
    again = await ledger.keep("s", [value("a", 1)], idempotency_key="k")
    assert (again.version, again.replayed) == (first.version, True)
    with pytest.raises(VersionConflict):
        await ledger.keep("s", [value("a", 2)], expected_version=first.version - 1)


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ([{"space": "a/b", "key": "k", "value": 1}], "values[0].space"),
        ([value("a", 1), value("", 1)], "values[1].key"),
        ([value("a\n", 1)], "values[0].key"),
        ([value("k" * 441, 1)], "values[0].key"),
        ([value("a", "\x00")], "values[0].value"),
        ([value("a", bytes(6 * 1024 * 1024))], "values[0].value"),
        ([{"space": "s", "key": "k", "values": 1}], "values[0].values"),
        ([], "values"),
    ],
)
async def test_a_bad_value_is_named_and_nothing_is_written__LF_1(
    ledger: MemoryLedger, values: list[Any], field: str
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        await ledger.keep("s", values)
    assert refusal.value.field == field
    assert await ledger.get_events("s") == []


async def test_a_write_of_entries_that_the_window_has_changes_nothing(anywhere: MemoryLedger) -> None:
    said = [{"role": "user", "content": "x", "entry_id": "e1"}]
    first = await anywhere.keep("s", [], entries=said)
    for only in (False, True):
        again = await anywhere.keep("s", [], entries=said, only_entries=only)
        assert (again.version, again.first_version) == (first.version, first.version + 1)
