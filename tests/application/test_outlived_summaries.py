"""An entry outlives the summary that stood for it: it stays covered, also where the session goes on elsewhere."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from ledger.errors import InvalidInput
from ledger.memory import MemoryLedger
from ledger.ports import Store

COVERING = {"type": "token_threshold", "max_tokens": 100_000, "recent_window": 0, "min_entries_to_compress": 1}
BLOCKS = {"type": "rolling_blocks", "size": 2, "unit": "entry", "max_summaries": 1}
ERASING = {"type": "neuralyzer", "interaction_threshold_qty": 3, "interaction_keep": 1}
RECALL = {"type": "recall", "max_tokens": 200}


def config(*compactions: dict[str, Any]) -> dict[str, Any]:
    return {"window": RECALL, "compactions": list(compactions)}


async def say(ledger: MemoryLedger, *texts: str) -> None:
    for text in texts:
        await ledger.add_user_message("s", text, tokens=10)
        await ledger.add_assistant_message("s", "ok", tokens=10)
        await ledger.settle()


@pytest.fixture
async def ledger(store: Store, namespace: str) -> AsyncIterator[MemoryLedger]:
    """Open a session with an entry whose summary was evicted, because those of another strategy took its place."""
    async with MemoryLedger.open(
        namespace=namespace, store=store, config=config(COVERING), summarizer=lambda _: "Some."
    ) as opened:
        await say(opened, "the walnut is in the drawer")
        await opened.compress("s", force=True)
        await opened.update_config("s", config(BLOCKS), replace=True)
        await say(opened, "one", "two", "three", "four", "five")
        state = await opened.get_state("s")
        assert [summary.key for summary in state.summaries.live] == ["rolling_blocks"]
        yield opened


async def statuses(ledger: MemoryLedger, session: str) -> list[str]:
    return [entry.status for entry in (await ledger.list_entries(session)).entries]


async def recalled(ledger: MemoryLedger, session: str) -> str:
    return (await ledger.get_context(session, query="walnut")).text


async def test_its_state_can_be_imported(ledger: MemoryLedger) -> None:
    """R-000-15: it is found as before."""
    exported = await ledger.export_session("s")
    await ledger.import_session("t", exported)
    assert await statuses(ledger, "t") == await statuses(ledger, "s")
    assert "the walnut is in the drawer" in await recalled(ledger, "s")
    assert await recalled(ledger, "t") == await recalled(ledger, "s")
    assert [hit.text for hit in await ledger.search("walnut", session_id="t")] == ["the walnut is in the drawer"]
    again = await ledger.export_session("t")  # its config counts nothing, so it has no continuation
    assert (again["entries"], again["summaries"]) == (exported["entries"], exported["summaries"])


async def test_its_fate_tells_that_it_was_covered_not_erased(ledger: MemoryLedger) -> None:
    exported = await ledger.export_session("s")
    imported = await ledger.import_session("t", exported)
    fate = (await ledger.get_entry("t", exported["entries"][0]["id"], version=imported.version)).fate
    assert fate is not None
    assert (fate.status, fate.summary_id) == ("covered", None)
    assert fate.sentence.endswith("its summary was gone by then.")


async def test_it_can_be_restored(ledger: MemoryLedger) -> None:
    """R-CMP-12."""
    before, version = await recalled(ledger, "s"), (await ledger.get_state("s")).version
    was = await statuses(ledger, "s")
    await ledger.clear_session("s")
    await ledger.restore("s", version)
    assert await recalled(ledger, "s") == before
    assert [status for status in await statuses(ledger, "s") if status != "cleared"] == was


async def test_what_was_erased_comes_back_as_erased(ledger: MemoryLedger) -> None:
    """The control: both, in one session."""
    await ledger.update_config("s", config(ERASING), replace=True)
    await say(ledger, "six", "seven", "eight")
    was = await statuses(ledger, "s")
    assert {"covered", "erased"} <= set(was)
    exported = await ledger.export_session("s")
    await ledger.import_session("t", exported)
    assert await statuses(ledger, "t") == was
    version = (await ledger.get_state("s")).version
    await ledger.clear_session("s")
    await ledger.restore("s", version)
    assert [status for status in await statuses(ledger, "s") if status != "cleared"] == was


async def test_what_is_shown_was_not_erased(ledger: MemoryLedger) -> None:
    exported = await ledger.export_session("s")
    shown = [{**entry, "erased": True} for entry in exported["entries"]]
    with pytest.raises(InvalidInput) as refused:
        await ledger.import_session("t", {**exported, "entries": shown})
    assert (refused.value.code, refused.value.field) == ("inconsistent", "entries[2].erased")
