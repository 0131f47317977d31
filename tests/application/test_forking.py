"""A fork continues from any version of a session: history by reference, independent afterwards. Source: http W-70."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from ledger.errors import (
    IdempotencyMismatch,
    InvalidInput,
    LedgerError,
    SessionExists,
    SessionNotFound,
    VersionNotFound,
)
from ledger.events.ids import Stream
from ledger.history import state_loading, stored_snapshots
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.session.evolve import end_of_batch
from ledger.stores.in_memory import InMemoryStore
from projections.entries import Entry
from tests.application.conftest import SMALL, contents, talk
from tests.support.ledgers import ledger_over
from tests.support.small_pages import without_content


async def lines_of(ledger: MemoryLedger, session: str) -> list[bytes]:
    return [line async for line in ledger.export_file(session)]


async def log_of(ledger: MemoryLedger, session: str) -> list[Any]:
    """Return the stored events of a session, byte for byte."""
    return await ledger._handle.services.store.events.read_stream(Stream.of(ledger._handle.namespace, session))


def reopened(ledger: MemoryLedger) -> MemoryLedger:
    """Return a ledger without caches on the same store."""
    return ledger_over(ledger._handle.services.store, namespace=ledger._handle.namespace)


def untimed(state: Any) -> Any:
    """Return a state less its version and times, which a fork has of its own."""
    changed = {"version": 0, "write_id": "", "created_us": 0, "updated_us": 0, "opened": True, "life": 0, "writes": 0}
    fields = {name: getattr(end_of_batch(state), name) for name in state.__struct_fields__}
    return {**fields, **changed}


async def test_a_fork_is_as_its_parent_is_and_both_go_on(anywhere: MemoryLedger) -> None:
    await talk(anywhere, 3)
    forked = await anywhere.fork("s", "f")
    assert (forked.session_id, forked.forked_from, forked.at_version, forked.version) == ("f", "s", 4, 5)
    assert await contents(anywhere, "f") == ["message 1", "message 2", "message 3"]
    before = await log_of(anywhere, "s")
    await talk(anywhere, 2, session="f", first=10)
    assert await log_of(anywhere, "s") == before
    await talk(anywhere, 1, first=20)
    assert await contents(anywhere, "f") == ["message 1", "message 2", "message 3", "message 10", "message 11"]
    assert await contents(anywhere) == ["message 1", "message 2", "message 3", "message 20"]
    assert (
        len(
            await anywhere._handle.services.store.events.read_namespace(
                Stream.of(anywhere._handle.namespace, "s").namespace_id
            )
        )
        == 8
    )
    assert (await anywhere.get_stats("f")).total_entries == 5
    assert [entry.content for entry in (await anywhere.get_history("f")).entries][-2:] == [
        "message 10",
        "message 11",
    ]
    rows = {row.session_id: (row.version, row.active, row.status) for row in await anywhere.list_sessions()}
    assert rows == {"s": (5, 4, "live"), "f": (7, 5, "live")}
    assert (await anywhere.verify("f")).checked == 7
    assert (await anywhere.verify()).checked == 8


@pytest.mark.parametrize("every", [1, 4, 200])
async def test_time_travel_in_a_fork_reaches_back_across_the_fork_point(
    anywhere: MemoryLedger, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_loading, "EVERY_EVENTS", every)
    monkeypatch.setattr(state_loading, "FIRST_AFTER_EVENTS", every)
    monkeypatch.setattr(stored_snapshots, "LASTING_EVENTS", every)
    without_content(monkeypatch)
    await anywhere.update_config("s", SMALL)
    await talk(anywhere, 9)
    parent = (await anywhere.get_state("s")).version
    await anywhere.fork("s", "f", version=parent - 2)
    await anywhere.fork("f", "g", version=4)
    await talk(anywhere, 7, first=20)
    await talk(anywhere, 7, session="f", first=40)
    await anywhere._handle.services.commands.settle()
    for name, last in (("f", parent - 2), ("g", 4)):
        for version in range(1, last + 1):
            first, other = [await reopened(anywhere).get_state(each, version=version) for each in ("s", name)]
            assert first == other
            contexts = [await anywhere.get_context(each, version=version) for each in ("s", name)]
            assert contexts[0].text == contexts[1].text
    read = await reopened(anywhere).get_state("f")
    assert read == await anywhere.get_state("f")
    assert [entry.content for entry in read.window.entries][-1] == "message 46"
    moment = (await anywhere.get_events("s"))[3].recorded_at
    assert (await anywhere.get_state("g", at=moment)).version == (await anywhere.get_state("s", at=moment)).version


async def test_a_fork_may_begin_at_a_version_or_a_moment(anywhere: MemoryLedger) -> None:
    await talk(anywhere, 2)
    await asyncio.sleep(0.002)
    await talk(anywhere, 2, first=3)
    moment = (await anywhere.get_events("s"))[2].recorded_at
    assert (await anywhere.fork("s", "by-version", version=2)).version == 3
    assert (await anywhere.fork("s", "by-moment", at=moment)).at_version == 3
    assert (await anywhere.fork("s", "by-text", at=moment.isoformat())).at_version == 3
    assert await contents(anywhere, "by-version") == ["message 1"]
    assert await contents(anywhere, "by-moment") == await contents(anywhere, "by-text") == ["message 1", "message 2"]


async def test_a_fork_has_the_same_user_unless_it_gets_another(anywhere: MemoryLedger) -> None:
    await anywhere.add_user_message("s", "hello", user_id="ann")
    assert (await anywhere.fork("s", "f", user_id="ann")).user_id == "ann"
    assert (await anywhere.fork("s", "s", user_id="ann", new_user_id="bob")).user_id == "bob"
    assert (await anywhere.fork("s", "s", user_id="ann", new_user_id="")).user_id is None
    for session, user in (("f", "ann"), ("s", "bob"), ("s", None)):
        assert [entry.content for entry in await anywhere.get_active_entries(session, user_id=user)] == ["hello"]
    assert (await anywhere.verify()).ok


REFUSED: dict[str, tuple[Callable[[MemoryLedger], Any], type[LedgerError], str]] = {
    "no such session": (lambda ledger: ledger.fork("nobody", "f"), SessionNotFound, "session_not_found"),
    "another user's": (lambda ledger: ledger.fork("s", "f", user_id="u"), SessionNotFound, "session_not_found"),
    "no such version": (lambda ledger: ledger.fork("s", "f", version=4), VersionNotFound, "version_not_found"),
    "version 0": (lambda ledger: ledger.fork("s", "f", version=0), VersionNotFound, "version_not_found"),
    "before it began": (
        lambda ledger: ledger.fork("s", "f", at="1999-01-01T00:00:00Z"),
        VersionNotFound,
        "version_not_found",
    ),
    "onto itself": (lambda ledger: ledger.fork("s", "s"), SessionExists, "session_exists"),
    "onto another": (lambda ledger: ledger.fork("s", "t", version=1), SessionExists, "session_exists"),
    "onto one that ended": (lambda ledger: ledger.fork("s", "ended"), SessionExists, "session_exists"),
    "a bad name": (lambda ledger: ledger.fork("s", "a/b"), InvalidInput, "bad_name"),
    "a bad user": (lambda ledger: ledger.fork("s", "f", new_user_id="a\n"), InvalidInput, "bad_name"),
    "version and moment": (
        lambda ledger: ledger.fork("s", "f", version=1, at="2026-01-01T00:00:00Z"),
        InvalidInput,
        "bad_version",
    ),
    "a bad moment": (lambda ledger: ledger.fork("s", "f", at="2026-01-01"), InvalidInput, "bad_time"),
    "a version as text": (lambda ledger: ledger.fork("s", "f", version="2"), InvalidInput, "wrong_type"),  # type: ignore[arg-type]
    "a bad key": (lambda ledger: ledger.fork("s", "f", idempotency_key=""), InvalidInput, "bad_idempotency_key"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_cannot_be_forked_is_refused_and_nothing_is_written(anywhere: MemoryLedger, case: str) -> None:
    act, error, code = REFUSED[case]
    await talk(anywhere, 2)
    await talk(anywhere, 1, session="t")
    await talk(anywhere, 1, session="ended")
    await anywhere.clear_session("ended", end=True)
    namespace_id = Stream.of(anywhere._handle.namespace, "s").namespace_id
    before = await anywhere._handle.services.store.events.overview(namespace_id)
    with pytest.raises(error) as refused:
        await act(anywhere)
    assert refused.value.code == code
    assert await anywhere._handle.services.store.events.overview(namespace_id) == before


async def test_a_retry_with_the_same_key_forks_once(anywhere: MemoryLedger) -> None:
    await talk(anywhere, 2)
    first = await anywhere.fork("s", "f", idempotency_key="k")
    await talk(anywhere, 1, first=3)
    await talk(anywhere, 1, session="f", first=3)
    again = await anywhere.fork("s", "f", idempotency_key="k")
    assert again.replayed
    assert (again.version, again.event_id, again.hash) == (first.version, first.event_id, first.hash)
    with pytest.raises(IdempotencyMismatch):
        await anywhere.fork("s", "f", version=2, idempotency_key="k")
    with pytest.raises(SessionExists):
        await anywhere.fork("s", "f", idempotency_key="another")
    assert len(await log_of(anywhere, "f")) == 5


async def test_of_many_concurrent_forks_into_one_name_one_succeeds(anywhere: MemoryLedger) -> None:
    await talk(anywhere, 4)
    tried = await asyncio.gather(
        *(anywhere.fork("s", "f", version=1 + number % 5) for number in range(10)), return_exceptions=True
    )
    (won,) = [done for done in tried if not isinstance(done, BaseException)]
    assert sum(isinstance(done, SessionExists) for done in tried) == 9
    assert (await anywhere.get_state("f")).version == won.version
    assert (await anywhere.verify()).ok


async def test_what_is_being_compacted_completes_in_the_parent_only(anywhere: MemoryLedger) -> None:
    asked, go = asyncio.Event(), asyncio.Event()

    async def slow(prompt: str) -> str:
        asked.set()
        await go.wait()
        return "short"

    anywhere.set_summarizer("s", slow)
    await anywhere.update_config("s", {**SMALL, "maxEntries": 4})
    for number in range(5):
        await anywhere.add_user_message("s", f"message {number} of some length", tokens=30)
    await asked.wait()
    await anywhere.fork("s", "f")
    assert (await anywhere.get_stats("s")).compactions_in_flight == 1
    assert (await anywhere.get_stats("f")).compactions_in_flight == 0
    go.set()
    await anywhere.settle()
    assert (await anywhere.get_stats("s")).summaries == 1
    assert (await anywhere.get_stats("f")).summaries == 0
    assert len(await contents(anywhere, "f")) == 5
    await anywhere.compress("f")
    assert (await anywhere.get_stats("f")).summaries == 1


@pytest.mark.parametrize("end", [False, True])
async def test_a_cleared_or_ended_parent_is_forked_as_it_was_left(anywhere: MemoryLedger, end: bool) -> None:
    await anywhere.update_config("s", SMALL)
    await talk(anywhere, 3)
    before = (await anywhere.get_state("s")).version
    await anywhere.clear_session("s", end=end)
    await anywhere.fork("s", "f")
    await anywhere.fork("s", "earlier", version=before)
    assert await contents(anywhere, "f") == []
    assert len(await contents(anywhere, "earlier")) == 3
    state = await anywhere.get_state("f")
    assert state.opened
    assert state.config == (await anywhere.get_state("earlier")).config
    assert len((await anywhere.get_history("f")).entries) == 3
    await talk(anywhere, 1, session="f", first=9)
    assert await contents(anywhere, "f") == ["message 9"]
    assert (await anywhere.get_stats("s")).active_entries == 0


async def test_ids_of_the_shared_history_are_known_and_later_ones_of_the_parent_are_not(anywhere: MemoryLedger) -> None:
    await anywhere.add_user_message("s", "shared", entry_id="e-1")
    await anywhere.fork("s", "f")
    await anywhere.add_user_message("s", "of the parent", entry_id="e-2")
    assert (await anywhere.add_user_message("f", "shared", entry_id="e-1")).known
    assert not (await anywhere.add_user_message("f", "of the fork", entry_id="e-2")).known
    assert await contents(anywhere, "f") == ["shared", "of the fork"]
    assert await contents(anywhere) == ["shared", "of the parent"]


async def test_shared_entries_are_edited_and_removed_on_one_side_only(anywhere: MemoryLedger) -> None:
    for number in range(3):
        await anywhere.add_user_message("s", f"message {number}", entry_id=f"e-{number}")
    await anywhere.fork("s", "f")
    await anywhere.edit_entry("f", "e-0", "edited in the fork")
    await anywhere.remove_entry("f", "e-1")
    await anywhere.remove_entry("s", "e-2")
    assert await contents(anywhere, "f") == ["edited in the fork", "message 2"]
    assert await contents(anywhere) == ["message 0", "message 1"]
    assert await contents(reopened(anywhere), "f") == ["edited in the fork", "message 2"]


async def test_questions_to_history_are_answered_across_the_fork_point(anywhere: MemoryLedger) -> None:
    await anywhere.update_config("s", SMALL)
    await anywhere.add_user_message("s", "the poisoned one", entry_id="bad", tokens=10)
    await talk(anywhere, 3)
    await anywhere.get_context("s", record=True)
    forked = await anywhere.fork("s", "f")
    await talk(anywhere, 4, session="f", first=10)  # the fork folds it into a summary of its own
    reached = await anywhere.derived("f", "bad")
    assert reached.contexts[0].version < forked.version
    assert reached.summaries[0].version > forked.version
    assert (await anywhere.derived("s", "bad")).summaries == ()
    seen = await anywhere.seen("f", version=forked.at_version)
    assert seen.recorded is not None
    tried = await anywhere.what_if("f", {"profile": "none"})
    assert [item.content for item in tried.window.items if isinstance(item, Entry)][:1] == ["the poisoned one"]
    difference = await anywhere.diff("f", 3, (await anywhere.get_state("f")).version)
    assert difference is not None
    assert untimed(await anywhere.get_state("f", version=forked.version)) == untimed(
        await anywhere.get_state("s", version=forked.at_version)
    )


@pytest.mark.parametrize("tell", ["fork", "sibling"])
async def test_search_in_a_fork_finds_what_was_there_when_it_was_forked(anywhere: MemoryLedger, tell: str) -> None:
    """R-REC-1: the session and its fork ancestors; what the parent takes back later is still the fork's."""
    await anywhere.add_user_message("s", "apples are red", entry_id="e-1")
    await anywhere.add_user_message("s", "apples are sweet", entry_id="e-2")
    await anywhere.add_user_message("s", "apples are withdrawn", entry_id="e-3")
    await anywhere.remove_entry("s", "e-3")
    if tell == "sibling":
        assert len(await anywhere.search("apples")) == 2  # the index had come so far
    await anywhere.fork("s", "f")
    await anywhere.fork("f", "g")
    await anywhere.add_user_message("s", "apples of the parent")
    await anywhere.remove_entry("s", "e-1")
    await anywhere.edit_entry("f", "e-2", "apples are sour")

    async def found(session: str) -> set[str]:
        return {item.text for item in await anywhere.search("apples", session_id=session)}

    assert await found("f") == {"apples are red", "apples are sour"}
    assert await found("g") == {"apples are red", "apples are sweet"}
    assert await found("s") == {"apples are sweet", "apples of the parent"}
    await anywhere.clear_session("s", end=True)
    assert await found("s") == set()
    assert await found("g") == {"apples are red", "apples are sweet"}
    await anywhere.rebuild_projections()
    assert await found("f") == {"apples are red", "apples are sour"}
    around = (await anywhere.search("sour", session_id="f"))[0]
    assert [entry.content for entry in around.before] == ["apples are red"]


