"""A worker over time: starting, stopping, failing and trying again. Source: trust M-1, http W-48."""

import asyncio

import psycopg
import pytest

from ledger.errors import DatabaseUnavailable
from ledger.llm.summarizers.openai_summarizer import OpenAISummarizer
from ledger.ports import Store
from ledger.ports.job_queue import MOST_ATTEMPTS
from ledger.stores.postgres import PostgresStore
from ledger.worker import attempts
from ledger.worker.namespace_jobs import WorkedNamespace
from tests.support.counting_store import CountingStore
from tests.support.databases import Server
from tests.support.model_endpoint import Endpoint, hang, says, status
from tests.support.worker_scene import OSLO, Scene, finds, work, worker


async def test_a_worker_takes_new_jobs_while_it_runs_and_stops_in_order(
    scene: Scene, store: Store, namespace: str, endpoint: Endpoint, model: OpenAISummarizer
) -> None:
    endpoint.answers(finds(OSLO))
    async with worker(store, namespace, model):
        await scene.say("I moved to Oslo")
        for _ in range(400):
            if await scene.records():
                break
            await asyncio.sleep(0.05)
    assert await scene.flags() == [True]


async def test_a_worker_that_stops_gives_back_jobs_it_cannot_finish(
    scene: Scene, store: Store, namespace: str, endpoint: Endpoint, model: OpenAISummarizer
) -> None:
    endpoint.answers(hang)
    await scene.say("I moved to Oslo")
    async with worker(store, namespace, model, grace_s=0):
        assert await asyncio.to_thread(endpoint.arrived.wait, 20)
    looking = worker(store, namespace, model)
    (job,) = await looking.jobs(namespace)
    assert (job.kind, job.attempts, job.status, job.last_error) == ("extract", 0, "waiting", "interrupted")
    await looking.stop()
    endpoint.answers(finds(OSLO))
    assert await work(store, namespace, model) == 1


async def test_a_job_that_keeps_failing_becomes_a_dead_letter_and_a_new_message_revives_it(
    scene: Scene,
    store: Store,
    namespace: str,
    endpoint: Endpoint,
    model: OpenAISummarizer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    endpoint.answers(says("nonsense"))
    await scene.say("I moved to Oslo")
    monkeypatch.setattr(attempts, "_LONGEST_WAIT_S", 0.0)
    failing = worker(store, namespace, model)
    assert await failing.run_once() == 0
    (job,) = await failing.jobs(namespace, dead=True)
    assert (job.status, job.attempts, job.last_error) == ("dead", MOST_ATTEMPTS, "invalid_output")
    assert len(endpoint.asked) == MOST_ATTEMPTS
    await failing.stop()
    endpoint.answers(finds(OSLO))
    assert await work(store, namespace, model) == 0
    await scene.say("And I like it")
    assert await work(store, namespace, model) == 1
    assert await scene.texts() == ["Mia lives in Oslo"]


async def test_a_busy_writer_is_followed_once_per_interval_and_not_once_per_write(store: Store, namespace: str) -> None:
    """Otherwise the worker costs more than the requests; that it follows at all is the control."""
    counted = CountingStore(store)
    scene = Scene(store, namespace)
    loop, interval_s = asyncio.get_running_loop(), 0.25
    async with worker(counted, namespace, poll_s=interval_s, extraction_debounce_seconds=600):
        began_s = loop.time()
        for number in range(60):
            await scene.say(f"message {number}")
            await asyncio.sleep(0.02)
        rounds = counted.calls.count("namespaces_due")
        passed_s = loop.time() - began_s
    assert 2 <= rounds <= passed_s / interval_s + 2


def client_states(looking: psycopg.Connection) -> set[str]:
    """Return the states of the other clients of a database."""
    query = (
        "SELECT state FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        " AND backend_type = 'client backend'"
    )
    return {state for (state,) in looking.execute(query)}


@pytest.mark.postgres
async def test_no_transaction_is_open_during_a_model_call(
    server: Server, fresh_database: str, namespace: str, endpoint: Endpoint, model: OpenAISummarizer
) -> None:
    """trust P-15; a session in a transaction is the negative control."""
    endpoint.answers(hang)
    store = await PostgresStore.open(server.target(fresh_database))
    scene = Scene(store, namespace)
    await scene.say("I moved to Oslo")
    async with worker(store, namespace, model, grace_s=0, poll_s=60):
        assert await asyncio.to_thread(endpoint.arrived.wait, 20)
        with server.superuser(fresh_database) as looking, server.superuser(fresh_database) as idling:
            for _ in range(200):  # the indexes are brought up to date meanwhile, which ends soon
                if client_states(looking) == {"idle"}:
                    break
                await asyncio.sleep(0.05)
            assert client_states(looking) == {"idle"}
            idling.execute("BEGIN")
            idling.execute("SELECT 1")
            assert "idle in transaction" in client_states(looking)
    await store.close()


async def test_one_broken_namespace_does_not_stop_the_work_in_the_others(
    store: Store, namespace: str, endpoint: Endpoint, model: OpenAISummarizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint.answers(finds(OSLO), status(500))
    good, bad = Scene(store, f"{namespace}-b"), Scene(store, f"{namespace}-a")
    await good.say("I moved to Oslo")
    await bad.say("I moved to Rome")
    both = worker(store, namespace, model)
    both._only = (good.namespace, bad.namespace)
    begin = both._begin

    async def broken(worked: WorkedNamespace, position: int) -> int:
        if worked.name == bad.namespace:
            raise RuntimeError("a fault of ours")
        return await begin(worked, position)

    monkeypatch.setattr(both, "_begin", broken)
    assert await both.run_once() == 1
    assert await good.texts() == ["Mia lives in Oslo"]
    await both.stop()


async def test_a_namespace_without_new_events_or_due_jobs_is_not_read(
    store: Store, namespace: str, endpoint: Endpoint, model: OpenAISummarizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker may have thousands of namespaces; new events and due jobs are still noticed."""
    endpoint.answers(finds(OSLO))
    scenes = [Scene(store, f"{namespace}-{number}") for number in range(3)]
    for scene in scenes:
        await scene.say("I moved to Oslo")
    item = worker(store, namespace, model)
    item._only = tuple(scene.namespace for scene in scenes)
    checked: list[str] = []
    begin = item._begin

    async def counted(worked: WorkedNamespace, position: int) -> int:
        checked.append(worked.name)
        return await begin(worked, position)

    monkeypatch.setattr(item, "_begin", counted)
    assert await item.run_once() == 3
    checked.clear()
    assert await item.run_once() == 0
    assert checked == []
    await scenes[1].say("I moved to Rome")
    await item.run_once()
    assert set(checked) == {scenes[1].namespace}
    await item.stop()


async def test_a_namespace_whose_indexes_fall_behind_is_tried_again_after_a_while(
    scene: Scene, store: Store, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not tried again at once, and its jobs are done meanwhile."""
    await scene.say("hello")
    await scene.note("m1", "Mia lives in Oslo")
    tries: list[float] = []

    async def fails(self: WorkedNamespace) -> None:
        tries.append(asyncio.get_running_loop().time())
        raise DatabaseUnavailable("the database does not answer; try again")

    monkeypatch.setattr(WorkedNamespace, "catch_up", fails)
    assert await asyncio.wait_for(work(store, namespace, poll_s=0.2), timeout=5) == 1
    assert 1 <= len(tries) <= 2
    tries.clear()
    async with worker(store, namespace, poll_s=0.2):
        await asyncio.sleep(1.0)
    assert 2 <= len(tries) <= 6, "once in each poll"
