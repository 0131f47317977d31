"""Export files: byte-identical except for names and ids, verified, and imported once. Source: trust E-12, I-70."""

import json

import pytest

from ledger.errors import InvalidInput, SessionExists
from ledger.events.ids import Stream, namespace_id
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from tests.application.conftest import SMALL, contents, talk
from tests.support.copies import Line, check_copy, said


async def a_session(ledger: MemoryLedger, session: str = "s", user: str | None = None) -> None:
    await ledger.update_config(session, SMALL, user_id=user)
    for number in range(1, 8):
        await ledger.add_user_message(session, f"message {number} 日本語 \x1b[2J", tokens=10, user_id=user)
    await ledger.settle()
    await ledger.add_tool_call(session, "shell", {"command": "ls"}, tool_call_id="c1", user_id=user)
    await ledger.add_tool_result(session, "shell", "x", tool_call_id="c1", data=[1.0, 1e2, -0.0], user_id=user)
    await ledger.clear_session(session, end=True, user_id=user)
    await ledger.add_user_message(session, "a new life", user_id=user)


async def lines_of(ledger: MemoryLedger, session: str | None = "s", user: str | None = None) -> list[bytes]:
    return [line async for line in ledger.export_file(session, user_id=user)]


def parsed(lines: list[bytes]) -> list[Line]:
    return [json.loads(line) for line in lines]


def check_files(original: list[bytes], copy: list[bytes], namespace: str, session: str = "s", user: str = "") -> None:
    """Assert that one file is a copy of the other under these names."""
    names = {"namespace": namespace, "user_id": user, "session_id": session}
    check_copy(parsed(original)[1:-1], parsed(copy)[1:-1], names)
    for event in parsed(copy)[1:-1]:
        if event["type"] == "session.opened":
            assert said(event)[1]["imported_from"]["head_hash"] == parsed(original)[-1]["heads"][0]["hash"]


async def test_a_copy_is_byte_identical_but_for_what_it_renews(store: Store, namespace: str) -> None:
    async with MemoryLedger.open(namespace=namespace, store=store, actor="agent:a") as first:
        await a_session(first)
        original = await lines_of(first)
    async with MemoryLedger.open(namespace=f"{namespace}-copy", store=store, actor="somebody else") as second:
        done = await second.import_file(lambda: original)
        assert (done.sessions, done.entries, done.skipped, done.session_ids) == (1, 10, 0, ("s",))
        copy = await lines_of(second)
        check_files(original, copy, f"{namespace}-copy")
        assert (await second.verify()).ok
        assert await contents(second) == ["a new life"]
    async with MemoryLedger.open(namespace=f"{namespace}-again", store=store) as third:
        await third.import_file(lambda: copy, session_id="t", user_id="judith")
        again = await lines_of(third, "t", "judith")
        check_files(copy, again, f"{namespace}-again", "t", "judith")


async def test_the_comparison_notices_a_changed_byte(ledger: MemoryLedger, namespace: str) -> None:
    """Negative control."""
    await a_session(ledger)
    original = await lines_of(ledger)
    async with MemoryLedger.open(namespace="copy", store=InMemoryStore()) as other:
        await other.import_file(lambda: original)
        copy = await lines_of(other)
    check_files(original, copy, "copy")
    for name, value in (("occurred_us", 1), ("actor", "x"), ("codec", 0), ("payload", "AAAA"), ("version", 99)):
        changed = [*copy[:3], json.dumps({**json.loads(copy[3]), name: value}).encode(), *copy[4:]]
        with pytest.raises(AssertionError):
            check_files(original, changed, "copy")


async def test_every_version_of_a_copy_reads_as_in_the_original(anywhere: MemoryLedger) -> None:
    await a_session(anywhere)
    original = await lines_of(anywhere)
    await anywhere.import_file(lambda: original, session_id="copy")
    newest = (await anywhere.get_state("s")).version
    for version in range(1, newest + 1):
        first, other = [await anywhere.get_context(name, version=version) for name in ("s", "copy")]
        assert (first.text, first.messages, first.tokens) == (other.text, other.messages, other.tokens)


