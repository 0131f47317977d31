"""Session data, expiry and restore: http W-20, W-60, W-66, W-70, B9."""

import asyncio
import random
from collections.abc import Sequence
from datetime import timedelta

import pytest

from ledger.application.handle import NamespaceHandle
from ledger.application.services import Services
from ledger.errors import EntryNotFound, InvalidInput, SessionNotFound, VersionConflict, VersionNotFound
from ledger.events import EntriesExtracted, EntriesIndexed, EntryAdded, to_microseconds
from ledger.events.clock import SystemClock
from ledger.events.ids import Stream
from ledger.memory import MemoryLedger
from ledger.ports import AppendRequest, Store
from ledger.ports.event_encoding import stream_write
from ledger.session.commands import Command, MarkExtracted, MarkIndexed
from ledger.session.state import SessionState
from tests.support.driver import SetClock
from tests.support.ledgers import ledger_over


def opened(store: Store, namespace: str, clock: SetClock | None = None, **more) -> MemoryLedger:
    return ledger_over(store, namespace=namespace, clock=clock, **more)


async def test_concurrent_patches_of_different_keys_all_survive(store: Store, namespace: str) -> None:
    """http W-66."""
    ledger, other = opened(store, namespace), opened(store, namespace)
    await asyncio.gather(
        *((ledger if number % 2 else other).patch_data("s", {f"k{number}": number}) for number in range(20))
    )
    assert await ledger.get_data("s") == {f"k{number}": number for number in range(20)}
    assert len(await ledger.get_events("s", type="data.changed")) == 20


async def test_data_is_of_its_session_and_found_by_no_search(store: Store, namespace: str) -> None:
    """Seed 004: session-only, not searchable."""
    ledger = opened(store, namespace)
    await ledger.add_user_message("s", "Where is the giraffe?")
    await ledger.set_data("s", {"animal": "zebra"})
    await ledger.add_user_message("t", "hello")
    assert len(await ledger.search("giraffe")) == 1
    assert await ledger.search("zebra") == []
    assert await ledger.get_data("t") == {}


async def test_a_patch_merges_removes_and_changes_nothing_twice(store: Store, namespace: str) -> None:
    """http W-66, RFC 7396."""
    ledger = opened(store, namespace)
    assert (await ledger.patch_data("s", {"a": {"b": 1, "c": None}, "n": None})).data == {"a": {"b": 1}}
    assert (await ledger.patch_data("s", {"a": {"c": [1, None]}})).data == {"a": {"b": 1, "c": [1, None]}}
    version = (await ledger.get_state("s")).version
    assert (await ledger.patch_data("s", {"a": {"b": 1}, "gone": None})).data == {"a": {"b": 1, "c": [1, None]}}
    assert (await ledger.get_state("s")).version == version
    assert (await ledger.patch_data("s", {"a": None})).data == {}
    assert await ledger.get_data("s", version=2) == {"a": {"b": 1}}
    with pytest.raises(InvalidInput):
        await ledger.patch_data("s", [1])
    with pytest.raises(InvalidInput, match="patch"):
        await ledger.patch_data("s", {"a": object()})


async def test_a_change_larger_than_an_event_says_so_and_changes_nothing__N_5(store: Store, namespace: str) -> None:
    ledger = opened(store, namespace)
    await ledger.patch_data("s", {f"k{number}": "é" * 1_000_000 for number in range(4)})
    changed = {f"n{number}": random.Random(number).randbytes(500_000).hex() for number in range(9)}
    before = await ledger.get_state("s")
    for change in (ledger.patch_data, ledger.set_data):
        with pytest.raises(InvalidInput, match="at most 8372224 bytes") as caught:
            await change("s", changed)
        assert (caught.value.code, caught.value.field) == ("data_too_large", "data")
    assert (await ledger.get_state("s")).version == before.version
    del changed["n8"]
    assert len((await ledger.set_data("s", changed)).data) == 12


async def test_what_a_change_of_data_leaves_as_it_is_does_not_count__N_5(store: Store, namespace: str) -> None:
    ledger = opened(store, namespace)
    parts = {f"k{number}": random.Random(number).randbytes(500_000).hex() for number in range(9)}
    for key, value in parts.items():
        await ledger.set_data("s", {key: value})
    found = await ledger.set_data("s", {**parts, "topic": "trains"})
    assert found.data == {**parts, "topic": "trains"}


