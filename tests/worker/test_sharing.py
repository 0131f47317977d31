"""The queue that workers share, on each store; and a worker over time. Source: trust M-1, http W-48."""

import asyncio
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from ledger.errors import DatabaseUnavailable
from ledger.ids import Stream
from ledger.ports import Store
from ledger.ports.jobs import JOBS, MOST_ATTEMPTS, DueJob, Job, JobOutcome, SessionJobs
from ledger.stores.postgres import PostgresStore
from ledger.summarizers.openai import OpenAISummarizer
from ledger.worker.namespace import WorkedNamespace
from tests.support.databases import Server
from tests.support.model_endpoint import Endpoint, hang, says, status
from tests.support.store_requests import an_event, append
from tests.support.worker_scene import OSLO, Scene, finds, work, worker

PAST = datetime(2026, 1, 1, tzinfo=UTC)
BUILD = 1


class Queue:
    """The jobs of one session, in a build of their own."""

    def __init__(self, store: Store, namespace: str) -> None:
        self.store = store
        self.stream = Stream.of(namespace, "s")
        self.position = 0

    async def put(self, *jobs: DueJob) -> None:
        await append(self.store, self.stream, an_event())
        if not self.position:
            await self.store.projections.begin_build(self.stream.namespace_id, JOBS, BUILD, bytes(32))
        after, self.position = self.position, self.position + 1
        sessions = [SessionJobs(self.stream, jobs)]
        namespace_id = self.stream.namespace_id
        assert await self.store.jobs.save(namespace_id, BUILD, sessions, after=after, position=self.position)

    async def claim(self, by: str = "one", *, lease_s: float = 60, limit: int = 10) -> list[Job]:
        kinds = ("promote", "extract")
        namespace_id = self.stream.namespace_id
        return await self.store.jobs.claim(namespace_id, BUILD, by=by, kinds=kinds, lease_s=lease_s, limit=limit)

    async def listed(self) -> list[Job]:
        return await self.store.jobs.page(self.stream.namespace_id, BUILD)


@pytest.fixture
def queue(store: Store, namespace: str) -> Queue:
    return Queue(store, namespace)


def a_job(work: str = "w", *, due_at: datetime = PAST, kind: str = "promote") -> DueJob:
    return DueJob(kind, work, due_at)  # type: ignore[arg-type]


async def test_a_due_job_is_claimed_once_until_its_lease_is_over(queue: Queue) -> None:
    await queue.put(a_job())
    (job,) = await queue.claim(lease_s=0.05)
    assert (job.attempts, job.leased_by, job.session_id) == (1, "one", "s")
    assert await queue.claim("two") == []
    await asyncio.sleep(0.1)
    (again,) = await queue.claim("two")
    assert (again.attempts, again.leased_by) == (1, "two"), "the first attempt goes on"
    assert not await queue.store.jobs.renew(job, lease_s=60), "it is another's now"
    await queue.store.jobs.release(job, JobOutcome("late", 60))
    assert [(job.leased_by, job.last_error) for job in await queue.listed()] == [("two", None)]


async def test_who_renews_its_lease_keeps_the_job(queue: Queue) -> None:
    await queue.put(a_job())
    (job,) = await queue.claim(lease_s=0.05)
    assert await queue.store.jobs.renew(job, lease_s=60)
    await asyncio.sleep(0.1)
    assert await queue.claim("two") == []


async def test_neither_what_is_not_due_nor_other_kinds_are_claimed(queue: Queue) -> None:
    await queue.put(a_job(due_at=datetime(2099, 1, 1, tzinfo=UTC)), a_job(kind="compact"))
    assert await queue.claim() == []


async def test_a_failed_job_waits_and_other_work_does_not(queue: Queue) -> None:
    await queue.put(a_job())
    (job,) = await queue.claim()
    await queue.store.jobs.release(job, JobOutcome("timeout", 60))
    (stored,) = await queue.listed()
    assert (stored.attempts, stored.last_error, stored.status) == (1, "timeout", "waiting")
    assert stored.due_at > PAST + timedelta(days=1)
    await queue.put(a_job())
    assert await queue.claim() == [], "the same work waits on"
    await queue.put(a_job("other"))
    (other,) = await queue.claim()
    assert (other.attempts, other.last_error) == (1, None)


