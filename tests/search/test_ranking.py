"""Both stores rank alike: the words, the weights and the context of an entry are counted in the same way."""

import random

import pytest

from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.postgres import PostgresStore

pytestmark = pytest.mark.postgres
WORDS = [*(f"word{number}" for number in range(40)), "may", "dogs", "dog", "Mara", "und", "ist", "der", "hunde", "8"]


def conversation(chance: random.Random) -> list[dict[str, object]]:
    return [
        {
            "role": chance.choice(("user", "assistant")),
            "content": " ".join(chance.choices(WORDS, weights=range(len(WORDS), 0, -1), k=chance.randrange(1, 60))),
            "created_at": f"2025-0{chance.randrange(4, 7)}-0{chance.randrange(7, 10)}T12:00:00Z",
            "metadata": {"name": chance.choice(("Mara", "Ida")), "caption": chance.choice(WORDS)},
        }
        for _ in range(chance.randrange(1, 60))
    ]


async def ranked(store: Store, namespace: str, seed: int) -> list[list[tuple[str, int, float]]]:
    """Return what random questions find in random conversations, in a session, for a user and everywhere."""
    chance = random.Random(seed)
    async with MemoryLedger.open(namespace=namespace, store=store, config={"profile": "none"}) as ledger:
        for session in "abc":
            await ledger.add_entries(session, conversation(chance), user_id="u" if session == "c" else None)
        head = (await ledger.get_state("a")).version
        await ledger.fork("a", "f", version=chance.randrange(1, head + 1))
        await ledger.add_entries("f", conversation(chance))
        found = []
        for _ in range(12):
            query = " ".join(chance.choices(WORDS, k=chance.randrange(1, 8))) + chance.choice(("", " on 8 May 2025"))
            scope = chance.choice(({}, {"session_id": "a"}, {"session_id": "f"}, {"user_id": "u"}))
            hits = await ledger.search(query, top_k=40, around=0, **scope)
            found.append([(hit.session_id, hit.version, hit.score) for hit in hits])
        return found


async def test_both_stores_rank_alike(
    seed: int, postgres_store: PostgresStore, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_postgres = await ranked(postgres_store, namespace, seed)
    in_memory = await ranked(InMemoryStore(), namespace, seed)
    assert sum(map(len, by_postgres)) > 50
    for one, other in zip(by_postgres, in_memory, strict=True):
        assert [score for *_, score in one] == pytest.approx([score for *_, score in other], rel=1e-4)
        assert {place[:2] for place in one} == {place[:2] for place in other}
    monkeypatch.setenv("MEMORY_LEDGER_SEARCH_RANKING", '{"after": 0.5}')
    changed = await ranked(InMemoryStore(), f"{namespace}-changed", seed)
    assert changed != in_memory, "the control: another weight"