async def test_the_keys_that_a_change_removes_count__N_5(store: Store, namespace: str) -> None:
    ledger = opened(store, namespace)
    names = [random.Random(number).randbytes(120).hex() for number in range(900)]
    await ledger.set_data("s", dict.fromkeys(names, 1))
    large = random.Random(0).randbytes(4_185_000).hex()
    with pytest.raises(InvalidInput, match="at most 8372224 bytes"):
        await ledger.set_data("s", {"large": large}, remove=names)
    assert (await ledger.set_data("s", {"large": large}, remove=[*names[:1], "absent" * 4_000])).data["large"] == large


async def test_a_session_expires_by_the_clock_and_its_history_stays(store: Store, namespace: str) -> None:
    """http W-20: no event says so, reading and summarising renew nothing, writing does."""
    clock = SetClock()
    ledger = opened(store, namespace, clock)
    await ledger.add_user_message("s", "hello")
    await ledger.patch_data("s", {"k": 1})
    await ledger.set_expiry("s", 3600)
    state = await ledger.get_state("s")
    expires_at = state.working.expires_at
    assert expires_at is not None
    assert state.is_live(expires_at - timedelta(microseconds=1))
    assert state.has_expired(expires_at)
    assert [entry.content for entry in (await ledger.get_state("s")).window.entries] == ["hello"]
    clock.moment = expires_at + timedelta(seconds=1)
    assert await ledger.get_context_for_llm("s") == "=== Recent Conversation ===\nUser: hello"
    assert [row.expires_at for row in await ledger.list_sessions()] == [expires_at]
    await ledger.add_user_message("s", "another life")
    after = await ledger.get_state("s")
    assert [entry.content for entry in after.window.entries] == ["another life"]
    assert (after.working.data, after.working.ttl_seconds) == ({}, None)
    assert [entry.content for entry in (await ledger.get_state("s", version=state.version)).window.entries] == ["hello"]


async def in_life(ledger: MemoryLedger, session_id: str) -> list[str]:
    return [entry.content for entry in await ledger.get_active_entries(session_id)]


@pytest.mark.parametrize("batch", [1, 12])
async def test_an_entry_decided_by_a_process_that_has_not_heard_of_the_expiry_is_in_the_next_life__R_3(
    store: Store, namespace: str, batch: int
) -> None:
    """Otherwise it would bring back a life that has expired (http W-20), by the clock of the store."""
    stale, other = opened(store, namespace), opened(store, namespace)
    behind = opened(store, namespace, SetClock())
    sessions = {"heard of": stale, "unheard of": stale, "own id": stale, "old clock": behind, "guarded": behind}
    for session_id, ledger in sessions.items():
        await ledger.add_user_message(session_id, "old")
        await other.set_expiry(session_id, 1)
    await stale.get_state("heard of")
    await asyncio.sleep(1.05)
    drafts: list[dict[str, str]] = [{"role": "user", "content": f"new {number}"} for number in range(batch)]
    for session_id, ledger in sessions.items():
        own_id = {"entry_id": "mine"} if session_id == "own id" else {}
        guard = {"expected_version": 3} if session_id == "guarded" else {}
        added = await ledger.add_entries(session_id, [drafts[0] | own_id, *drafts[1:]], **guard)
        assert added.version == 4 + batch
        assert await in_life(other, session_id) == [draft["content"] for draft in drafts]
        assert (await other.get_state(session_id)).working.ttl_seconds is None


async def test_a_decision_on_an_older_life_is_refused_by_the_store__R_3(store: Store, namespace: str) -> None:
    """Controls: an entry of another process does not refuse it, nor does a time that has not come."""
    ledger = opened(store, namespace)
    stream = Stream.of(namespace, "s")
    await ledger.add_user_message("s", "one")
    await ledger.add_user_message("s", "two")
    clock = SystemClock()
    soon = to_microseconds(clock.now() + timedelta(minutes=1))

    def write(**guards: int) -> AppendRequest:
        entry = EntryAdded(
            write_id="w", entry_id=clock.ulid(), kind="message", role="user", content="x", tokens=1, tokenizer="t"
        )
        return AppendRequest(
            writes=(stream_write(stream, [entry], expected_version=None, clock=clock, actor="", **guards),)
        )

    await store.events.append(write(life_after=2, live_until_us=soon))
    for change in (ledger.set_expiry("s", 60), ledger.clear_session("s"), ledger.clear_session("s", end=True)):
        before = await store.events.head(stream)
        await change
        with pytest.raises(VersionConflict) as conflict:
            await store.events.append(write(life_after=before[0]))
        assert not conflict.value.expired
        await store.events.append(write(life_after=(await store.events.head(stream))[0]))
    with pytest.raises(VersionConflict, match="has expired") as conflict:
        await store.events.append(write(live_until_us=soon - 120_000_000))
    assert conflict.value.expired


