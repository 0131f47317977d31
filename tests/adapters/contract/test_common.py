"""What all adapters have in common. Source: adapters AD-2, AD-4, AD-5, AD-8, AD-9."""

import asyncio
from threading import Thread
from typing import Any

import pytest

from ledger.errors import InvalidInput, Unavailable
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from tests.adapters.contract.kinds import KINDS, Kind, each_kind, each_that_clears
from tests.support.ledgers import ledger_over

COMPACTING: Any = {"compactions": [{"type": "token_threshold", "max_entries": 4, "recent_window": 2}]}
#: Those whose SDK adds to a list; a graph has states, and an agent of Pydantic AI whole runs.
LISTS = [kind for kind in KINDS if kind.name in {"claude_agent", "langchain", "openai_agents"}]


@each_kind
def test_an_adapter_of_its_own_ledger_is_used_from_any_loop_and_thread__AD_2__LF_9(kind: Kind) -> None:
    shared = InMemoryStore()
    one, two = kind.open(store=shared), kind.open(store=shared)
    asyncio.run(kind.write(one, ["a"]))
    thread = Thread(target=lambda: asyncio.run(kind.write(two, ["b"])))
    thread.start()
    thread.join()
    assert asyncio.run(kind.read(one)) == ["a", "b"]
    asyncio.run(closed(one))
    asyncio.run(closed(one))
    for use in (kind.read, lambda adapter: kind.write(adapter, ["c"])):
        with pytest.raises(Unavailable, match="closed; open another"):
            asyncio.run(use(one))
    assert asyncio.run(kind.read(two)) == ["a", "b"], "each is closed by itself"
    asyncio.run(closed(two))


async def closed(adapter: Any) -> None:
    closing = adapter.close()
    if closing is not None:
        await closing


@each_kind
@pytest.mark.postgres
async def test_an_adapter_opens_by_url_or_by_environment__AD_2(
    kind: Kind, url: str, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_url = kind.open(url, namespace=namespace)
    await kind.write(by_url, ["a"])
    monkeypatch.setenv("MEMORY_LEDGER_DATABASE_URL", url)
    monkeypatch.setenv("MEMORY_LEDGER_NAMESPACE", namespace)
    by_environment = kind.open()
    assert await kind.read(by_environment) == ["a"]
    for adapter in (by_url, by_environment):
        await closed(adapter)
    if kind.name != "langgraph":  # which has `open` for a URL
        with pytest.raises(InvalidInput, match="ledger"):
            kind.open(url, ledger=ledger_over(InMemoryStore()))


@each_kind
async def test_nothing_that_an_adapter_wrote_is_compacted__AD_4(kind: Kind) -> None:
    texts = [f"text {number}" for number in range(400)]
    ledger = ledger_over(InMemoryStore(), config=COMPACTING)
    await kind.write(kind.open(ledger=ledger), texts)
    await ledger.settle()
    assert await kind.read(kind.open(ledger=ledger)) == texts
    (session,) = await ledger.list_sessions()
    state = await ledger.get_state(session.session_id, user_id=kind.user_id)
    assert (state.config.compactions, state.counts.covered) == ((), 0)


async def test_a_session_that_compacts_is_seen() -> None:
    """The control: under that config the window loses what an adapter reads."""
    ledger = ledger_over(InMemoryStore(), config=COMPACTING)
    await ledger.add_entries("s", [{"role": "user", "content": f"text {number} " * 9} for number in range(40)])
    await ledger.settle()
    assert (await ledger.get_state("s")).counts.covered > 0


@each_kind
async def test_hard_texts_come_back_as_they_were__AD_5(kind: Kind, store: Store, namespace: str) -> None:
    half = "\u0378" if kind.name == "langgraph" else "\ud800"  # whose own serializer takes no half of a character
    texts = ["x\0y", half, " ", "\u202eabc", "tab\tand\r\n", "9" * 100_000]
    ledger = ledger_over(store, namespace=namespace)
    await kind.write(kind.open(ledger=ledger), texts)
    assert await kind.read(kind.open(ledger=ledger_over(store, namespace=namespace))) == texts
    assert (await ledger.verify()).ok


@pytest.mark.parametrize("kind", LISTS, ids=lambda kind: kind.name)
async def test_writers_at_once_split_no_write__AD_8(kind: Kind, store: Store, namespace: str) -> None:
    ledgers = [ledger_over(store, namespace=namespace) for _ in range(2)]

    async def write(number: int) -> None:
        adapter = kind.open(ledger=ledgers[number % 2])
        for turn in range(4):
            await kind.write(adapter, [f"{number} asks {turn}", f"{number} hears {turn}"])

    await asyncio.gather(*map(write, range(16)))
    found = await kind.read(kind.open(ledger=ledgers[0]))
    assert len(found) == 128
    for asked, heard in zip(found[::2], found[1::2], strict=True):
        assert asked.replace("asks", "hears") == heard
    for number in range(16):
        own = [text for text in found if text.startswith(f"{number} asks")]
        assert own == [f"{number} asks {at}" for at in range(4)]


@each_that_clears
async def test_what_is_taken_away_stays_in_the_history__AD_9(kind: Kind) -> None:
    assert kind.clear is not None
    ledger = ledger_over(InMemoryStore())
    adapter = kind.open(ledger=ledger)
    await kind.write(adapter, ["a", "b"])
    await kind.clear(adapter)
    assert await kind.read(adapter) == []
    entries = (await ledger.get_history("s", user_id=kind.user_id)).entries
    assert [entry.content for entry in entries] == ["a", "b"]
    await kind.write(adapter, ["c"])
    assert await kind.read(adapter) == ["c"]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.refuses], ids=lambda kind: kind.name)
async def test_an_adapter_that_may_delete_nothing_says_so__AD_9(kind: Kind) -> None:
    ledger = ledger_over(InMemoryStore())
    adapter = kind.open(ledger=ledger, on_delete="refuse")
    await kind.write(adapter, ["a"])
    assert kind.clear is not None
    with pytest.raises(InvalidInput, match="must stay"):
        await kind.clear(adapter)
    assert await kind.read(adapter) == ["a"]
    with pytest.raises(InvalidInput, match="end or refuse"):
        kind.open(ledger=ledger, on_delete="other")