async def test_the_same_file_twice_writes_no_event_and_reports_it__I_70(anywhere: MemoryLedger, namespace: str) -> None:
    await a_session(anywhere)
    original = await lines_of(anywhere)
    before = await anywhere._handle.services.store.events.overview(namespace_id(namespace))
    at_home = await anywhere.import_file(lambda: original)
    assert (at_home.entries, at_home.skipped) == (0, 10)
    assert await anywhere._handle.services.store.events.overview(namespace_id(namespace)) == before
    await anywhere.import_file(lambda: original, session_id="copy")
    before = await anywhere._handle.services.store.events.overview(namespace_id(namespace))
    again = await anywhere.import_file(lambda: original, session_id="copy")
    assert (again.sessions, again.entries, again.skipped) == (1, 0, 10)
    assert await anywhere._handle.services.store.events.overview(namespace_id(namespace)) == before


async def test_a_session_that_went_on_is_still_known_by_its_origin(anywhere: MemoryLedger) -> None:
    await a_session(anywhere)
    original = await lines_of(anywhere)
    await anywhere.import_file(lambda: original, session_id="copy")
    for session in ("s", "copy"):
        await talk(anywhere, 1, session=session)
        done = await anywhere.import_file(lambda: original, session_id=session)
        assert done.entries == 0


async def test_two_histories_are_never_mixed(anywhere: MemoryLedger) -> None:
    await a_session(anywhere)
    original = await lines_of(anywhere)
    await talk(anywhere, 1, session="t")
    before = await lines_of(anywhere, "t")
    with pytest.raises(SessionExists) as refused:
        await anywhere.import_file(lambda: original, session_id="t")
    assert refused.value.code == "session_exists"
    assert await lines_of(anywhere, "t") == before
    await talk(anywhere, 1)
    longer = await lines_of(anywhere)
    await anywhere.import_file(lambda: original, session_id="copy")
    with pytest.raises(SessionExists):
        await anywhere.import_file(lambda: longer, session_id="copy")


async def test_a_whole_namespace_is_copied_session_by_session(store: Store, namespace: str) -> None:
    async with MemoryLedger.open(namespace=namespace, store=store) as first:
        await a_session(first)
        await a_session(first, "t", "judith")
        await talk(first, 2, session="s")
        everything = await lines_of(first, None)
    async with MemoryLedger.open(namespace=f"{namespace}-copy", store=store) as second:
        done = await second.import_file(lambda: everything)
        assert (done.sessions, done.entries) == (2, 22)
        rows = await second.list_sessions()
        assert sorted((row.session_id, row.user_id) for row in rows) == [("s", ""), ("t", "judith")]
        with pytest.raises(InvalidInput) as refused:
            await second.import_file(lambda: everything, session_id="one")
        assert refused.value.code == "several_sessions"
        assert (await second.verify()).ok


async def test_one_session_that_cannot_be_copied_keeps_the_others_out(store: Store, namespace: str) -> None:
    """trust P-12: all or nothing."""
    async with MemoryLedger.open(namespace=namespace, store=store) as first:
        await talk(first, 1, session="a")
        await talk(first, 1, session="b")
        everything = await lines_of(first, None)
    async with MemoryLedger.open(namespace=f"{namespace}-copy", store=store) as second:
        await talk(second, 2, session="b")
        before = await second._handle.services.store.events.overview(namespace_id(f"{namespace}-copy"))
        with pytest.raises(SessionExists):
            await second.import_file(lambda: everything)
        assert await second._handle.services.store.events.overview(namespace_id(f"{namespace}-copy")) == before


async def test_an_export_is_of_the_moment_of_its_first_line(anywhere: MemoryLedger, namespace: str) -> None:
    await talk(anywhere, 3)
    lines = anywhere.export_file(None)
    found = [await anext(lines)]
    await talk(anywhere, 2)
    await talk(anywhere, 1, session="t")
    found += [line async for line in lines]
    trailer = json.loads(found[-1])
    assert (trailer["events"], [head["version"] for head in trailer["heads"]]) == (4, [4])
    assert len(await anywhere._handle.services.store.events.read_stream(Stream.of(namespace, "s"))) == 6
    async with MemoryLedger.open(namespace="copy", store=InMemoryStore()) as other:
        assert (await other.import_file(lambda: found)).entries == 3