async def test_an_expired_session_resumes_if_it_is_configured(store: Store, namespace: str) -> None:
    """http W-60."""
    clock = SetClock()
    ledger = opened(store, namespace, clock, reconstruct=True)
    await ledger.add_user_message("s", "hello")
    await ledger.patch_data("s", {"k": 1})
    await ledger.set_expiry("s", 60)
    clock.moment = (await ledger.get_state("s")).working.expires_at + timedelta(days=1)
    await ledger.add_user_message("s", "still here?")
    state = await ledger.get_state("s")
    assert [entry.content for entry in state.window.entries] == ["hello", "still here?"]
    assert state.working.data == {"k": 1}
    assert len(await ledger.get_events("s", type="session.restored")) == 1


@pytest.mark.parametrize("reconstruct", [False, True], ids=["removed", "created again"])
async def test_no_write_revives_an_expired_session_by_itself(store: Store, namespace: str, reconstruct: bool) -> None:
    """http W-21, W-60: it is resumed by an event that says so, or what was in it is not there."""
    clock = SetClock()
    ledger = opened(store, namespace, clock, reconstruct=reconstruct)
    await ledger.add_user_message("s", "hello", entry_id="m")
    await ledger.set_expiry("s", 60)
    clock.moment = (await ledger.get_state("s")).working.expires_at + timedelta(days=1)
    version = (await ledger.get_state("s")).version
    if reconstruct:
        await ledger.edit_entry("s", "m", "edited")
        await ledger.remove_entry("s", "m")
        assert len(await ledger.get_events("s", type="session.restored", after_version=version)) >= 1
        return
    for write in (ledger.edit_entry("s", "m", "edited"), ledger.remove_entry("s", "m")):
        with pytest.raises(EntryNotFound):
            await write
    await ledger.clear_session("s")
    assert (await ledger.get_state("s")).version == version


@pytest.mark.parametrize("reconstruct", [False, True], ids=["removed", "created again"])
@pytest.mark.parametrize("write", ["expiry", "no expiry", "config", "rebuild"])
async def test_no_setting_revives_an_expired_session__W_60(
    store: Store, namespace: str, reconstruct: bool, write: str
) -> None:
    """It is resumed by an event that says so, or the change is refused, and an entry starts it again."""
    clock = SetClock()
    ledger = opened(store, namespace, clock, reconstruct=reconstruct)
    await ledger.add_user_message("s", "hello")
    await ledger.set_expiry("s", 60)
    clock.moment = (await ledger.get_state("s")).working.expires_at + timedelta(days=1)
    changes = {
        "expiry": lambda: ledger.set_expiry("s", 3600),
        "no expiry": lambda: ledger.set_expiry("s", None),
        "config": lambda: ledger.update_config("s", {"profile": "rolling"}, existing=True),
        "rebuild": lambda: ledger.update_config("s", {"profile": "rolling"}, existing=True, rebuild=True),
    }
    version = (await ledger.get_state("s")).version
    if reconstruct:
        await changes[write]()
        assert len(await ledger.get_events("s", type="session.restored", after_version=version)) == 1
        return
    with pytest.raises(InvalidInput, match="has ended or expired; add an entry") as refusal:
        await changes[write]()
    assert refusal.value.code == "session_ended"
    assert (await ledger.get_state("s")).version == version
    await ledger.add_user_message("s", "a new life")
    assert [entry.content for entry in await ledger.get_active_entries("s")] == ["a new life"]
    await ledger.clear_session("s", end=True)
    with pytest.raises(InvalidInput, match="has ended or expired"):
        await changes[write]()


async def test_a_config_says_that_it_started_a_new_life__W_60(store: Store, namespace: str) -> None:
    clock = SetClock()
    ledger = opened(store, namespace, clock)
    assert (await ledger.update_config("s", {"profile": "rolling"})).opened
    await ledger.add_user_message("s", "hello")
    assert not (await ledger.update_config("s", {"profile": "rolling_interactions"})).opened
    await ledger.set_expiry("s", 60)
    clock.moment = (await ledger.get_state("s")).working.expires_at + timedelta(days=1)
    assert (await ledger.update_config("s", {"profile": "rolling"})).opened
    assert await ledger.get_active_entries("s") == []