async def test_a_window_recalls_across_the_fork_point(anywhere: MemoryLedger) -> None:
    recall = {"window": {"type": "recall", "max_tokens": 120, "recent_share": 0.5, "top_k": 2}}
    await anywhere.update_config("s", recall)
    await anywhere.add_user_message("s", "the wand is bent", tokens=20)
    await talk(anywhere, 20)
    forked = await anywhere.fork("s", "f")
    await anywhere.remove_entry("s", (await anywhere.get_active_entries("s"))[0].entry_id)
    await talk(anywhere, 5, session="f", first=50)
    assert "the wand is bent" in await anywhere.get_context_for_llm("f", query="wand")
    past = await anywhere.get_context_for_llm("f", query="wand", version=forked.at_version)
    assert "the wand is bent" in past
    assert "the wand is bent" not in await anywhere.get_context_for_llm("s", query="wand")


async def copied(lines: list[bytes], namespace: str, store: Store | None = None) -> MemoryLedger:
    other = ledger_over(store or InMemoryStore(), namespace=namespace)
    await other.import_file(lambda: lines)
    return other


async def family(ledger: MemoryLedger) -> None:
    """Write a session, a fork of it and a fork of that, of which each went on."""
    await ledger.update_config("s", SMALL)
    await talk(ledger, 7)
    await ledger.fork("s", "f", version=6)
    await talk(ledger, 4, session="f", first=20)
    await ledger.fork("f", "g")
    await ledger.fork("f", "early", version=3)
    await talk(ledger, 2, session="g", first=40)
    await talk(ledger, 2, first=60)