async def test_what_is_no_longer_to_be_done_is_gone(queue: Queue) -> None:
    await queue.put(a_job(), a_job(kind="extract"))
    await queue.put(a_job())
    assert [job.kind for job in await queue.listed()] == ["promote"]
    await queue.put()
    assert await queue.listed() == []


async def test_an_attempt_that_does_not_count_is_as_if_it_had_never_begun(queue: Queue) -> None:
    await queue.put(a_job())
    (job,) = await queue.claim()
    await queue.store.jobs.release(job, JobOutcome(counts=False))
    (again,) = await queue.claim("two")
    assert again.attempts == 1


async def test_after_its_attempts_a_job_is_a_dead_letter_until_it_is_revived(queue: Queue) -> None:
    await queue.put(a_job())
    for _ in range(MOST_ATTEMPTS):
        (job,) = await queue.claim()
        await queue.store.jobs.release(job, JobOutcome("timeout"))
    assert await queue.claim() == []
    namespace_id = queue.stream.namespace_id
    (dead,) = await queue.store.jobs.page(namespace_id, BUILD, dead=True)
    assert (dead.status, dead.last_error) == ("dead", "timeout")
    assert await queue.store.jobs.revive(namespace_id, BUILD) == 1
    assert len(await queue.claim()) == 1


async def test_of_two_that_fold_the_same_events_one_writes(queue: Queue) -> None:
    await queue.put(a_job())
    namespace_id = queue.stream.namespace_id
    sessions = [SessionJobs(queue.stream, ())]
    assert await queue.store.jobs.save(namespace_id, BUILD, sessions, after=0, position=1) == 1
    assert len(await queue.listed()) == 1
    assert await queue.store.jobs.save(namespace_id, BUILD + 1, sessions, after=0, position=1) is None
    await queue.store.projections.go_live(namespace_id, JOBS, BUILD + 1, replaces=[BUILD])
    assert len(await queue.listed()) == 1


async def test_claims_at_the_same_time_share_the_jobs(store: Store, namespace: str) -> None:
    namespace_id = Stream.of(namespace, "s0").namespace_id
    sessions = [SessionJobs(Stream.of(namespace, f"s{number}"), (a_job(),)) for number in range(20)]
    await append(store, sessions[0].stream, an_event())
    await store.projections.begin_build(namespace_id, JOBS, BUILD, bytes(32))
    await store.jobs.save(namespace_id, BUILD, sessions, after=0, position=1)
    claimed = await asyncio.gather(
        *(
            store.jobs.claim(namespace_id, BUILD, by=f"{item}", kinds=["promote"], lease_s=60, limit=5)
            for item in range(6)
        )
    )
    taken = [job.session_id for jobs in claimed for job in jobs]
    assert len(taken) == len(set(taken)) > 0


