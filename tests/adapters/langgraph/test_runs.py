"""Threads are found by the runs of graphs in them, for one event a run. Source: adapters LF-7, LG-9."""

from typing import Any

import pytest

from ledger.adapters.langgraph import LedgerSaver
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.adapters.langgraph.test_put_cost import graph_with
from tests.support.counting_store import CountingStore
from tests.support.ledgers import ledger_over


async def ask(saver: LedgerSaver, thread_id: str, run_id: Any = None) -> None:
    config: Any = {"configurable": {"thread_id": thread_id}}
    if run_id is not None:
        config["metadata"] = {"run_id": run_id}
    await graph_with(saver).ainvoke({"messages": [("user", "hello")]}, config)


async def runs_in(saver: LedgerSaver, thread_id: str) -> list[Any]:
    config: Any = {"configurable": {"thread_id": thread_id}}
    return [each.metadata.get("run_id") async for each in saver.alist(config)]


async def found(ledger: MemoryLedger, run_id: str) -> set[str]:
    return {row.session_id for row in await ledger.list_sessions(run_id=run_id)}


async def notes(ledger: MemoryLedger, thread_id: str) -> list[str]:
    return [each.key for each in await ledger.list_kept(thread_id, "runs", every=True)]


async def test_threads_are_found_by_their_runs__LF_7() -> None:
    ledger = ledger_over(InMemoryStore())
    saver = LedgerSaver(ledger)
    await ask(saver, "one", "r-1")
    await ask(saver, "one", "r-2")
    await ask(saver, "two", "r-2")
    await ask(saver, "two")
    assert (await found(ledger, "r-1"), await found(ledger, "r-2")) == ({"one"}, {"one", "two"})
    listed = [each.config["configurable"]["thread_id"] async for each in saver.alist(None, filter={"run_id": "r-1"})]
    assert listed == ["one"] * 3


async def test_a_run_costs_a_thread_one_event__LF_7() -> None:
    """A turn writes three checkpoints; the next one of the run, of this process or of another, adds no note."""
    ledger = ledger_over(InMemoryStore())
    saver = LedgerSaver(ledger)
    await ask(saver, "t", "r-1")
    await ask(saver, "t", "r-1")
    await ask(LedgerSaver(ledger), "t", "r-1")
    assert await notes(ledger, "t") == ["r-1"]
    await ask(saver, "t", "r-2")
    await ask(saver, "t")
    assert await notes(ledger, "t") == ["r-1", "r-2"], "control: another run has its own"
    await saver.adelete_thread("t")
    await ask(saver, "t", "r-2")
    assert await notes(ledger, "t") == ["r-2"], "a new life has it again"


async def test_deleting_runs_reads_their_threads_only__LG_9() -> None:
    store: Any = CountingStore(InMemoryStore())
    ledger = ledger_over(store)
    saver = LedgerSaver(ledger)
    calls = []
    for others in (1, 20):
        for number in range(others):
            await ask(saver, f"{others}-{number}", f"other {others}-{number}")
        await ask(saver, f"mine {others}", "r")
        await ledger.list_sessions()
        store.reset()
        await saver.adelete_for_runs(["r", "nobody's"])
        calls.append([call for call in store.calls if call.startswith("read_kept")])
        assert await runs_in(saver, f"mine {others}") == []
        assert len(await runs_in(saver, f"{others}-0")) == 3, "control: other runs stay"
    assert calls[0]
    assert len(calls[1]) <= 2 * len(calls[0]), "the thread of before is looked at again"


async def test_runs_of_a_copy_are_deleted_too__LG_9() -> None:
    ledger = ledger_over(InMemoryStore())
    saver = LedgerSaver(ledger)
    await ask(saver, "t", "r-1")
    await saver.acopy_thread("t", "copy")
    await ask(saver, "t", "r-2")
    await ask(saver, "copy", "r-3")
    await saver.adelete_for_runs(["r-1", "r-2"])
    assert await runs_in(saver, "t") == []
    assert await runs_in(saver, "copy") == ["r-3"] * 3


async def test_a_copy_with_a_long_id_is_listed_and_its_runs_are_deleted__LG_9() -> None:
    saver = LedgerSaver(ledger_over(InMemoryStore()))
    await ask(saver, "t", "r-1")
    await ask(saver, "t", "r-2")
    copy = "x" * 300
    await saver.acopy_thread("t", copy)
    await saver.adelete_thread("t")
    assert {each.config["configurable"]["thread_id"] async for each in saver.alist(None)} == {copy}
    await saver.adelete_for_runs(["r-2"])
    assert await runs_in(saver, copy) == ["r-1"] * 3


@pytest.mark.parametrize("run_id", ["x" * 1_000, "a\nb", "é" * 300, "~x", "a/b"])
async def test_any_text_may_be_the_id_of_a_run(run_id: str) -> None:
    saver = LedgerSaver(ledger_over(InMemoryStore()))
    await ask(saver, "t", run_id)
    await ask(saver, "t", "other")
    await saver.adelete_for_runs([run_id])
    assert await runs_in(saver, "t") == ["other"] * 3


async def test_the_id_of_a_run_that_is_no_text_finds_nothing() -> None:
    saver = LedgerSaver(ledger_over(InMemoryStore()))
    await ask(saver, "t", 5)
    await saver.adelete_for_runs(["5"])
    assert await runs_in(saver, "t") == [5] * 3