@pytest.mark.parametrize("session", ["f", "g", "early"])
async def test_the_file_of_a_fork_carries_its_whole_history(anywhere: MemoryLedger, session: str) -> None:
    """style §4: its copy stands by itself."""
    await family(anywhere)
    lines = await lines_of(anywhere, session)
    other = await copied(lines, "elsewhere")
    assert {row.session_id for row in await other.list_sessions()} == {session}
    newest = (await anywhere.get_state(session)).version
    for version in range(1, newest + 1):
        first, copy = [await ledger.get_context(session, version=version) for ledger in (anywhere, other)]
        assert first.text == copy.text
    assert await contents(other, session) == await contents(anywhere, session)
    assert (await other.verify()).checked == newest
    assert {event.stream_id for event in await log_of(other, session)} == {Stream.of("elsewhere", session).stream_id}
    again = await other.import_file(lambda: lines)
    assert (again.sessions, again.entries) == (1, 0)
    assert (await anywhere.import_file(lambda: lines)).entries == 0
    renamed = await anywhere.import_file(lambda: lines, session_id="copy", user_id="ann")
    assert (renamed.sessions, renamed.entries) == (1, len((await anywhere.get_history(session)).entries))
    assert len(await anywhere.search("message", session_id="copy", user_id="ann", top_k=50)) == len(
        await anywhere.search("message", session_id=session, top_k=50)
    )
    assert (await anywhere.verify()).ok


