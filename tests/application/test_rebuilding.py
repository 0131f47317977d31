"""Changing the strategy, with and without a rebuild. Source: R-RBD-1 … R-RBD-5, R-CFG-9."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from ledger.events import RebuildAnswered
from ledger.memory import MemoryLedger
from ledger.ports import Store, SummaryText
from ledger.stores.in_memory import InMemoryStore
from projections.prompts import SummaryRequest
from tests.application.conftest import SMALL, contents

THRESHOLD = {"profile": "memory_manager", "max_entries": 7, "recent_window": 3, "min_entries_to_compress": 2}
ROLLING = {"profile": "rolling", "size": 3, "max_summaries": 3}


class Counting:
    """A summarizer that counts its calls, and fails or waits if it is told to."""

    method = "llm"
    model: str | None = "m"

    def __init__(self, *, fails_after: int | None = None, waits_after: int | None = None) -> None:
        self.calls = 0
        self.fails_after = fails_after
        self.waits_after = waits_after
        self.waiting = asyncio.Event()

    async def summarize(self, request: SummaryRequest) -> SummaryText:
        if self.fails_after is not None and self.calls >= self.fails_after:
            raise RuntimeError("the model is down")
        if self.waits_after is not None and self.calls >= self.waits_after:
            self.waiting.set()
            await asyncio.Event().wait()
        self.calls += 1
        return SummaryText(f"s {request.request_hash[:5]}", 10, 2)


@pytest.fixture
async def talked(store: Store, namespace: str) -> AsyncIterator[MemoryLedger]:
    """A session ``s`` of 25 messages under token_threshold: 4 summaries."""
    async with MemoryLedger.open(namespace=namespace, store=store, config=THRESHOLD, summarizer=Counting()) as ledger:
        await say(ledger, 1, 25)
        yield ledger


async def say(ledger: MemoryLedger, first: int, last: int) -> None:
    for number in range(first, last + 1):
        await (ledger.add_user_message if number % 2 else ledger.add_assistant_message)("s", f"m {number}", tokens=10)
        await ledger.settle()


async def shown(ledger: MemoryLedger) -> list[str]:
    context = await ledger.get_context("s")
    return [getattr(item, "content", None) or item.text for item in context.window.items]


def cancel_rebuilds(ledger: MemoryLedger) -> None:
    """Let nobody wait for a summarizer that never answers."""
    for task in ledger._handle.services.compactor.rebuilder.tasks():
        task.cancel()


async def rebuild(ledger: MemoryLedger) -> str:
    changed = await ledger.update_config("s", ROLLING, replace=True, rebuild=True)
    await ledger.settle("s")
    return changed.rebuild_id


async def test_a_rebuild_shows_what_the_what_if_shows(talked: MemoryLedger) -> None:
    wanted = await talked.what_if("s", ROLLING, on_miss="call")
    await rebuild(talked)
    state = await talked.get_state("s")
    assert await shown(talked) == [
        "m 25",
        "m 24",
        "m 23",
        *(each.text for each in reversed(wanted.state.summaries.live)),
    ]
    assert [each.block for each in state.summaries.live] == [each.block for each in wanted.state.summaries.live]
    assert await contents(talked) == [f"m {number}" for number in range(1, 26)]
    assert state.config == wanted.config
    stats = await talked.get_stats("s")
    assert (stats.total_entries, stats.active_entries, stats.summaries) == (25, 25, 3)


async def test_it_is_asked_for_in_one_event_and_happens_in_one_write(talked: MemoryLedger) -> None:
    """R-RBD-1, R-RBD-3."""
    before = (await talked.get_state("s")).version
    asked = await talked.update_config("s", ROLLING, replace=True, rebuild=True)
    assert (asked.version, asked.config.window.type) == (before + 1, "rolling")
    assert (await talked.get_state("s")).config.window.type == "full"
    await talked.settle("s")
    events = [event for event in await talked.get_events("s") if event.version > before]
    assert [event.type for event in events if event.type.startswith("rebuild")] == [
        "rebuild.requested",
        *["rebuild.answered"] * 8,
        "rebuild.completed",
    ]
    switch = [event for event in events if event.payload.write_id == events[-1].payload.write_id]
    assert [event.type for event in switch][:2] == ["rebuild.completed", "entries.returned"]
    assert (await talked.verify()).ok


async def test_going_back_shows_the_old_window(talked: MemoryLedger) -> None:
    old, version = await shown(talked), (await talked.get_state("s")).version
    await rebuild(talked)
    assert await shown(talked) != old
    await talked.restore("s", version)
    assert await shown(talked) == old


async def test_a_recorded_text_is_used_again(talked: MemoryLedger) -> None:
    """R-RBD-2: back under the first config nothing is new."""
    await rebuild(talked)
    counting = Counting()
    talked.set_summarizer("s", counting)
    await talked.update_config("s", THRESHOLD, replace=True, rebuild=True)
    await talked.settle("s")
    assert counting.calls == 0
    assert len((await talked.get_state("s")).summaries.live) == 4


async def test_messages_that_come_meanwhile_are_part_of_it(talked: MemoryLedger) -> None:
    await talked.update_config("s", ROLLING, replace=True, rebuild=True)
    for number in range(26, 30):
        await talked.add_user_message("s", f"m {number}", tokens=10)
    await talked.settle("s")
    wanted = await talked.what_if("s", ROLLING)
    assert await shown(talked) == [
        "m 29",
        "m 28",
        "m 27",
        *(each.text for each in reversed(wanted.state.summaries.live)),
    ]


async def test_a_model_that_is_down_leaves_the_old_window(talked: MemoryLedger) -> None:
    old = await shown(talked)
    talked.set_summarizer("s", Counting(fails_after=2))
    await rebuild(talked)
    progress = await talked.get_rebuild("s")
    assert (progress.status, progress.reason, progress.summaries) == ("failed", "error", 2)
    assert "RuntimeError" in progress.detail
    assert await shown(talked) == old
    counting = Counting()
    talked.set_summarizer("s", counting)
    await rebuild(talked)
    assert ((await talked.get_rebuild("s")).status, counting.calls) == ("completed", 6)


async def test_a_process_that_ends_leaves_the_old_window_and_the_next_one_goes_on(store: Store, namespace: str) -> None:
    """R-RBD-5: no text is asked for twice."""
    async with MemoryLedger.open(namespace=namespace, store=store, config=THRESHOLD, summarizer=Counting()) as ledger:
        await say(ledger, 1, 25)
        old = await shown(ledger)
        slow = Counting(waits_after=3)
        ledger.set_summarizer("s", slow)
        asked = await ledger.update_config("s", ROLLING, replace=True, rebuild=True)
        await slow.waiting.wait()
        (task,) = ledger._handle.services.compactor.rebuilder.tasks()
        task.cancel()  # as if the process had been killed
        await ledger.settle("s")
    counting = Counting()
    async with MemoryLedger.open(namespace=namespace, store=store, summarizer=counting) as ledger:
        assert await shown(ledger) == old
        progress = await ledger.get_rebuild("s")
        assert (progress.status, progress.summaries) == ("running", 3)
        again = await ledger.update_config("s", ROLLING, replace=True, rebuild=True)
        assert (again.rebuild_id, again.version) == (asked.rebuild_id, progress.version)
        await ledger.settle("s")
        assert ((await ledger.get_rebuild("s")).status, counting.calls) == ("completed", 5)
        answers = [event for event in await ledger.get_events("s") if isinstance(event.payload, RebuildAnswered)]
        assert len({event.payload.output.request_hash for event in answers}) == len(answers) == 8


async def test_a_rebuild_that_nobody_carries_on_is_taken_over_after_its_lease(namespace: str) -> None:
    store = InMemoryStore()
    async with MemoryLedger.open(namespace=namespace, store=store, config=THRESHOLD, summarizer=Counting()) as ledger:
        await say(ledger, 1, 25)
        slow = Counting(waits_after=0)
        ledger.set_summarizer("s", slow)
        await ledger.update_config("s", ROLLING, replace=True, rebuild=True)
        await slow.waiting.wait()
        (task,) = ledger._handle.services.compactor.rebuilder.tasks()
        task.cancel()
        await ledger.settle("s")
        rebuilder = ledger._handle.services.compactor.rebuilder
        ledger.set_summarizer("s", Counting())
        await say(ledger, 26, 26)
        assert (await ledger.get_rebuild("s")).status == "running"
        rebuilder._lease *= 0
        await say(ledger, 27, 27)
        assert (await ledger.get_rebuild("s")).status == "completed"


@pytest.mark.parametrize("change", ["config", "restore", "another", "end"])
async def test_another_change_ends_a_rebuild(talked: MemoryLedger, change: str) -> None:
    """R-RBD-4."""
    version, slow = (await talked.get_state("s")).version, Counting(waits_after=0)
    talked.set_summarizer("s", slow)
    first = await talked.update_config("s", ROLLING, replace=True, rebuild=True)
    await slow.waiting.wait()
    talked.set_summarizer("s", Counting())
    match change:
        case "config":
            await talked.update_config("s", {"max_entries": 9})
        case "restore":
            await talked.restore("s", version)
        case "another":
            await talked.update_config("s", {"profile": "none"}, replace=True, rebuild=True)
        case "end":
            await talked.clear_session("s", end=True)
    ends = [event.payload for event in await talked.get_events("s") if event.type == "rebuild.failed"]
    assert [(end.rebuild_id, end.reason) for end in ends] == (
        [] if change == "end" else [(first.rebuild_id, "superseded")]
    )
    if change == "another":
        progress = await talked.get_rebuild("s")
        assert (progress.status, progress.rebuild_id == first.rebuild_id) == ("running", False)
        cancel_rebuilds(talked)
    else:
        cancel_rebuilds(talked)
        progress = await talked.get_rebuild("s")
        assert progress is None if change == "end" else progress.status == "failed"
        await talked.settle("s")


async def test_a_fork_takes_no_rebuild_over(talked: MemoryLedger) -> None:
    """R-RBD-4."""
    slow = Counting(waits_after=0)
    talked.set_summarizer("s", slow)
    asked = await talked.update_config("s", ROLLING, replace=True, rebuild=True)
    await slow.waiting.wait()
    await talked.fork("s", "f", version=asked.version)
    assert await talked.get_rebuild("f") is None
    await talked.restore("s", asked.version - 1)
    cancel_rebuilds(talked)


async def test_a_new_session_needs_no_rebuild(namespace: str) -> None:
    async with MemoryLedger.open(namespace=namespace, store=InMemoryStore()) as ledger:
        changed = await ledger.update_config("new", ROLLING, replace=True, rebuild=True)
        assert (changed.rebuild_id, changed.version, changed.config.window.type) == (None, 1, "rolling")


async def test_without_a_model_summaries_are_quotes(namespace: str) -> None:
    async with MemoryLedger.open(namespace=namespace, store=InMemoryStore(), config=SMALL) as ledger:
        await say(ledger, 1, 25)
        wanted = await ledger.what_if("s", ROLLING)
        await rebuild(ledger)
        live = (await ledger.get_state("s")).summaries.live
        assert [each.text for each in live] == [each.text for each in wanted.state.summaries.live]


async def test_texts_that_nobody_can_write_end_it_with_what_to_do(namespace: str) -> None:
    """The session's summaries are a model's, and this process has no model."""
    store = InMemoryStore()
    async with MemoryLedger.open(namespace=namespace, store=store, config=THRESHOLD, summarizer=Counting()) as ledger:
        await say(ledger, 1, 25)
    async with MemoryLedger.open(namespace=namespace, store=store) as ledger:
        await rebuild(ledger)
        progress = await ledger.get_rebuild("s")
        assert (progress.status, progress.reason) == ("failed", "error")
        assert "set a summarizer" in progress.detail


async def test_without_a_rebuild_old_and_new_summaries_never_exceed_the_limit(talked: MemoryLedger) -> None:
    """R-CFG-9: those of a strategy that is gone make room for those of the new one."""
    assert len((await talked.get_state("s")).summaries.live) == 4
    await talked.update_config("s", ROLLING, replace=True)
    for number in range(26, 40):
        live = (await talked.get_state("s")).summaries.live
        assert len(live) <= 3, f"before message {number}"
        await say(talked, number, number)
    assert [each.block.number for each in (await talked.get_state("s")).summaries.live] == [10, 11, 12]


async def test_without_a_rebuild_the_first_block_has_its_size(talked: MemoryLedger) -> None:
    """R-001-2: a block whose items have left is skipped, not joined with the next."""
    await talked.update_config("s", ROLLING, replace=True)
    await say(talked, 26, 29)
    blocks = [each.block for each in (await talked.get_state("s")).summaries.live if each.block]
    assert [(block.number, block.first_item, block.last_item) for block in blocks] == [
        (7, 20, 22),
        (8, 23, 25),
        (9, 26, 28),
    ]


NEURALYZER = {
    "window": {"type": "full"},
    "compactions": [{"type": "neuralyzer", "interaction_threshold_qty": 3, "interaction_keep": 1}],
}


async def test_search_finds_what_is_no_longer_erased(store: Store, namespace: str) -> None:
    """R-REC-4: an erased entry that a rebuild returns, or that a summary stands for now, is found again."""
    async with MemoryLedger.open(namespace=namespace, store=store, config=NEURALYZER, summarizer=Counting()) as ledger:
        for word in ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliet"):
            await ledger.add_user_message("s", f"the word is {word}", tokens=10)
            await ledger.add_assistant_message("s", "noted", tokens=10)
            await ledger.settle()
        assert [hit.text for hit in await ledger.search("alpha", session_id="s")] == []
        for config in ({"profile": "none"}, NEURALYZER, THRESHOLD):
            await ledger.update_config("s", config, replace=True, rebuild=True)
            await ledger.settle()
            wanted = [] if config is NEURALYZER else ["the word is alpha"]
            assert [hit.text for hit in await ledger.search("alpha", session_id="s") if hit.kind == "entry"] == wanted
        assert (await ledger.verify(caches=True)).findings == ()


async def test_what_became_of_entries_and_summaries_is_told(talked: MemoryLedger) -> None:
    (old, *_) = (await talked.get_state("s")).summaries.live
    before = (await talked.list_entries("s")).entries[0]
    assert (before.status, before.summary_ids) == ("covered", (old.summary_id,))
    await rebuild(talked)
    rebuilt = (await talked.get_state("s")).version
    rows = (await talked.list_entries("s")).entries
    assert {row.status for row in rows} == {"active"}
    record = await talked.get_entry("s", before.entry_id)
    assert (record.status, record.version) == ("active", before.version)
    summary = await talked.get_summary("s", old.summary_id)
    assert (summary.status, summary.ended_version) == ("retired", (await talked.get_rebuild("s")).ended_version)
    await talked.update_config("s", NEURALYZER, replace=True, rebuild=True)
    await talked.settle()
    rows = (await talked.list_entries("s")).entries
    assert [row.status for row in rows if row.status != "active"] == ["erased"] * (25 - len(await contents(talked)))
    assert all(row.left_version > rebuilt for row in rows if row.status == "erased")


async def test_a_rebuilt_session_is_exported_imported_and_forked_as_it_is(
    talked: MemoryLedger, store: Store, namespace: str
) -> None:
    await rebuild(talked)
    lines = [line async for line in talked.export_file("s")]
    async with MemoryLedger.open(namespace=f"{namespace}-copy", store=store) as copy:
        await copy.import_file(lambda: iter(lines))
        assert await shown(copy) == await shown(talked)
        assert (await copy.verify()).ok
    await talked.fork("s", "f")
    assert [each.text for each in (await talked.get_state("f")).summaries.live] == [
        each.text for each in (await talked.get_state("s")).summaries.live
    ]
    assert await talked.matches_replay("s")


async def test_going_back_to_blocks_leaves_no_summary_of_another_strategy(namespace: str) -> None:
    """R-CFG-9, http W-70: more summaries were live than the restored block leaves room for."""
    async with MemoryLedger.open(
        namespace=namespace, store=InMemoryStore(), config=ROLLING, summarizer=Counting()
    ) as ledger:
        await say(ledger, 1, 4)
        old, version = await shown(ledger), (await ledger.get_state("s")).version
        await ledger.update_config("s", THRESHOLD, replace=True)
        await say(ledger, 5, 40)
        assert len((await ledger.get_state("s")).summaries.live) > 3
        await ledger.restore("s", version)
        assert await shown(ledger) == old
