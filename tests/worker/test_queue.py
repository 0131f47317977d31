"""The job queue that workers share, on each store. Source: trust M-1, http W-48."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from ledger.events.ids import Stream
from ledger.ports import Store
from ledger.ports.job_queue import JOBS, KINDS, MOST_ATTEMPTS, DueJob, Job, JobOutcome, SessionJobs
from tests.support.store_requests import an_event, append

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


async def test_a_worker_that_renews_its_lease_keeps_the_job(queue: Queue) -> None:
    await queue.put(a_job())
    (job,) = await queue.claim(lease_s=0.05)
    assert await queue.store.jobs.renew(job, lease_s=60)
    await asyncio.sleep(0.1)
    assert await queue.claim("two") == []


async def test_jobs_that_are_not_due_or_of_other_kinds_are_not_claimed(queue: Queue) -> None:
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


async def test_a_job_that_is_no_longer_due_is_removed(queue: Queue) -> None:
    await queue.put(a_job(), a_job(kind="extract"))
    await queue.put(a_job())
    assert [job.kind for job in await queue.listed()] == ["promote"]
    await queue.put()
    assert await queue.listed() == []


async def test_an_attempt_that_does_not_count_leaves_the_number_of_attempts(queue: Queue) -> None:
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


async def test_the_backlog_counts_due_and_dead_jobs(store: Store, namespace: str) -> None:
    late, dead, later = (Queue(store, f"{namespace}-{number}") for number in range(3))
    await late.put(DueJob(kind="promote", work="w", due_at=PAST))
    await later.put(DueJob(kind="promote", work="w", due_at=datetime(2999, 1, 1, tzinfo=UTC)))
    await dead.put(DueJob(kind="promote", work="w", due_at=PAST))
    for _ in range(MOST_ATTEMPTS):
        (job,) = await dead.claim()
        await store.jobs.release(job, JobOutcome("timeout"))
    namespaces = [item.stream.namespace_id for item in (late, dead, later)]
    (backlog,) = await store.jobs.backlog(namespaces, kinds=KINDS)
    assert (backlog.kind, backlog.due, backlog.dead) == ("promote", 1, 1)
    assert backlog.oldest_s > 60
    (only_later,) = await store.jobs.backlog(namespaces[2:], kinds=KINDS)
    assert (only_later.due, only_later.oldest_s, only_later.dead) == (0, 0, 0)
    assert await store.jobs.backlog([], kinds=KINDS) == []
    assert await store.jobs.backlog(namespaces, kinds=["extract"]) == []


async def test_of_two_workers_that_fold_the_same_events_one_writes(queue: Queue) -> None:
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


async def test_namespaces_due_are_those_where_a_job_is_due_and_free(store: Store, namespace: str) -> None:
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
