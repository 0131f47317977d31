"""The first promotion reads what the promoted session needs, however many sessions there are. Source: http W-49."""

import pytest

from ledger.events.ids import Stream, namespace_id
from ledger.indexes.stored_projections.builds import Builds
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from ledger.worker import promotion_jobs
from tests.support.counting_store import CountingStore
from tests.support.ledgers import ledger_over
from tests.support.store_requests import an_event, append
from tests.support.worker_scene import Scene, worker

NEWEST = 20


@pytest.fixture(autouse=True)
def _few_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promotion_jobs, "NEWEST", NEWEST)


async def before_any_index(store: Store, namespace: str, others: int) -> tuple[int, bool]:
    """Return how many events a new worker reads before it builds an index, and whether it has promoted by then."""
    library: MemoryLedger = ledger_over(store, namespace=namespace)
    for number in range(others):
        await library.add_user_message(f"other {number}", "hello")
    scene = Scene(store, namespace)
    await scene.say("hello")
    await scene.note("m1", "Mia lives in Oslo")
    counting = CountingStore(store)
    found: list[tuple[int, bool]] = []
    advance = Builds.catch_up

    async def noticed(self: Builds, *given: object, **how: object) -> int | None:
        if not found:
            records = await store.events.find_sessions([scene.stream.namespace_id], "/records")
            found.append((counting.events_read, records != []))
        return await advance(self, *given, **how)  # type: ignore[arg-type]

    lone_worker = worker(counting, namespace)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Builds, "catch_up", noticed)
        await lone_worker.run_once()
    await lone_worker.stop()
    assert await scene.texts() == ["Mia lives in Oslo"]
    assert len(await scene.events("memory.promoted")) == 1
    return found[0]


async def test_the_first_promotion_does_not_wait_for_the_jobs_of_other_sessions(namespace: str) -> None:
    few = await before_any_index(InMemoryStore(), f"{namespace}-few", 2 * NEWEST)
    many = await before_any_index(InMemoryStore(), f"{namespace}-many", 10 * NEWEST)
    assert few == many
    assert many[0] < 3 * NEWEST
    assert many[1]


async def test_without_a_look_at_the_newest_it_waits(namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: before the jobs of all sessions are known, nothing is promoted."""
    monkeypatch.setattr(promotion_jobs, "NEWEST", 10**6)
    assert await before_any_index(InMemoryStore(), namespace, NEWEST) == (0, False)


async def test_a_session_that_has_ended_is_promoted_no_sooner_than_by_its_job(store: Store, namespace: str) -> None:
    scene = Scene(store, namespace)
    for number in range(NEWEST):
        await scene.say(f"hello {number}")
    await scene.note("m1", "Mia lives in Oslo")
    await scene.ledger.clear_session("s", user_id=scene.user, end=True)
    lone_worker = worker(store, namespace)
    await lone_worker.run_once()
    await lone_worker.stop()
    assert await scene.texts() == []


@pytest.mark.postgres
async def test_a_new_index_of_records_begins_with_the_first_record(postgres_store: Store, namespace: str) -> None:
    for number in range(30):
        await append(postgres_store, Stream.of(namespace, f"s{number}"), an_event())
    await append(postgres_store, Stream.of(namespace, "/records", "mia"), an_event())
    await append(postgres_store, Stream.of(namespace, "/records", "ada"), an_event())
    own = namespace_id(namespace)
    page = (await postgres_store.records.read_events({own: 0}, limit=1))[own]
    assert (page.position, [event.position for _, event in page.events]) == (31, [31])
    page = (await postgres_store.records.read_events({own: 31}, limit=5))[own]
    assert [event.position for _, event in page.events] == [32]
    assert (await postgres_store.records.read_events({own: 5}, limit=3))[own].position == 8