async def test_a_worker_takes_what_comes_while_it_works_and_stops_in_order(
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


async def test_a_worker_that_stops_gives_back_what_it_cannot_end(
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


async def test_what_keeps_failing_becomes_a_dead_letter_and_a_new_message_revives_it(
    scene: Scene, store: Store, namespace: str, endpoint: Endpoint, model: OpenAISummarizer
) -> None:
    endpoint.answers(says("nonsense"))
    await scene.say("I moved to Oslo")
    trying = worker(store, namespace, model, retry_s=0.001)
    trying._wait_s = lambda job: 0.0  # type: ignore[method-assign]
    assert await trying.run_once() == 0
    (job,) = await trying.jobs(namespace, dead=True)
    assert (job.status, job.attempts, job.last_error) == ("dead", MOST_ATTEMPTS, "invalid_output")
    assert len(endpoint.asked) == MOST_ATTEMPTS
    await trying.stop()
    endpoint.answers(finds(OSLO))
    assert await work(store, namespace, model) == 0
    await scene.say("And I like it")
    assert await work(store, namespace, model) == 1
    assert await scene.texts() == ["Mia lives in Oslo"]


@pytest.mark.postgres
def states_of(looking: psycopg.Connection) -> set[str]:
    """Return what the other clients of a database are at."""
    query = (
        "SELECT state FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        " AND backend_type = 'client backend'"
    )
    return {state for (state,) in looking.execute(query)}


async def test_no_transaction_is_open_while_a_model_is_asked(
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
            for _ in range(200):  # what is kept up beside the call ends soon
                if states_of(looking) == {"idle"}:
                    break
                await asyncio.sleep(0.05)
            assert states_of(looking) == {"idle"}
            idling.execute("BEGIN")
            idling.execute("SELECT 1")
            assert "idle in transaction" in states_of(looking)
    await store.close()


async def test_one_broken_namespace_does_not_keep_the_others_from_being_looked_after(
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


async def test_where_nothing_changed_and_nothing_is_due_nothing_is_looked_at(
    store: Store, namespace: str, endpoint: Endpoint, model: OpenAISummarizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker may have thousands of namespaces; what is appended, and what becomes due, is noticed all the same."""
    endpoint.answers(finds(OSLO))
    scenes = [Scene(store, f"{namespace}-{number}") for number in range(3)]
    for scene in scenes:
        await scene.say("I moved to Oslo")
    item = worker(store, namespace, model)
    item._only = tuple(scene.namespace for scene in scenes)
    looked_at: list[str] = []
    begin = item._begin

    async def counted(worked: WorkedNamespace, position: int) -> int:
        looked_at.append(worked.name)
        return await begin(worked, position)

    monkeypatch.setattr(item, "_begin", counted)
    assert await item.run_once() == 3
    looked_at.clear()
    assert await item.run_once() == 0
    assert looked_at == []
    await scenes[1].say("I moved to Rome")
    await item.run_once()
    assert set(looked_at) == {scenes[1].namespace}
    await item.stop()


async def test_namespaces_where_a_job_is_due_are_told_from_the_others(store: Store, namespace: str) -> None:
    due, later, taken = (Queue(store, f"{namespace}-{number}") for number in range(3))
    future = datetime(2999, 1, 1, tzinfo=UTC)
    await due.put(DueJob(kind="promote", work="w", due_at=PAST))
    await later.put(DueJob(kind="promote", work="w", due_at=future))
    await taken.put(DueJob(kind="promote", work="w", due_at=PAST))
    assert len(await taken.claim(lease_s=600)) == 1
    namespaces = [item.stream.namespace_id for item in (due, later, taken)]
    assert await store.jobs.namespaces_due(namespaces, kinds=["promote"]) == {namespaces[0]}
    assert await store.jobs.namespaces_due(namespaces[1:], kinds=["promote"]) == set()
    assert await store.jobs.namespaces_due(namespaces, kinds=["extract"]) == set()
    assert await store.jobs.namespaces_due([], kinds=["promote"]) == set()
    named = await store.events.namespaces([*namespaces, Stream.of("nowhere", "s").namespace_id])
    assert {info.namespace for info in named.values()} == {f"{namespace}-{number}" for number in range(3)}


async def test_a_namespace_that_cannot_be_kept_up_is_tried_again_after_a_while(
    scene: Scene, store: Store, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not at once, again and again; the jobs there are done all the same."""
    await scene.say("hello")
    await scene.note("m1", "Mia lives in Oslo")
    tries: list[float] = []

    async def fails(self: WorkedNamespace) -> None:
        tries.append(asyncio.get_running_loop().time())
        raise DatabaseUnavailable("the database does not answer; try again")

    monkeypatch.setattr(WorkedNamespace, "keep_up", fails)
    assert await asyncio.wait_for(work(store, namespace, poll_s=0.2), timeout=5) == 1
    assert 1 <= len(tries) <= 2
    tries.clear()
    async with worker(store, namespace, poll_s=0.2):
        await asyncio.sleep(1.0)
    assert 2 <= len(tries) <= 6, "once in each poll"
