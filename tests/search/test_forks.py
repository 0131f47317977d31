"""Search finds in a fork what its parents had when it was forked, and copies nothing. Source: R-REC-1."""

import random
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from ledger.application.handle import NamespaceHandle
from ledger.application.services import Services
from ledger.errors import LedgerError
from ledger.events.ids import namespace_id
from ledger.indexes.search import index_builds
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.ports.search_index import PieceHit, SearchQuery
from ledger.stores.in_memory import InMemoryStore, search_index
from ledger.stores.postgres import PostgresStore, tables
from tests.support.counting_store import CountingStore
from tests.support.forked_texts import USERS, WORDS, Family, matching
from tests.support.ledgers import ledger_over

STEPS = 60


async def check_history(store: Store, namespace: str, seed: int) -> None:
    """Write a random history, and compare each search with what follows from the events of each session."""
    dice = random.Random(seed)
    family = Family(store, namespace, dice)
    handle = NamespaceHandle(Services(store), namespace)
    for step in range(STEPS):
        await family.step()
        if step == STEPS - 1 or dice.random() < 0.15:
            await check_searches(store, family, handle.indexes.finder._index, dice, seed)


async def check_histories(namespace: str) -> None:
    for seed in range(25):
        await check_history(InMemoryStore(), namespace, seed)


async def check_searches(
    store: Store, family: Family, searched: index_builds.SearchIndex, dice: random.Random, seed: int
) -> None:
    query = " ".join(dice.sample(WORDS, dice.randint(1, 3)))
    erased = dice.random() < 0.5
    everywhere = {stream: await family.found(stream, include_erased=erased) for stream in family.streams}
    names = {stream.stream_id: stream for stream in family.streams}

    async def hits(**scope: object) -> list[PieceHit]:
        wanted = SearchQuery(text=query, include_erased=erased, limit=1_000, **scope)  # type: ignore[arg-type]
        return (await searched.find(wanted)).hits

    for stream, there in everywhere.items():
        found = await hits(stream=stream)
        assert {hit.stream_id for hit in found} <= {stream.stream_id}
        assert sorted(map(key_of, found)) == keys(matching(there, query)), (seed, stream.session_id)
        build = (await searched.find(SearchQuery(text=query, limit=1))).build
        versions = {each.version for each in there if each.kind == "entry"}
        listed = range(1, (await store.events.head(stream))[0] + 1)
        assert await store.search.findable(stream, build, listed, include_erased=erased) == versions, seed
    for user_id in (None, *USERS):
        scope = {stream: there for stream, there in everywhere.items() if user_id in {None, stream.user_id}}
        found = await hits(user_id=user_id)
        assert sorted(map(key_of, found)) == keys(matching(set().union(*scope.values()), query)), (seed, user_id)
        for hit in found:
            showing = names[hit.stream_id]
            assert key_of(hit) in keys(scope[showing]), (seed, "in a session that does not have it")
            own = scope.get(names[hit.origin_id], set())
            assert hit.stream_id == hit.origin_id or key_of(hit) not in keys(own), (seed, "not in its own session")


def key_of(hit: PieceHit) -> tuple[object, ...]:
    return hit.origin_id, hit.added_in, hit.version, hit.kind


def keys(found: set) -> list[tuple[object, ...]]:  # type: ignore[type-arg]
    return sorted((each.origin_id, each.added_in, each.version, each.kind) for each in found)


async def test_a_search_finds_what_follows_from_the_events_of_each_session(namespace: str) -> None:
    await check_histories(namespace)


@pytest.mark.full
@pytest.mark.postgres
@pytest.mark.parametrize("seed", [3, 4])
async def test_so_does_the_index_of_the_database_and_both_rank_alike(
    postgres_store: PostgresStore, namespace: str, seed: int
) -> None:
    """A text counts once towards the rarity of its words, however many forks inherited it."""
    ranked = []
    for store in (InMemoryStore(), postgres_store):
        await check_history(store, namespace, seed)
        searched = NamespaceHandle(Services(store), namespace).indexes.finder._index
        hits = (await searched.find(SearchQuery(text="apple fig", limit=1_000))).hits
        ranked.append([(hit.stream_id, hit.version, pytest.approx(hit.score, rel=1e-3)) for hit in hits])
    assert len(ranked[0]) > 5
    assert ranked[0] == ranked[1]


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize("seed", range(100, 200))
async def test_many_histories(postgres_store: PostgresStore, namespace: str, seed: int) -> None:
    await check_history(postgres_store, f"{namespace}-{seed}", seed)