async def test_patches_keep_to_the_limits_of_json_together(store: Store, namespace: str) -> None:
    """Trust N-2."""
    ledger = opened(store, namespace)
    await ledger.patch_data("s", {f"a{number}": 1 for number in range(600)})
    with pytest.raises(InvalidInput, match="data"):
        await ledger.patch_data("s", {f"b{number}": 1 for number in range(600)})
    assert len(await ledger.get_data("s")) == 600


async def test_a_lifetime_is_checked(store: Store, namespace: str) -> None:
    ledger = opened(store, namespace)
    with pytest.raises(SessionNotFound):
        await ledger.set_expiry("s", 60)
    await ledger.add_user_message("s", "hello")
    for wrong in (0, -1, 10**10, True, "60"):
        with pytest.raises(InvalidInput):
            await ledger.set_expiry("s", wrong)
    assert (await ledger.get_state("s")).working.ttl_seconds is None


async def test_a_clear_an_end_and_any_change_are_undone_exactly(store: Store, namespace: str) -> None:
    """http W-70, B9: what a session was at a version comes back, whatever was done since."""
    ledger = opened(store, namespace)
    await ledger.add_user_message("s", "call it", entry_id="m1")
    await ledger.add_tool_call("s", "shell", {"command": "ls"}, tool_call_id="c1", entry_id="m2")
    await ledger.add_tool_result("s", "shell", "a b", tool_call_id="c1", entry_id="m3", metadata={"took": 2})
    await ledger.patch_data("s", {"k": {"deep": None}})
    await ledger.set_expiry("s", 3600)
    then = await ledger.get_state("s")
    await ledger.edit_entry("s", "m1", "another text")
    await ledger.remove_entry("s", "m3")
    await ledger.patch_data("s", {"k": None, "x": 1})
    await ledger.update_config("s", {"tokenizer": "approximate"})
    edited = (await ledger.get_state("s")).version
    await same(ledger, await ledger.restore("s", then.version), then)
    await ledger.clear_session("s")
    await same(ledger, await ledger.restore("s", then.version), then)
    await ledger.clear_session("s", end=True)
    assert not (await ledger.get_state("s")).opened
    await same(ledger, await ledger.restore("s", then.version), then)
    assert (await ledger.get_state("s", version=edited)).working.data == {"x": 1}, "history is as it was"
    version = (await ledger.get_state("s")).version
    await ledger.set_expiry("s", None)
    with pytest.raises(VersionNotFound):
        await ledger.restore("s", version + 9)
    with pytest.raises(SessionNotFound):
        await ledger.restore("unknown", 1)


async def test_an_expired_session_is_restored_with_all_that_its_entries_were(store: Store, namespace: str) -> None:
    """http W-70: as after an end, kinds, tool names, call ids, sources and marks come back, and no value twice."""
    clock = SetClock()
    ledger = opened(store, namespace, clock)
    await ledger.add_entries("s", [{"kind": "message", "role": "user", "content": "a"} for _ in range(2)])
    await ledger.add_tool_call("s", "shell", {"command": "ls"}, tool_call_id="c1", entry_id="m2")
    await ledger.add_tool_result("s", "shell", "a b", tool_call_id="c1", tool_status="error", entry_id="m3")
    await ledger.add_context("s", "a file", source="file.txt", entry_id="m4", metadata={"took": 2})
    await ledger.edit_entry("s", "m3", "a b c")
    await ledger.set_expiry("s", 1)
    then = await ledger.get_state("s")
    for write_between in (False, True):
        clock.moment = (await ledger.get_state("s")).working.expires_at + timedelta(seconds=1)
        if write_between:
            await ledger.add_user_message("s", "another life")
        await same(ledger, await ledger.restore("s", then.version), then)
        assert (await ledger.get_entry("s", "m4")).content == "a file"


