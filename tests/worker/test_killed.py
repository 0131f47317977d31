"""A worker that is killed between claim and completion: nothing is lost, nothing is done twice.

Source: http W-48, trust F-2, F-12, P-14.
"""

import asyncio
import json
import random
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from ledger.events import CompactionCompleted, EntryAdded, MemoryFields
from ledger.events import MemoryAdded as Added
from ledger.llm.summarizers.openai_summarizer import OpenAISummarizer
from ledger.ports import AppendRequest, Store
from ledger.ports.event_encoding import stream_write
from ledger.stores.postgres import PostgresStore
from ledger.worker import extraction_jobs
from ledger.worker.completion import DecideCompletion, Ending
from ledger.worker.extraction_jobs import extract
from ledger.worker.namespace_jobs import WorkedNamespace
from projections.log.backlog import BACKLOG
from projections.values import ranges
from tests.support.databases import Server
from tests.support.ledgers import ledger_over
from tests.support.model_endpoint import Behaviour, Endpoint, Exchange, says
from tests.support.worker_process import POINTS, SHORT
from tests.support.worker_scene import OSLO, Scene, finds, work, worked, worker

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
#: Ten messages of ten tokens are more than 70, and the newest four stay.
SMALL = {"profile": "working_memory", "context_window": 100}


def talks(exchange: Exchange) -> None:
    """Answer a question for JSON with a memory, any other with a summary."""
    asked = exchange.asked
    answer: Behaviour = finds({"text": f"fact {len(asked['messages'][-1]['content'])}"})
    (answer if "response_format" in asked else says("A summary."))(exchange)


async def begun(scene: Scene) -> None:
    """Let a session have messages to extract, one of them covered, a memory to promote, a compaction to do."""
    scene.ledger = ledger_over(scene.store, namespace=scene.namespace, config=SMALL)
    patch.object(scene.ledger._handle.services.compactor, "evaluate", nothing).start()
    for number in range(10):
        await scene.ledger.add_user_message(scene.stream.session_id, f"message {number}", user_id=scene.user, tokens=10)
    await scene.append(Added(write_id="w", memory_id=f"m-{scene.stream.session_id}", fields=MemoryFields("noted")))


async def nothing(*args: object, **options: object) -> None:
    """Begin no compaction."""


async def assert_done_once(scene: Scene) -> None:
    """Everything was extracted, promoted and summarised, and nothing twice."""
    events = await scene.decoded()
    messages = [event.version for event in events if isinstance(event.payload, EntryAdded)]
    extracted = [event.payload for event in events if event.type == "entries.extracted"]
    covered = [version for item in extracted for version in ranges.versions(item.covered)]
    assert sorted(covered) == messages, "each message is extracted once"
    summarised = [
        version
        for event in events
        if isinstance(event.payload, CompactionCompleted)
        for version in ranges.versions(event.payload.covered)
    ]
    assert len(summarised) == len(set(summarised)) > 0, "each range has one summary"
    promoted = [event.payload.memory_id for event in events if event.type == "memory.promoted"]
    assert promoted == [f"m-{scene.stream.session_id}"], "each memory is promoted once"
    wanted = Counter([*promoted, *(record_id for item in extracted for record_id in item.record_ids)])
    created = Counter(
        event.payload.record_id
        for event in await scene.record_events()
        if event.type == "record.created"
        and event.payload.source is not None
        and event.payload.source.session_id == scene.stream.session_id
    )
    assert created == wanted, "each memory is one record"
    left = BACKLOG.fold(events)
    assert (left.unextracted, left.unpromoted) == ((), ())


async def killed(server: Server, database: str, namespace: str, endpoint: Endpoint, point: str, times: int) -> bool:
    """Run a worker that dies at *point*; tell whether it came so far."""
    arguments = [server.database(database), namespace, endpoint.url, point, str(times)]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.worker_process", *arguments, cwd=ROOT
    )
    code = await asyncio.wait_for(process.wait(), 60)
    assert code in {0, -signal.SIGKILL}
    return code != 0


async def killed_again_and_again(
    server: Server,
    database: str,
    store: Store,
    namespace: str,
    endpoint: Endpoint,
    model: OpenAISummarizer,
    chance: random.Random,
    points: list[str],
    *,
    together: int = 1,
) -> None:
    """Let workers die at *points*, several *together*, and the work be ended by one that lives."""
    endpoint.answers(talks)
    scenes, died = [], 0
    for first in range(0, len(points), together):
        for cycle in range(first, min(first + together, len(points))):
            scenes.append(Scene(store, namespace, session=f"s{cycle}"))
            await begun(scenes[-1])
        died += sum(
            await asyncio.gather(
                *(
                    killed(server, database, namespace, endpoint, point, chance.randint(1, 2))
                    for point in points[first : first + together]
                )
            )
        )
    assert died > len(points) / 2, "most came to their point"
    looking = worker(store, namespace, model, **SHORT)
    async with asyncio.timeout(300):
        while left := await looking.jobs(namespace):
            assert all(job.status != "dead" for job in left), "being killed is no failure of the job"
            await work(store, namespace, model, **SHORT)
            await asyncio.sleep(0.1)
    await looking.stop()
    for scene in scenes:
        await assert_done_once(scene)
    print(f"{died} kills in {len(points)} cycles, {len(endpoint.asked)} questions to the model")