async def test_forks_in_the_file_of_a_namespace_stay_forks(store: Store, namespace: str) -> None:
    first = ledger_over(store, namespace=namespace)
    await family(first)
    lines = [line async for line in first.export_file()]
    second = await copied(lines, f"{namespace}-copy", store)
    assert (await second.verify()).checked == (await first.verify()).checked
    overview = await store.events.overview(Stream.of(f"{namespace}-copy", "s").namespace_id)
    assert overview is not None
    parents = {head.session_id: head.parent_version for head in overview[1]}
    assert parents == {"s": None, "f": 6, "g": (await first.get_state("f")).version, "early": 3}
    for session in parents:
        assert await contents(second, session) == await contents(first, session)
        hits = [await each.search("message", session_id=session, top_k=50, around=0) for each in (first, second)]
        assert [hit.text for hit in hits[0]] == [hit.text for hit in hits[1]] != []
    done = await second.import_file(lambda: lines)
    assert (done.sessions, done.entries) == (4, 0)
    await talk(second, 1, session="g", first=99)
    assert (await second.import_file(lambda: lines)).entries == 0
    renamed = await ledger_over(store, namespace=f"{namespace}-ann").import_file(lambda: lines, user_id="ann")
    assert renamed.sessions == 4
    assert (await ledger_over(store, namespace=f"{namespace}-ann").verify()).ok


async def test_a_state_of_a_fork_is_exported_as_any_other(anywhere: MemoryLedger) -> None:
    await family(anywhere)
    exported = await anywhere.export_session("g")
    await anywhere.import_session("copy", exported)
    assert await anywhere.export_session("copy") == {**exported, "sessionId": "copy"}