def a_fork_follows_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_index.IndexedPiece, "is_there", lambda self, until: self.removed_in is None)


def a_fork_forgets_its_own_removals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_index.Fork, "changes_of", lambda self, origin_id, forks: [])


def a_fork_has_all_changes_of_the_fork_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def every(self: search_index.Fork, origin_id: object, forks: dict[object, search_index.Fork]) -> list[object]:
        return [change for each in (self, *map(forks.get, self.until)) if each for _, change in each.changes]

    monkeypatch.setattr(search_index.Fork, "changes_of", every)


@pytest.mark.parametrize(
    "broken", [a_fork_follows_its_parent, a_fork_forgets_its_own_removals, a_fork_has_all_changes_of_the_fork_before_it]
)
async def test_a_wrong_index_is_noticed(
    broken: Callable[[pytest.MonkeyPatch], None], namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative controls: an index that lets a fork see its parent's later changes, and two that mix up a fork's own."""
    broken(monkeypatch)
    with pytest.raises((AssertionError, LedgerError)):
        await check_histories(namespace)


async def texts(ledger: MemoryLedger, query: str, **scope: str) -> list[tuple[str, str]]:
    return [(found.session_id, found.text) for found in await ledger.search(query, **scope)]


async def test_what_many_forks_share_is_found_once(store: Store, namespace: str) -> None:
    """In the session that has it, or else in the oldest fork that still does; of a user, in that user's."""
    ledger = ledger_over(store, namespace=namespace)
    apple = await ledger.add_user_message("s", "apples are red", user_id="mia")
    for name in ("f", "g"):
        await ledger.fork("s", name, user_id="mia", new_user_id="ann")
    assert await texts(ledger, "apples") == [("s", "apples are red")]
    assert await texts(ledger, "apples", user_id="ann") == [("f", "apples are red")]
    assert await texts(ledger, "apples", session_id="g", user_id="ann") == [("g", "apples are red")]
    await ledger.remove_entry("s", apple.entry_id, user_id="mia")
    assert await texts(ledger, "apples") == [("f", "apples are red")]
    assert await texts(ledger, "apples", user_id="mia") == []
    await ledger.clear_session("f", user_id="ann")
    assert await texts(ledger, "apples") == [("g", "apples are red")]
    await ledger.clear_session("g", user_id="ann")
    assert await texts(ledger, "apples") == []


async def test_a_fork_of_what_was_removed_since_finds_it(store: Store, namespace: str) -> None:
    """Also of a session that has ended, when its words are in no session any more."""
    ledger = ledger_over(store, namespace=namespace)
    entry = await ledger.add_user_message("s", "apples are red")
    await ledger.edit_entry("s", entry.entry_id, "plums are blue")
    await ledger.clear_session("s", end=True)
    assert await texts(ledger, "apples plums") == []
    await ledger.fork("s", "f", version=2)
    await ledger.fork("s", "g", version=3)
    assert await texts(ledger, "apples plums") == [("g", "plums are blue"), ("f", "apples are red")]
    await ledger.fork("g", "h", version=2)
    assert await texts(ledger, "apples plums", session_id="h") == [("h", "apples are red")]


async def test_forks_are_indexed_without_a_look_at_what_they_inherit(store: Store, namespace: str) -> None:
    """G 41: hundred forks add not one piece; they used to add all of their parent's."""
    ledger = ledger_over(store, namespace=namespace)
    for number in range(30):
        await ledger.add_user_message("s", f"apple {number}")
    for number in range(100):
        await ledger.fork("s", f"f{number}")
    counting = CountingStore(store)
    anew = ledger_over(counting, namespace=namespace)
    assert len(await anew.search("apple", session_id="f99", top_k=100, around=0)) == 30
    assert counting.calls.count("read_namespace") == 1
    assert counting.calls.count("read_stream") == 0
    if isinstance(store, PostgresStore):
        entries = tables.search_entries
        counted = sa.select(sa.func.count()).where(entries.c.namespace_id == namespace_id(namespace))
        async with store._pool.transaction(namespace_id(namespace)) as connection:
            assert await connection.scalar(counted) == 30
