"""Many agents work for a long time: nothing is lost, doubled, stuck or unbounded. Source: trust P-13."""

import asyncio
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest

from tests.support.databases import Server
from tests.support.http_client import JSON
from tests.support.model_endpoint import Endpoint, says
from tests.support.model_endpoint import serving as model_endpoint
from tests.support.patience import within
from tests.support.service_process import ServiceProcess
from tests.support.soak import Agent, Moment, drift, measure

pytestmark = pytest.mark.postgres

SETTLED_S = 60.0
MANY_REFUSALS = 0.01


@contextmanager
def serving(folder: Path, server: Server, database: str, endpoint: Endpoint) -> Iterator[ServiceProcess]:
    environment = {
        "MEMORY_LEDGER_SUMMARIZER_BASE_URL": endpoint.url,
        "OPENAI_API_KEY": "none",
        "EXTRACTION_DEBOUNCE_SECONDS": "1",
        "MEMORY_LEDGER_METRICS": "true",
    }
    with server.login("ledger_app") as login:
        process = ServiceProcess(folder, server.url_of(login, database), **environment)
        try:
            process.wait_until_it_serves()
            yield process
        finally:
            process.process.terminate()
            process.process.wait(30)


async def worked(
    process: ServiceProcess,
    database: psycopg.Connection[tuple[object, ...]],
    seed: int,
    *,
    agents: int,
    seconds: float,
    turns: int,
) -> tuple[list[Agent], list[Moment]]:
    """Let agents work for three times *seconds*; return them and what was measured after each."""
    crew = [Agent(process.url, f"agent{number}", seed, turns) for number in range(agents)]
    tasks = [asyncio.create_task(agent.run()) for agent in crew]
    moments, service = [], psutil.Process(process.process.pid)
    try:
        for _ in range(3):
            await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            ended = [task.exception() for task in tasks if task.done()]
            assert not ended, ended
            moments.append(await asyncio.to_thread(measure, service, database, crew))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return crew, moments


def stored_ids(client: httpx.Client, session: str) -> Counter[str]:
    """Return how often each entry id was added to *session*, by its log."""
    ids: Counter[str] = Counter()
    after: int | None = 0
    while after is not None:
        answer = client.get(f"/v1/sessions/{session}/events", params={"after_version": after, "limit": 1000})
        assert answer.is_success, answer.text
        page = answer.json()
        ids.update(event["payload"]["entry_id"] for event in page["events"] if event["type"] == "entry.added")
        after = page["next_after"]
    return ids


def losses(stored: Counter[str], acknowledged: list[str]) -> list[str]:
    """Return which acknowledged ids are not stored exactly once."""
    return [f"{name} is stored {stored[name]} times" for name in acknowledged if stored[name] != 1]


async def settled(client: httpx.AsyncClient) -> None:
    """Wait until no job waits, and none failed for ever."""
    end = asyncio.get_running_loop().time() + within(SETTLED_S)
    while True:
        metrics = (await client.get("/metrics")).text
        waiting = re.findall(r"^(memory_ledger_jobs_(?:due|dead)\S*) (\S+)$", metrics, re.MULTILINE)
        assert waiting, metrics
        if not any(float(number) for _, number in waiting):
            return
        assert asyncio.get_running_loop().time() < end, f"jobs are stuck: {waiting}"
        await asyncio.sleep(0.2)


async def soak(
    folder: Path, server: Server, database: str, seed: int, *, agents: int, seconds: float, turns: int
) -> None:
    """Let agents work, then check everything that they were told."""
    with (
        model_endpoint() as endpoint,
        serving(folder, server, database, endpoint) as process,
        server.superuser(database) as mighty,
    ):
        endpoint.answers(says('{"memories": []}'))
        crew, moments = await worked(process, mighty, seed, agents=agents, seconds=seconds, turns=turns)
        for moment in moments:
            print(moment)
        last = moments[-1] if seconds >= 60 else replace(moments[-1], latency={})  # medians of seconds say nothing
        assert not drift(moments[0], last)
        written = sum(len(ids) for agent in crew for ids in agent.acknowledged.entries.values())
        refused = sum(agent.refused for agent in crew)
        print(f"{written} entries acknowledged, {refused} requests refused for a moment")
        assert refused <= MANY_REFUSALS * written
        async with httpx.AsyncClient(base_url=process.url, timeout=60) as asking:
            await settled(asking)
        with httpx.Client(base_url=process.url, timeout=60) as client:
            for agent in crew:
                for session, acknowledged in agent.acknowledged.entries.items():
                    assert not losses(stored_ids(client, session), acknowledged)
                for record in agent.acknowledged.records:
                    assert client.get(f"/v1/long-term-memory/{record}").status_code == 200, record
                last = list(agent.acknowledged.entries)[-1]
                assert client.post(f"/v1/sessions/{last}/verify", headers=JSON).json()["verdict"].startswith("OK")


@pytest.mark.full
async def test_six_agents_lose_nothing_in_six_seconds(
    tmp_path: Path, server: Server, fresh_database: str, seed: int
) -> None:
    await soak(tmp_path, server, fresh_database, seed, agents=6, seconds=2, turns=20)


@pytest.mark.slow
@pytest.mark.timeout(2_400)
async def test_24_agents_lose_nothing_in_20_minutes(
    tmp_path: Path, server: Server, fresh_database: str, seed: int
) -> None:
    await soak(tmp_path, server, fresh_database, seed, agents=24, seconds=400, turns=40)


def test_what_is_lost_doubled_or_grows_is_noticed() -> None:
    """Negative control."""
    assert losses(Counter({"a": 1, "b": 2}), ["a", "b", "c"]) == ["b is stored 2 times", "c is stored 0 times"]
    early = Moment(rss=200 << 20, handles=40, events=1_000, tables={"events": 8 << 20}, latency={"add": 0.01})
    assert not drift(early, replace(early, events=4_000, tables={"events": 32 << 20}))
    assert len(drift(early, replace(early, rss=400 << 20, handles=90, latency={"add": 0.1}))) == 3
    assert drift(early, replace(early, tables={"events": 8 << 20, "jobs": 9 << 20}))
