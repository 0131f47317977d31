"""Savers from any loop and thread, after a crash, and values that are hard to keep. Source: adapters LG-3, LG-11."""

import asyncio
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import UUID

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, MessagesState, StateGraph

from ledger.adapters.langgraph import LedgerSaver
from ledger.adapters.langgraph.keys import session_of, thread_of
from ledger.errors import InvalidInput, Unavailable
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.adapters.langgraph.graphs import agent
from tests.support.model_endpoint import Endpoint, says


def of(thread_id: str) -> Any:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}


def answering() -> StateGraph[Any]:
    graph = StateGraph(MessagesState)
    graph.add_node("answer", lambda state: {"messages": [AIMessage(content=f"answer {len(state['messages'])}")]})
    graph.add_edge(START, "answer")
    return graph


def test_a_graph_that_is_not_asynchronous_runs_in_several_threads__LG_11() -> None:
    """Source: adapters LG-8, LG-11."""
    with LedgerSaver.open(store=InMemoryStore()) as saver:
        graph = answering().compile(checkpointer=saver)
        threads = [
            Thread(target=graph.invoke, args=({"messages": [("user", "hi")]}, of(f"t{number}"))) for number in range(5)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number in range(5):
            assert [each.text for each in graph.get_state(of(f"t{number}")).values["messages"]] == ["hi", "answer 1"]
        assert len({each.config["configurable"]["thread_id"] for each in saver.list(None)}) == 5
    with pytest.raises(Unavailable):
        saver.get_tuple(of("t0"))


def test_a_saver_works_from_one_event_loop_after_another__LG_11() -> None:
    with LedgerSaver.open(store=InMemoryStore()) as saver:
        graph = answering().compile(checkpointer=saver)
        for _ in range(3):
            asyncio.run(graph.ainvoke({"messages": [("user", "hi")]}, of("t")))
        assert len(graph.get_state(of("t")).values["messages"]) == 6


async def test_a_given_ledger_has_no_methods_that_are_not_asynchronous() -> None:
    async with MemoryLedger.open(store=InMemoryStore()) as ledger:
        saver = LedgerSaver(ledger)
        assert await saver.aget_tuple(of("t")) is None
        with pytest.raises(InvalidInput, match="asynchronous"):
            saver.get_tuple(of("t"))


@pytest.mark.postgres
async def test_a_killed_process_is_resumed_by_another__LG_2(
    url: str, namespace: str, model: Endpoint, tmp_path: Path
) -> None:
    model.answers(says("CALL Paris"), says("Sunny in Paris."))
    file = tmp_path / "reached"
    command = [sys.executable, "-m", "tests.adapters.langgraph.crashing_process", url, namespace, model.url, str(file)]
    assert (await asyncio.to_thread(subprocess.run, command, check=False)).returncode == -9
    assert file.read_text() == "tool"
    async with LedgerSaver.open(url, namespace) as saver:
        graph = agent(model.url).compile(checkpointer=saver)
        await graph.ainvoke(None, of("t"))
        state = await graph.aget_state(of("t"))
    texts = [each.text for each in state.values["messages"]]
    assert texts == ["Weather in Paris?", "", "Paris: sunny", "Sunny in Paris."]
    async with MemoryLedger.open(url, namespace) as ledger:
        assert (await ledger.verify("t")).ok


async def test_encrypted_values_leave_no_text_in_the_log__LG_4() -> None:
    class Reversing:
        def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
            return "reversed", plaintext[::-1]

        def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
            return ciphertext[::-1]

    store = InMemoryStore()
    serde = EncryptedSerializer(Reversing(), JsonPlusSerializer())
    async with LedgerSaver.open(store=store, serde=serde) as saver:
        graph = answering().compile(checkpointer=saver)
        await graph.ainvoke({"messages": [("user", "a secret text")]}, of("t"))
        state = await graph.aget_state(of("t"))
        assert state.values["messages"][0].text == "a secret text"
    async with MemoryLedger.open(store=store) as ledger:
        assert await ledger.get_active_entries("t") == []
        log = [line async for line in ledger.export_file()]
        assert b"a secret text" not in b"".join(log)


async def test_hard_values_come_back_equal__LG_3() -> None:
    values = {
        "messages": [HumanMessage(content="x\x00y", id="1"), AIMessage(content="", id="2")]
        + [HumanMessage(content=f"message {number}", id=f"m{number}") for number in range(300)],
        "bytes": b"\x00" * 10_000,
        "set": {1, 2},
        "text": "long " * 1_000,
    }
    versions: Any = dict.fromkeys(values, "1")
    checkpoint: Any = {**empty_checkpoint(), "channel_values": values, "channel_versions": versions}
    async with LedgerSaver.open(store=InMemoryStore()) as saver:
        config = await saver.aput(of("a/b"), checkpoint, {"source": "input", "step": -1}, versions)
        found = await saver.aget_tuple(config)
        assert found is not None
        assert found.checkpoint["channel_values"] == values
        other = LedgerSaver(saver._opened)
        again = await other.aget_tuple(of("a/b"))
        assert again is not None
        assert again.checkpoint["channel_values"] == values
        assert again.config["configurable"]["thread_id"] == "a/b"


async def test_thousands_of_channels_and_deep_metadata_come_back_equal__LG_3() -> None:
    deep: Any = {}
    for _ in range(40):
        deep = {"messages": [HumanMessage("x", id="1")], "in": deep}
    many = {f"k{at}": at for at in range(3_000)}
    values: Any = {**many, "k" * 300: 1, "__start__": {**deep, **many}, "long": {**deep, "k" * 300: 1}}
    versions: Any = dict.fromkeys(values, "1")
    seen = {f"node {at}": {"k0": "1"} for at in range(3_000)}
    checkpoint: Any = {
        **empty_checkpoint(),
        "channel_values": values,
        "channel_versions": versions,
        "versions_seen": seen,
    }
    plain: Any = {}
    for _ in range(40):
        plain = {"in": plain}
    metadata: Any = {"step": 1, "deep": plain, "many": many, "k" * 300: 1}
    async with LedgerSaver.open(store=InMemoryStore()) as saver:
        for at in range(2):
            config = await saver.aput(of("t"), {**checkpoint, "id": f"{at:036}"}, metadata, versions)
            await saver.aput_writes(config, [("long", deep), ("many", {**many, **deep})], "task")
        await saver.aprune(["t"])
        for reader in (saver, LedgerSaver(saver._opened)):
            found = await reader.aget_tuple(of("t"))
            assert found is not None
            assert found.checkpoint["channel_values"] == values
            assert found.checkpoint["channel_versions"] == versions
            assert found.checkpoint["versions_seen"] == seen
            assert found.metadata == metadata
            assert found.pending_writes == [("task", "long", deep), ("task", "many", {**many, **deep})]


async def test_long_names_of_tools_and_calls_come_back_equal__LG_4() -> None:
    name = "\U0001f50d" * 250
    call: Any = {"name": name, "args": {}, "id": name}
    said = [
        AIMessage("", id="1", tool_calls=[call], invalid_tool_calls=[{**call, "args": "{", "error": None}]),
        ToolMessage("sunny", name=name, tool_call_id=name, id="2"),
    ]
    checkpoint: Any = {
        **empty_checkpoint(),
        "channel_values": {"messages": said},
        "channel_versions": {"messages": "1"},
    }
    async with LedgerSaver.open(store=InMemoryStore()) as saver:
        config = await saver.aput(of("t"), checkpoint, {}, {"messages": "1"})
        found = await saver.aget_tuple(config)
        assert found is not None
        assert found.checkpoint["channel_values"] == {"messages": said}


@pytest.mark.parametrize(
    ("thread_id", "session_id"),
    [("user/42", "~user%2F42"), ("~x", "~%7Ex"), (" a", "~%20a"), ("", "~"), ("a b", "a b")],
)
def test_a_thread_is_a_session_by_its_name__LG_1(thread_id: str, session_id: str) -> None:
    assert session_of(thread_id) == session_id
    assert thread_of(session_id, "") == thread_id


@pytest.mark.parametrize("thread_id", [7, UUID(int=7)])
async def test_a_thread_whose_id_is_no_text_can_be_copied_pruned_and_deleted__LG_9(thread_id: Any) -> None:
    async with LedgerSaver.open(store=InMemoryStore()) as saver:
        for at in range(2):
            await saver.aput(of(thread_id), {**empty_checkpoint(), "id": f"{at:036}"}, {}, {})
        await saver.acopy_thread(thread_id, "copy")
        await saver.aprune([thread_id])
        assert [each.checkpoint["id"] async for each in saver.alist(of(thread_id))] == [f"{1:036}"]
        assert len([each async for each in saver.alist(of("copy"))]) == 2
        assert await saver.aconfig_at(thread_id) is not None
        await saver.adelete_thread(thread_id)
        assert await saver.aget_tuple(of(thread_id)) is None


def test_a_long_id_is_a_digest__LG_1() -> None:
    assert session_of("x" * 300).startswith("~~0d4e2ca9")
    assert thread_of(session_of("x" * 300), "x" * 300) == "x" * 300