@pytest.mark.parametrize("how", ["clear", "end", "expiry"])
async def test_restored_entries_keep_their_marks(store: Store, namespace: str, how: str) -> None:
    """http W-47: what was extracted or became a record is so no second time, whatever took it away."""
    clock = SetClock()
    handle = NamespaceHandle(Services(store, clock=clock), namespace, "")
    ledger = MemoryLedger(handle)
    await ledger.add_user_message("s", "hello")
    opened_at = (await ledger.get_state("s")).life
    extracted = EntriesExtracted(write_id="x", covered=((2, 2),), strategy="discrete")
    indexed = EntriesIndexed(write_id="x", covered=((2, 2),))
    marks = [MarkExtracted(extracted, opened_at, opened_at), MarkIndexed(indexed, opened_at)]

    async def commands_for(state: SessionState) -> Sequence[Command]:
        return marks

    await handle.write(Stream.of(namespace, "s"), commands_for)
    await ledger.set_expiry("s", 60)
    then = await ledger.get_state("s")
    if how == "expiry":
        clock.moment = then.working.expires_at + timedelta(days=1)
    else:
        await ledger.clear_session("s", end=how == "end")
    await ledger.restore("s", then.version)
    (entry,), flags = await ledger.get_active_entries("s"), (await ledger.get_state("s")).working.flags
    assert flags.extracted == ((entry.version, entry.version),)
    assert flags.persisted_at(entry.version) == then.working.flags.persisted_at(2) is not None


async def test_messages_are_restored_in_their_batches(store: Store, namespace: str) -> None:
    """R-GEN-2, LAW-28: also where another life is opened."""
    ledger = opened(store, namespace)
    await ledger.add_user_message("s", "hello", entry_id="m1", tokens=3)
    await ledger.add_entries("s", [{"kind": "message", "role": "user", "content": text} for text in ("and", "again")])
    then = (await ledger.get_state("s")).version
    end = await ledger.clear_session("s", end=True)
    await ledger.restore("s", then)
    opening, first, second, third, *_ = await ledger.get_events("s", after_version=end)
    batches = [event.payload.write_id for event in (opening, first, second, third)]
    assert batches[2] == batches[3]
    assert len(set(batches)) == 3
    assert (first.payload.tokens, first.payload.tokenizer) == (3, "caller"), "a count is never computed again"


async def same(ledger: MemoryLedger, version: int, then) -> None:
    now = await ledger.get_state("s")
    assert now.version == version
    assert [shown(entry) for entry in now.window.entries] == [shown(entry) for entry in then.window.entries]
    assert (now.working.data, now.working.ttl_seconds, now.config) == (
        then.working.data,
        then.working.ttl_seconds,
        then.config,
    )


def shown(entry) -> tuple:
    names = ("entry_id", "kind", "role", "content", "tool_name", "tool_call_id", "arguments", "metadata", "tokens")
    return tuple(getattr(entry, name) for name in names)


async def test_a_patch_an_expiry_and_a_restore_can_be_repeated_under_a_key(store: Store, namespace: str) -> None:
    """Trust R-6."""
    ledger = opened(store, namespace)
    await ledger.add_user_message("s", "hello", entry_id="m")
    for change in (
        lambda: ledger.patch_data("s", {"k": 1}, idempotency_key="a"),
        lambda: ledger.set_expiry("s", 60, idempotency_key="b"),
        lambda: ledger.restore("s", 2, idempotency_key="c"),
    ):
        first = await change()
        await ledger.add_user_message("s", "between")
        again = await change()
        assert (again.replayed, first.replayed) == (True, False)
        assert getattr(again, "version", again) == getattr(first, "version", first)
    with pytest.raises(VersionConflict):
        await ledger.patch_data("s", {"k": 2}, expected_version=1)


async def test_a_replay_shows_what_came_back_once(store: Store, namespace: str) -> None:
    """What a restore or a PUT adds again had never left the window of a config that compacts nothing."""
    config = {"maxEntries": 6, "recentWindow": 2, "minEntriesToCompress": 1}
    async with MemoryLedger.open(store=store, namespace=namespace, config=config) as ledger:
        for number in range(8):
            await ledger.add_user_message("s", f"message {number} {'and more ' * 20}", entry_id=f"e{number}")
        await ledger.settle("s")
        assert len(await ledger.get_active_entries("s")) < 8
        await ledger.restore("s", version=7)
        await ledger.settle("s")
        everything = await ledger.what_if("s", {"profile": "none", "window": {"type": "full"}})
        shown = [entry.entry_id for entry in everything.window.entries]
    assert sorted(shown) == [f"e{number}" for number in range(6)], "those of version 7, each once"
