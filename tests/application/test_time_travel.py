"""Reading a session as it was, at a version or a moment. Source: trust P-8, R-000-16."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from ledger.errors import SessionNotFound, VersionNotFound
from ledger.events import EntryAdded, RecordedEvent
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.session.evolve import SESSION, end_of_batch
from ledger.session.views import stats_of, window_of
from ledger.stores.in_memory import InMemoryStore
from projections.log.history import HISTORY
from projections.projection import Projection
from projections.rendering import context_text
from tests.application.conftest import SMALL, contents, talk
from tests.faults.intercepted_store import InterceptedStore
from tests.support.ledgers import ledger_over


async def a_life(ledger: MemoryLedger) -> list[RecordedEvent]:
    """Do to session "s" everything that can be done, and return its events."""
    ledger.set_summarizer("s", lambda prompt: "Short.")
    await ledger.update_config("s", SMALL)
    await talk(ledger, 7)
    await ledger.add_tool_call("s", "shell", {"command": "ls"}, tool_call_id="c1")
    await ledger.add_tool_result("s", "shell", ["a", "b"], tool_call_id="c1")
    await ledger.edit_entry("s", (await ledger.get_active_entries("s"))[0].entry_id, "another text")
    await ledger.remove_entry("s", (await ledger.get_active_entries("s"))[1].entry_id)
    await ledger.compress("s", force=True)
    await ledger.update_config("s", {"profile": "rolling_interactions", "size": 2, "max_summaries": 1})
    await talk(ledger, 3, first=8)
    await ledger.clear_session("s", end=True)
    await ledger.add_context("s", "text", "README.md")
    return await ledger.get_events("s")


async def test_every_reading_method_answers_at_every_version_as_it_did_then(
    anywhere: MemoryLedger, store: Store, namespace: str
) -> None:
    events = await a_life(anywhere)
    assert len({event.type for event in events}) >= 8
    async with MemoryLedger.open(namespace=namespace, store=store) as fresh:
        for ledger in (anywhere, fresh):
            for version in range(1, len(events) + 1):
                state = end_of_batch(SESSION.fold(events[:version]))
                window = window_of(state)
                assert await ledger.get_state("s", version=version) == state
                context = await ledger.get_context("s", version=version)
                assert (context.window, context.version) == (window, version)
                newest_first = getattr(state.config.window, "order", None) == "newest_first"
                text = context_text(window, conversation_first=newest_first)
                assert await ledger.get_context_for_llm("s", version=version) == text
                assert await ledger.get_active_entries("s", version=version) == list(state.window.entries)
                assert await ledger.get_summaries("s", version=version) == list(state.summaries.live)
                assert await ledger.get_stats("s", version=version) == stats_of(state)
                assert await ledger.get_history("s", version=version) == HISTORY.fold(events[:version])


async def test_without_a_version_it_is_the_newest(anywhere: MemoryLedger) -> None:
    events = await a_life(anywhere)
    newest = {"version": len(events)}
    assert await anywhere.get_state("s") == await anywhere.get_state("s", **newest)
    assert await anywhere.get_context("s") == await anywhere.get_context("s", version=None, at=None)
    assert await anywhere.get_history("s") == await anywhere.get_history("s", **newest)


async def test_a_moment_means_the_newest_event_recorded_by_then(anywhere: MemoryLedger, namespace: str) -> None:
    for number in range(1, 5):
        await talk(anywhere, 1, first=number)
        await asyncio.sleep(0.002)
    stored = [
        decode(event) for event in await anywhere._handle.services.store.events.read_stream(Stream.of(namespace, "s"))
    ]
    for event in stored[2:]:
        just_before = event.recorded_at - timedelta(microseconds=1)
        assert (await anywhere.get_state("s", at=event.recorded_at)).version == event.version
        assert (await anywhere.get_state("s", at=just_before)).version == event.version - 1
    assert (await anywhere.get_stats("s", at=datetime(9999, 1, 1, tzinfo=UTC))).version == 5
    with pytest.raises(VersionNotFound):
        await anywhere.get_state("s", at=stored[0].recorded_at - timedelta(microseconds=1))


async def test_a_moment_is_the_same_in_any_offset_and_spelling(anywhere: MemoryLedger) -> None:
    await talk(anywhere, 1)
    moment = (await anywhere.get_events("s"))[0].recorded_at
    await asyncio.sleep(0.002)
    await talk(anywhere, 1, first=2)
    spellings = [moment, moment.astimezone(timezone(timedelta(hours=5, minutes=30))), moment.isoformat()]
    assert [await anywhere.get_stats("s", at=each) for each in spellings] == [
        await anywhere.get_stats("s", version=2)
    ] * 3


async def test_a_clients_time_does_not_move_anything_in_history__I_44(anywhere: MemoryLedger) -> None:
    for year in (2099, 1970, 2024):
        await anywhere.add_user_message("s", f"in {year}", created_at=datetime(year, 1, 1, tzinfo=UTC))
    assert await contents(anywhere) == ["in 2099", "in 1970", "in 2024"]
    assert (await anywhere.get_state("s", at=datetime(2098, 1, 1, tzinfo=UTC))).version == 4


async def test_looking_back_writes_nothing(anywhere: MemoryLedger) -> None:
    events = await a_life(anywhere)
    for version in range(1, len(events) + 1):
        await anywhere.get_context("s", version=version)
        await anywhere.diff("s", 1, version)
    assert await anywhere.get_events("s") == events


async def test_a_diff_lists_what_only_one_version_showed(anywhere: MemoryLedger) -> None:
    await anywhere.update_config("s", SMALL)
    await talk(anywhere, 5)
    await anywhere.edit_entry("s", (await anywhere.get_active_entries("s"))[4].entry_id, "edited")
    before = (await anywhere.get_state("s")).version
    await talk(anywhere, 1, first=6)
    after = (await anywhere.get_state("s")).version
    found = await anywhere.diff("s", before, after)
    assert [entry.content for entry in found.before.only_entries] == [f"message {n}" for n in (1, 2, 3, 4)]
    assert [entry.content for entry in found.after.only_entries] == ["message 6"]
    assert [summary.entry_count for summary in found.after.only_summaries] == [4]
    assert (found.before.version, found.after.version, found.edited, found.config_changed) == (before, after, (), False)
    back = await anywhere.diff("s", after, before)
    assert (back.before, back.after) == (found.after, found.before)
    edits = await anywhere.diff("s", before - 1, before)
    assert [(edit.before.content, edit.after.content) for edit in edits.edited] == [("message 5", "edited")]
    assert (await anywhere.diff("s", before, before)).empty
    assert (await anywhere.diff("s", 1, before)).config_changed is False


async def test_an_unknown_session_reads_as_empty(anywhere: MemoryLedger) -> None:
    """R-000-16; what would hide a mistake is in the refusals."""
    stats = await anywhere.get_stats("nobody")
    assert (stats.total_entries, stats.total_tokens, stats.version, stats.created_at) == (0, 0, 0, None)
    assert await anywhere.get_active_entries("nobody") == []
    assert await anywhere.get_summaries("nobody") == []
    assert await anywhere.get_context_for_llm("nobody") == ""
    assert await anywhere.get_events("nobody") == []
    context = await anywhere.get_context("nobody")
    assert (context.messages, context.tokens, context.rolling) == ([], 0, {"interactions": [], "summaries": []})


async def test_a_callers_own_fold_runs_over_the_events_up_to_a_version(anywhere: MemoryLedger) -> None:
    """style §4: a projection is a fold anybody may add."""

    def count(words: int, event: RecordedEvent) -> int:
        return words + (len(event.payload.content.split()) if isinstance(event.payload, EntryAdded) else 0)

    words = Projection("words", 1, 0, count)
    await talk(anywhere, 3)
    assert [await anywhere.fold("s", words, version=version) for version in (1, 2, None)] == [0, 2, 6]


class BegunMeanwhile(InterceptedStore):
    """A store in which another process begins the session right after a read has found nothing."""

    def __init__(self, store: InMemoryStore) -> None:
        super().__init__(store)
        self._other = ledger_over(store)

    async def intercept(self, name: str, method: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
        if name == "head":
            await self._other.add_user_message("s", "hello")
        return await method(*args, **options)


@pytest.mark.parametrize("read", ["get_state", "get_history"])
async def test_a_session_that_begins_during_a_read_was_not_there(read: str) -> None:
    store: Any = BegunMeanwhile(InMemoryStore())
    with pytest.raises(SessionNotFound):
        await getattr(ledger_over(store), read)("s")


async def test_a_session_that_begins_during_a_read_has_no_statistics() -> None:
    store: Any = BegunMeanwhile(InMemoryStore())
    assert (await ledger_over(store).get_stats("s")).total_entries == 0