@pytest.mark.postgres
async def test_a_worker_killed_at_any_point_loses_nothing_and_does_nothing_twice(
    server: Server,
    shared_database: str,
    postgres_store: PostgresStore,
    namespace: str,
    endpoint: Endpoint,
    model: OpenAISummarizer,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
) -> None:
    monkeypatch.setattr("ledger.indexes.jobs.due.UNSTARTED_S", 0.0)
    chance = random.Random(seed)
    points = ["answered", "after the append", chance.choice(POINTS[:-1])]
    await killed_again_and_again(server, shared_database, postgres_store, namespace, endpoint, model, chance, points)


@pytest.mark.postgres
@pytest.mark.slow
@pytest.mark.timeout(1200)
async def test_a_worker_killed_fifty_times_loses_nothing_and_does_nothing_twice(
    server: Server,
    fresh_database: str,
    namespace: str,
    endpoint: Endpoint,
    model: OpenAISummarizer,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
) -> None:
    monkeypatch.setattr("ledger.indexes.jobs.due.UNSTARTED_S", 0.0)
    chance = random.Random(seed)
    store = await PostgresStore.open(server.target(fresh_database))
    points = [POINTS[cycle % (len(POINTS) - 1)] for cycle in range(50)]
    await killed_again_and_again(server, fresh_database, store, namespace, endpoint, model, chance, points, together=3)
    await store.close()


async def test_several_workers_share_the_work_and_do_each_job_once(
    store: Store, namespace: str, endpoint: Endpoint, model: OpenAISummarizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ledger.indexes.jobs.due.UNSTARTED_S", 0.0)
    endpoint.answers(talks)
    scenes = [Scene(store, namespace, session=f"s{number}") for number in range(4)]
    for scene in scenes:
        await begun(scene)
    done = await asyncio.gather(*(work(store, namespace, model, concurrency=2) for _ in range(3)))
    assert sum(done) >= 12
    for scene in scenes:
        await assert_done_once(scene)
    asked = Counter(json.dumps(measure["messages"][-1]["content"].splitlines()[-2:]) for measure in endpoint.asked)
    assert len(endpoint.asked) == 8, asked


async def two_extract_the_same(scene: Scene, model: OpenAISummarizer) -> None:
    """Let two take the same job, as if the first had lost its lease while its model thought."""
    both = [worked(scene.store, scene.namespace, model) for _ in range(2)]
    await asyncio.gather(*(extract(each, scene.stream) for each in both))
    for each in both:
        await each.handle.services.close()


async def test_a_job_that_two_workers_do_is_done_once(
    store: Store, namespace: str, endpoint: Endpoint, model: OpenAISummarizer
) -> None:
    endpoint.answers(finds(OSLO))
    scene = Scene(store, namespace)
    await scene.say("I moved to Oslo")
    await two_extract_the_same(scene, model)
    assert len(await scene.events("entries.extracted")) == 1
    assert await scene.texts() == ["Mia lives in Oslo"]


async def test_a_worker_without_the_guard_is_caught(
    store: Store, namespace: str, endpoint: Endpoint, model: OpenAISummarizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control."""

    async def unguarded(
        worked: WorkedNamespace, stream: Any, result_of_backlog: DecideCompletion, *, write_id: str
    ) -> Ending:
        created = result_of_backlog(*before)
        assert created is not None
        events = [command.extracted for command in created.commands]  # type: ignore[union-attr]
        handle = worked.handle
        records = await handle.long_term.writes_for_promotion(stream, created.promotions, write_id=write_id)
        clock = handle.services.clock
        write = stream_write(stream, events, expected_version=None, clock=clock, actor="worker")
        await worked.store.events.append(AppendRequest(writes=(write, *records)))
        return "done"

    endpoint.answers(finds(OSLO))
    scene = Scene(store, namespace)
    await begun(scene)
    item = worked(store, namespace, model)
    before = await item.read(scene.stream)
    monkeypatch.setattr(extraction_jobs, "complete", unguarded)
    for _ in range(2):
        await extract(item, scene.stream)
        item.backlogs._cache.clear()
        monkeypatch.setattr(item.backlogs, "current", stale(before[1]))
        monkeypatch.setattr(item.handle.services.states, "newest", stale(before[0]))
    with pytest.raises(AssertionError, match="each message is extracted once"):
        await assert_done_once(scene)
    await item.handle.services.close()


def stale(answer: object) -> Any:
    async def current(stream: object) -> object:
        return answer

    return current
