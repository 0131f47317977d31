"""A page of the log costs the same number of reads and writes whatever number of sessions it has (style §4)."""

from collections.abc import Callable

import pytest

from ledger.events.ids import namespace_id
from ledger.history.state_loading import States
from ledger.indexes.jobs import BACKLOGS, JobIndex, job_index
from ledger.indexes.search import index_builds as search_index
from ledger.indexes.stored_projections.build_choice import Build, StoredProjection
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.support.counting_store import CountingStore
from tests.support.ledgers import ledger_over

NAMESPACE = "default"
FEW, MANY = 50, 500


def the_jobs(ledger: MemoryLedger) -> StoredProjection:
    services = ledger._handle.services
    backlogs = States(services.reads.store, BACKLOGS)
    return JobIndex(
        services.store,
        services.states,
        backlogs,
        summary_views=services.summary_views,
        namespace=NAMESPACE,
        reads=services.reads,
    )


PROJECTIONS: dict[str, Callable[[MemoryLedger], StoredProjection]] = {
    "session_index": lambda ledger: ledger._handle.indexes.sessions,
    "search": lambda ledger: ledger._handle.indexes.texts,
    "records": lambda ledger: ledger._handle.services.record_indexes.of(namespace_id(NAMESPACE))[1],
    "jobs": the_jobs,
}


async def talk(ledger: MemoryLedger, sessions: int) -> None:
    for number in range(sessions):
        await ledger.add_user_message(f"s{number}", f"hello {number}", entry_id="first", user_id=f"u{number}")


async def edit(ledger: MemoryLedger, sessions: int) -> None:
    """Write what no row tells: the state of each session is needed."""
    for number in range(sessions):
        await ledger.edit_entry(f"s{number}", "first", f"bye {number}", user_id=f"u{number}")


async def calls(name: str, sessions: int, *, batched: bool = True) -> tuple[list[str], list[str], list[str]]:
    """Return the calls of three pages: sessions that are new, sessions that grow, and sessions that were edited."""
    inner = InMemoryStore()
    writer = ledger_over(inner)
    pages = []
    after = 0
    for write in (talk, talk_again, edit):
        await write(writer, sessions)
        store = CountingStore(inner)
        reader = ledger_over(store)
        if not batched:
            reader._handle.services.reads._gathering = -1_000_000
        projection = PROJECTIONS[name](reader)
        build = Build(projection.version, 1).key
        await inner.projections.begin_build(namespace_id(NAMESPACE), name, build, bytes(32))
        store.reset()
        reached = await projection.advance(build, after=after, limit=10_000)
        assert reached is not None
        assert reached > after
        after = reached
        pages.append(sorted(store.calls))
    return pages[0], pages[1], pages[2]


async def talk_again(ledger: MemoryLedger, sessions: int) -> None:
    for number in range(sessions):
        await ledger.add_user_message(f"s{number}", "and again", user_id=f"u{number}")


@pytest.fixture(autouse=True)
def _whole_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_index, "_PAGE", 10_000)
    monkeypatch.setattr(search_index, "_PAGE", 10_000)


@pytest.mark.full
@pytest.mark.parametrize("name", ["session_index", "search", "jobs"])
async def test_a_page_of_many_sessions_costs_what_one_of_few_costs(name: str) -> None:
    assert await calls(name, FEW) == await calls(name, MANY)


async def test_reading_each_session_by_itself_is_noticed() -> None:
    """The control: without batches, sessions whose state is needed are read one by one."""
    few, many = await calls("session_index", FEW, batched=False), await calls("session_index", 2 * FEW, batched=False)
    assert few[0] == many[0], "new sessions need no state"
    assert len(many[2]) > len(few[2])


async def test_a_page_of_many_records_costs_what_one_of_few_costs() -> None:
    assert await record_calls(FEW) == await record_calls(MANY)


async def record_calls(users: int) -> list[str]:
    inner = InMemoryStore()
    writer = ledger_over(inner)
    for first in range(0, users, 50):
        likes = [
            {"id": f"r{number}", "text": f"{number} likes tea", "user_id": f"u{number}"}
            for number in range(first, first + 50)
        ]
        await writer._handle.long_term.create(likes)
    store = CountingStore(inner)
    projection = PROJECTIONS["records"](ledger_over(store))
    build = Build(projection.version, 1).key
    await inner.projections.begin_build(namespace_id(NAMESPACE), "records", build, bytes(32))
    store.reset()
    assert await projection.advance(build, after=0, limit=10_000)
    return sorted(store.calls)
