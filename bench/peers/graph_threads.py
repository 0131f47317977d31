"""Checkpoint savers of LangGraph: speed at two lengths, threads at once, bytes. Source: adapters LG-12, LG-13."""

import asyncio
import time
from copy import copy
from typing import Any, Final

import psycopg
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from psycopg import sql
from psycopg.rows import dict_row

from bench.measure import Median, Work, latencies, ratio
from bench.peers.ours import connection_pool
from ledger.adapters.langgraph import LedgerSaver
from ledger.memory import MemoryLedger

_TEXT: Final = "x" * 420
_LENGTHS: Final = {50: 1.2, 500: 0.7}
_SIZES: Final = (50, 200, 1_000)
_MESSAGES: Final = 1_000  # in all threads of a size, so that half-filled pages count little
_THREADS: Final = 50
_FORMAT: Final = 4  # of checkpoints that graphs write; of an older one both savers look for what its parent sends


async def measure(urls: Any, quick: bool) -> dict[str, tuple[float, float | None]]:
    """Return the ratios, and our bytes and events per message."""
    found: dict[str, tuple[float, float | None]] = {}
    async with (
        MemoryLedger.open(urls.ours) as ledger,
        connection_pool(urls.other, prepare_threshold=0, row_factory=dict_row) as pool,
    ):
        other = AsyncPostgresSaver(pool)
        await other.setup()
        savers = {"ours": LedgerSaver(ledger), "other": other}
        await _bytes(savers, ledger, urls, 20, threads=1)  # the first pages of every index are no part of a message
        for count in _SIZES[: 1 if quick else None]:
            ours, theirs, events = await _bytes(savers, ledger, urls, count, threads=1 if quick else _MESSAGES // count)
            found[f"bytes for each of {count:,} messages"] = (ours / theirs, None)
            found[f"bytes for each of {count:,} messages, ours"] = (ours, 6_144)
            found[f"events for each of {count:,} messages"] = (events, 4)
        for length, goal in _LENGTHS.items():
            heads = {who: await _thread_of(saver, f"t{length}", length) for who, saver in savers.items()}
            rounds, each = (1, 3) if quick else (5, 15)
            puts: dict[str, Work] = {who: _put(savers[who], heads[who]) for who in savers}
            found[f"`aput` at {length} messages"] = (
                ratio(await latencies(puts, rounds=rounds, each=each), "ours", "other"),
                goal,
            )
            gets: dict[str, Work] = {who: _get(savers[who], f"t{length}") for who in savers}
            get = ratio(await latencies(gets, rounds=rounds, each=each), "ours", "other")
            found[f"`aget_tuple` at {length} messages"] = (get, goal)
        found[f"{_THREADS} threads at once, throughput"] = (await _throughput(savers, quick), 1.0)
    return found


def _graph(saver: Any) -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("chat", lambda state: {"messages": [AIMessage(_TEXT)]})
    graph.add_edge(START, "chat")
    graph.add_edge("chat", END)
    return graph.compile(checkpointer=saver)


def _config(thread: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}


async def _thread_of(saver: Any, thread: str, length: int) -> list[Any]:
    """Write a thread of one checkpoint with *length* messages; return its config and checkpoint, to go on from."""
    messages: list[Any] = [(HumanMessage, AIMessage)[at % 2](_TEXT, id=f"{thread}-{at}") for at in range(length)]
    checkpoint = {**empty_checkpoint(), "v": _FORMAT}
    version = saver.get_next_version(None, None)
    checkpoint["channel_values"] = {"messages": messages}
    checkpoint["channel_versions"] = {"messages": version}
    config = await saver.aput(_config(thread), checkpoint, {"source": "loop", "step": 0}, {"messages": version})
    return [config, checkpoint]


def _put(saver: Any, head: list[Any]) -> Work:
    """Return what adds one message to the thread, as a step of a graph does."""

    def prepared() -> Any:
        config, before = head
        checkpoint = copy(before)
        checkpoint["id"] = str(uuid6(clock_seq=-1))
        version = saver.get_next_version(before["channel_versions"]["messages"], None)
        said = before["channel_values"]["messages"]
        checkpoint["channel_values"] = {"messages": [*said, AIMessage(_TEXT, id=checkpoint["id"])]}
        checkpoint["channel_versions"] = {"messages": version}
        return _put_one(saver, head, config, checkpoint, version)

    return prepared


async def _put_one(saver: Any, head: list[Any], config: Any, checkpoint: Any, version: Any) -> None:
    head[:] = [await saver.aput(config, checkpoint, {"source": "loop", "step": 1}, {"messages": version}), checkpoint]


def _get(saver: Any, thread: str) -> Work:
    return lambda: saver.aget_tuple(_config(thread))


async def _throughput(savers: dict[str, Any], quick: bool) -> float:
    """Return our throughput divided by the other's, for threads that each run a graph several times."""
    seconds: dict[str, list[float]] = {who: [] for who in savers}
    turns = 1 if quick else 5
    for attempt in range(1 if quick else 5):
        for who in sorted(savers, reverse=bool(attempt % 2)):
            graph = _graph(savers[who])

            async def run(thread: str, graph: Any = graph) -> None:
                for _ in range(turns):
                    await graph.ainvoke({"messages": [HumanMessage(_TEXT)]}, _config(thread))

            begun = time.perf_counter()
            await asyncio.gather(*(run(f"{attempt}-{number}") for number in range(_THREADS)))
            seconds[who].append(time.perf_counter() - begun)
    return Median.of(other / ours for ours, other in zip(seconds["ours"], seconds["other"], strict=True))


async def _bytes(
    savers: dict[str, Any], ledger: MemoryLedger, urls: Any, count: int, *, threads: int
) -> tuple[float, float, float]:
    """Return bytes on disk for each message of threads with *count*, ours and the other's, and our events for each."""
    names = [f"size-{count}-{number}" for number in range(threads)]
    found = {}
    places = {"ours": urls.ours_as_owner, "other": urls.other}
    for who, saver in savers.items():
        graph, before = _graph(saver), _size(places[who])
        for name in names:
            for _ in range(count // 2):
                await graph.ainvoke({"messages": [HumanMessage(_TEXT)]}, _config(name))
        found[who] = (_size(places[who]) - before) / (count * threads)
    events = sum([(await ledger.get_state(name)).version for name in names])
    return found["ours"], found["other"], events / (count * threads)


def _size(url: str) -> int:
    """Return the bytes of all tables with their indexes, after a vacuum."""
    total = 0
    with psycopg.connect(url, autocommit=True) as connection:
        tables = connection.execute(
            "SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        for schema, table in tables:
            name = sql.Identifier(schema, table)
            connection.execute(sql.SQL("VACUUM {}").format(name))
            row = connection.execute("SELECT pg_total_relation_size(%s::regclass)", [name.as_string()]).fetchone()
            assert row is not None
            total += row[0]
    return total
