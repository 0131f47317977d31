"""Entries under ids of the caller's own: usually one call, and never stored twice. Source: trust R-3, decision 8."""

import asyncio
from typing import Any

import pytest

from ledger.errors import DuplicateEntry
from ledger.ports import Store, with_events
from ledger.results import Added
from ledger.stores.in_memory import InMemoryStore
from tests.support.broken_stores import LooksForItemsOutsideTheLock
from tests.support.counting_store import CountingStore
from tests.support.ledgers import ledger_over


def entry(entry_id: str, content: str = "hello") -> dict[str, Any]:
    """Return an entry under an id of the caller's own."""
    return {"role": "user", "content": content, "entry_id": entry_id}


async def test_an_entry_under_a_new_id_takes_one_call_of_the_store() -> None:
    store = CountingStore(InMemoryStore())
    ledger = ledger_over(store)
    await ledger.add_entries("s", [entry("a")])
    store.reset()
    await ledger.add_entries("s", [entry("b"), entry("c")])
    await ledger.add_user_message("s", "hello", entry_id="d")
    assert store.calls == ["append", "append"]


async def test_an_id_that_a_batch_repeats_is_known_from_its_second_entry_on(store: Store, namespace: str) -> None:
    ledger = ledger_over(store, namespace=namespace)
    await ledger.add_entries("s", [entry("old")])
    batch = [entry("a"), entry("b"), entry("a"), entry("old"), entry("a")]
    for replayed in (False, True):
        added = await ledger.add_entries("s", batch, idempotency_key="k")
        assert [(each.entry_id, each.known) for each in added.entries] == [
            ("a", False), ("b", False), ("a", True), ("old", True), ("a", True),
        ]  # fmt: skip
        assert added.replayed is replayed


async def test_an_id_may_be_used_again_after_a_clear(store: Store, namespace: str) -> None:
    ledger, other = ledger_over(store, namespace=namespace), ledger_over(store, namespace=namespace)
    await ledger.add_entries("s", [entry("a"), entry("b")])
    await other.clear_session("s")
    (added,) = (await ledger.add_entries("s", [entry("a", "another text")])).entries
    assert not added.known


async def check_two_processes(store: Store, namespace: str) -> None:
    """Add the same entries from two processes at once, each time under a new id."""
    ledgers = [ledger_over(store, namespace=namespace) for _ in range(2)]
    for ledger in ledgers:
        await ledger.add_entries("s", [entry(f"first-of-{id(ledger)}")])
    for number in range(20):
        for contents in (("same", "same"), ("this", "that")):
            entry_id = f"{number}-{contents[1]}"
            answers = await asyncio.gather(
                *(
                    ledger.add_entries("s", [entry(entry_id, content)])
                    for ledger, content in zip(ledgers, contents, strict=True)
                ),
                return_exceptions=True,
            )
            added = [answer.entries[0] for answer in answers if isinstance(answer, Added)]
            assert sum(not each.known for each in added) == 1, answers
            refused = [answer for answer in answers if isinstance(answer, DuplicateEntry)]
            assert len(refused) == (contents[0] != contents[1])


async def test_of_two_processes_that_add_one_id_only_one_stores_it(store: Store, namespace: str) -> None:
    await check_two_processes(store, namespace)


async def test_a_store_that_looks_for_items_too_early_is_caught() -> None:
    """Negative control."""
    store = InMemoryStore()
    with pytest.raises(AssertionError):
        await check_two_processes(with_events(store, LooksForItemsOutsideTheLock(store.events)), "default")
