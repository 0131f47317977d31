"""Agents that work with a service for a long time, and what is measured meanwhile. Source: trust P-13."""

import asyncio
import random
import statistics
import time
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

import httpx
import psutil
import psycopg

#: Tables below this size are not judged: their first pages weigh more than what they hold.
SMALL_BYTES: Final = 2 << 20

_TABLES: Final = """
    SELECT relname, pg_total_relation_size(oid) FROM pg_class
    WHERE relnamespace = 'ledger'::regnamespace AND relkind IN ('r', 'p') ORDER BY relname
"""


@dataclass
class Acknowledged:
    """What the service confirmed: ids of entries by session, and ids of records."""

    entries: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    records: list[str] = field(default_factory=list)


class Agent:
    """One agent: writes, reads, searches and forks by both APIs until it is cancelled.

    After *turns* with one session it begins another: sessions stay as long as they are.
    """

    def __init__(self, url: str, name: str, seed: int, turns: int) -> None:
        self._http = httpx.AsyncClient(base_url=url, timeout=60)
        self._name = name
        self._turns = turns
        self._random = random.Random(f"{seed}-{name}")
        self.acknowledged = Acknowledged()
        self.took: dict[str, list[float]] = defaultdict(list)
        self.refused = 0

    async def run(self) -> None:
        """Talk in one session after the other."""
        async with self._http:
            for number in count():
                await self._talk(f"{self._name}-{number}")

    async def _talk(self, session: str) -> None:
        path = f"/v1/sessions/{session}"
        config = {"strategy": "token_threshold", "max_entries": 30, "recent_window": 6}
        await self._ask("config", "PUT", f"{path}/config", json={"config": {"compactions": [_typed(config)]}})
        for turn in range(self._turns):
            await self._add(session, turn)
            await self._read(session, turn)
        await self._ask("fork", "POST", f"{path}/fork", json={"session_id": f"{session}-f"})
        await self._add(f"{session}-f", self._turns)
        await self._put(f"{session}-w")
        if self._random.random() < 0.3:
            await self._ask("delete", "DELETE", f"/v1/working-memory/{session}-w")

    async def _add(self, session: str, turn: int) -> None:
        ids = [f"{session}-{turn}-{role}" for role in ("user", "assistant")]
        entries = [
            {"entry_id": name, "role": role, "content": f"{role} {turn} says {self._words()} {session}"}
            for name, role in zip(ids, ("user", "assistant"), strict=True)
        ]
        body, key = {"entries": entries}, {"Idempotency-Key": f"{session}-{turn}"}
        await self._ask("add", "POST", f"/v1/sessions/{session}/entries", json=body, headers=key)
        self.acknowledged.entries[session] += ids

    async def _read(self, session: str, turn: int) -> None:
        path, kind = f"/v1/sessions/{session}", turn % 8
        if kind < 4:
            await self._ask("context", "GET", f"{path}/context")
        elif kind == 4:
            await self._ask("search", "POST", "/v1/search", json={"query": session, "session_id": session})
        elif kind == 5:
            await self._ask("listing", "GET", "/v1/sessions", params={"limit": 20})
        elif kind == 6:
            record = {"id": f"{session}-{turn}", "text": f"{session} likes {self._words()}"}
            await self._ask("record", "POST", "/v1/long-term-memory/", json={"memories": [record]})
            self.acknowledged.records.append(record["id"])
        else:
            await self._ask("records", "POST", "/v1/long-term-memory/search", json={"text": session, "limit": 5})

    async def _put(self, session: str) -> None:
        ids = [f"{session}-{number}" for number in range(4)]
        messages = [
            {"id": name, "role": "user", "content": self._words(), "created_at": "2026-01-01T00:00:00Z"} for name in ids
        ]
        memory = {"id": f"{session}-m", "text": f"a memory of {session}", "memory_type": "semantic"}
        body = {"messages": messages, "memories": [memory]}
        await self._ask("put", "PUT", f"/v1/working-memory/{session}", json=body)
        self.acknowledged.entries[session] += ids

    async def _ask(self, kind: str, method: str, path: str, **sent: Any) -> None:
        began = time.perf_counter()
        while True:
            answer = await self._http.request(method, path, **sent)
            if answer.status_code not in {429, 503}:
                break
            self.refused += 1
            await asyncio.sleep(0.1)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        self.took[kind].append(time.perf_counter() - began)

    def _words(self) -> str:
        return " ".join(f"word{self._random.randint(0, 5_000)}" for _ in range(12))


def _typed(config: dict[str, Any]) -> dict[str, Any]:
    return {"type": config.pop("strategy"), **config}


@dataclass(frozen=True)
class Moment:
    """What was measured at a moment.

    Attributes:
        rss: bytes of memory of the service's processes together.
        handles: their open file descriptors.
        events: how many the log holds.
        tables: bytes of each table with its indexes.
        latency: the median of each kind of request since the moment before, in seconds.
    """

    rss: int
    handles: int
    events: int
    tables: dict[str, int]
    latency: dict[str, float]


def measure(service: psutil.Process, database: psycopg.Connection[Any], agents: list[Agent]) -> Moment:
    """Measure now, and begin the agents' latencies anew."""
    processes = [service, *service.children(recursive=True)]
    took: dict[str, list[float]] = defaultdict(list)
    for agent in agents:
        for kind, seconds in agent.took.items():
            took[kind] += seconds
        agent.took.clear()
    return Moment(
        rss=sum(each.memory_info().rss for each in processes),
        handles=sum(each.num_fds() for each in processes),
        events=database.execute("SELECT count(*) FROM ledger.events").fetchall()[0][0],
        tables=dict(database.execute(_TABLES).fetchall()),
        latency={kind: statistics.median(seconds) for kind, seconds in took.items()},
    )


def drift(early: Moment, late: Moment) -> list[str]:
    """Say what grew between two moments by more than the log did; nothing if all is well."""
    found = []
    if late.rss > early.rss * 1.3 + (64 << 20):
        found.append(f"memory went from {early.rss >> 20} to {late.rss >> 20} MiB")
    if late.handles > early.handles + 32:
        found.append(f"file descriptors went from {early.handles} to {late.handles}")
    for table, size in late.tables.items():
        before = max(early.tables.get(table, 0), SMALL_BYTES)
        if size / late.events > 1.5 * before / early.events and size > 2 * SMALL_BYTES:
            found.append(f"{table} went from {before} to {size} bytes, faster than the log")
    for kind, seconds in late.latency.items():
        if seconds > 3 * early.latency.get(kind, seconds) + 0.02:
            found.append(f"{kind} took {early.latency[kind]:.4f} s, then {seconds:.4f} s")
    return found
