"""Pruning, and what old threads and delta channels need of it. Source: adapters LG-7, LG-9."""

from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import START, StateGraph

from ledger.adapters.langgraph import LedgerSaver
from ledger.adapters.langgraph.checkpoint_removal import Removals
from ledger.application.reading import key_value_reads
from ledger.memory import MemoryLedger


def of(thread_id: str, **more: str) -> Any:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": "", **more}}


async def put(saver: LedgerSaver, after: Any, number: int, more: Any = None, **values: Any) -> Any:
    versions: Any = dict.fromkeys(values, str(number))
    checkpoint: Any = {**empty_checkpoint(), "id": f"{number:04}"}
    checkpoint |= {"channel_values": values, "channel_versions": versions}
    metadata: Any = {"source": "loop", "step": number, "parents": {}, **(more or {})}
    return await saver.aput(after, checkpoint, metadata, versions)


async def ids(saver: LedgerSaver, thread_id: str) -> list[str]:
    return [each.checkpoint["id"] async for each in saver.alist(of(thread_id))]


@pytest.mark.parametrize("seed", [42, "x", 3.5, True, None, [1], {"a": None}])
async def test_any_stored_value_begins_the_history_of_a_delta_channel__LG_7(saver: LedgerSaver, seed: Any) -> None:
    first = await put(saver, of("t"), 1, items=seed)
    await saver.aput_writes(first, [("items", "w1")], "task")
    second = await put(saver, first, 2)
    await saver.aput_writes(second, [("items", "w2")], "task")
    third = await put(saver, second, 3)
    found = await saver.aget_delta_channel_history(config=third, channels=["items"])
    assert found["items"] == {"writes": [("task", "items", "w1"), ("task", "items", "w2")], "seed": seed}


async def test_a_graph_with_a_delta_channel_goes_on_after_pruning__LG_9(
    saver: LedgerSaver, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Notes(TypedDict):
        notes: Annotated[
            list[int],
            DeltaChannel(lambda before, new: before + [each for part in new for each in part], snapshot_frequency=5),
        ]

    builder = StateGraph(Notes)
    builder.add_node("note", lambda state: {"notes": [len(state["notes"])]})
    builder.add_edge(START, "note")
    graph = builder.compile(checkpointer=saver)
    for _ in range(4):
        await graph.ainvoke({"notes": [-1]}, of("t"))
        await saver.aprune(["t"])
    assert (await graph.aget_state(of("t"))).values == {"notes": [-1, 1, -1, 3, -1, 5, -1, 7]}

    async def only_the_newest(self: Any, ledger: Any, places: dict[Any, Any], new: Any) -> set[Any]:
        return {next(iter(places))}

    monkeypatch.setattr(Removals, "_needed", only_the_newest)  # the control
    await saver.aprune(["t"])
    assert (await graph.aget_state(of("t"))).values != {"notes": [-1, 1, -1, 3, -1, 5, -1, 7]}


async def test_what_is_written_while_a_thread_is_pruned_stays__LG_9(
    saver: LedgerSaver, own_ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await put(saver, of("t"), 1, a=[1])
    second = await put(saver, first, 2, a=[1, 2])
    keep, other, meanwhile = MemoryLedger.keep, LedgerSaver(own_ledger), [3, 4]

    async def keep_later(ledger: MemoryLedger, session: str, values: Any, **options: Any) -> Any:
        if meanwhile and any("removed" in value for value in values):
            number = meanwhile.pop(0)
            await put(other, second, number, a=[number])
        return await keep(ledger, session, values, **options)

    monkeypatch.setattr(MemoryLedger, "keep", keep_later)
    await saver.aprune(["t"])
    assert await ids(saver, "t") == ["0004", "0003", "0002"]
    pruned = await saver.aget_tuple(second)
    assert pruned is not None
    assert pruned.parent_config is None
    assert (await own_ledger.verify("t")).ok


@pytest.mark.parametrize("is_guarded", [True, False])
async def test_a_delta_channel_that_begins_while_a_thread_is_pruned_has_its_history__LG_9(
    saver: LedgerSaver, own_ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch, is_guarded: bool
) -> None:
    second = await put(saver, await put(saver, of("t"), 1, items=[1]), 2)
    keep, other, stored = MemoryLedger.keep, LedgerSaver(own_ledger), []

    async def keep_later(ledger: MemoryLedger, session: str, values: Any, **options: Any) -> Any:
        if not stored and any("removed" in value for value in values):
            stored.append(second)
            stored[0] = await put(other, second, 3, {"counters_since_delta_snapshot": {"items": [1, 1]}})
        if not is_guarded:  # the control
            options.pop("expected_version", None)
        return await keep(ledger, session, values, **options)

    monkeypatch.setattr(MemoryLedger, "keep", keep_later)
    await saver.aprune(["t"])
    found = await saver.aget_delta_channel_history(config=stored[0], channels=["items"])
    assert ("seed" in found["items"]) == is_guarded


async def test_a_pruned_thread_reads_as_before_at_an_earlier_version__LG_10(saver: LedgerSaver) -> None:
    config = of("t")
    for number in range(1, 4):
        config = await put(saver, config, number, a=[number])
    version = await saver.aversion_of(of("t", checkpoint_id="0002"))
    await saver.aprune(["t", "unknown"])
    assert await ids(saver, "t") == ["0003"]
    assert await saver.aconfig_at("t", version=version) == of("t", checkpoint_id="0002")


async def test_pruning_refuses_what_it_does_not_know__LG_9(saver: LedgerSaver) -> None:
    await put(saver, await put(saver, of("t"), 1, a=[1]), 2, a=[2])
    with pytest.raises(ValueError, match="keep_all"):
        await saver.aprune(["t"], strategy="keep_all")
    with pytest.raises(TypeError, match="not a str"):
        await saver.aprune("t")
    assert await ids(saver, "t") == ["0002", "0001"]


async def test_the_writes_of_any_number_of_tasks_are_read_and_hidden__LG_9(
    saver: LedgerSaver, own_ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await put(saver, of("t"), 1)
    for task in range(102):
        await saver.aput_writes(first, [("items", task)], f"task {task}")
    monkeypatch.setattr(key_value_reads, "_MOST", 100)
    cold = LedgerSaver(own_ledger)
    found = [await cold.aget_tuple(of("t")), *[each async for each in cold.alist(of("t"))]]
    assert [len(each.pending_writes or ()) for each in found if each is not None] == [102, 102]
    await put(saver, first, 2)
    await saver.aprune(["t"])
    assert await own_ledger.list_kept("t", "writes") == []
