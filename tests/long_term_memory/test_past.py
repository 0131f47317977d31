"""Records of a user as they were, reads of many, and changes that are one write, on each store."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from ledger.errors import InvalidInput
from ledger.memory import MemoryLedger
from ledger.ports import Store


@pytest.fixture
async def own_ledger(store: Store, namespace: str) -> AsyncIterator[MemoryLedger]:
    """A ledger on each store."""
    async with MemoryLedger.open(namespace=namespace, store=store) as opened:
        yield opened


def fact(record_id: str, text: str, **more: Any) -> dict[str, Any]:
    return {"id": record_id, "text": text, "user_id": "mia", **more}


async def test_the_past_of_a_user_has_what_was_live_then(own_ledger: MemoryLedger) -> None:
    memory = own_ledger.long_term
    await memory.create([fact("a", "Mia lives in Oslo"), fact("b", "Mia likes figs")])
    await memory.create([fact("b2", "Mia likes figs")], deduplicate=False)
    version = await memory.version("mia")
    assert version == 3
    await memory.compact()
    await memory.patch("a", {"text": "Mia lives in Rome"})
    await memory.delete(["b"])
    past = memory.past("mia", version=version)
    assert [record.text for record in await past.get_many(["a", "b", "b2", "other"])] == [
        "Mia lives in Oslo",
        "Mia likes figs",
        "Mia likes figs",
    ]
    assert [each.record.record_id for each in (await past.search("Oslo")).memories] == ["a"]
    assert (await past.search({"user_id": {"eq": "mia"}, "limit": 1})).next_offset == 1
    merged = memory.past("mia", version=version + 1)
    assert [record.record_id for record in await merged.get_many(["a", "b", "b2"])] == ["a", "b"], "one was merged"
    now = memory.past("mia", version=await memory.version("mia"))
    assert [record.text for record in await now.get_many(["a", "b", "b2"])] == ["Mia lives in Rome"]
    assert await memory.past("nobody", version=0).get_many(["a"]) == []
    with pytest.raises(InvalidInput):
        memory.past("mia")


async def test_many_records_are_read_at_once(own_ledger: MemoryLedger) -> None:
    memory = own_ledger.long_term
    await memory.create([fact("a", "one"), fact("b", "two")])
    await memory.delete(["b"])
    (found,) = await memory.get_many(["a", "b", "c"], counts_reads=False)
    assert (found.text, found.access_count) == ("one", 0)
    await memory.get_many(["a"])
    assert (await memory.get_many(["a"]))[0].access_count == 1
    assert await memory.get_many([]) == []


async def test_records_are_created_and_deleted_in_one_write(own_ledger: MemoryLedger) -> None:
    memory = own_ledger.long_term
    await memory.create([fact("a", "one"), fact("of bob", "bob's", user_id="bob")])
    with pytest.raises(InvalidInput, match="delete"):
        await memory.create([fact("a", "other")], delete=["a"])
    with pytest.raises(InvalidInput, match=r"memories\.0"):
        await memory.create([{"id": "b"}], delete=["a"])
    assert len(await memory.get_many(["a", "of bob"])) == 2, "what is refused changes nothing"
    await memory.create([fact("b", "two")], delete=["a", "of bob", "unknown"])
    assert [record.record_id for record in await memory.get_many(["a", "b", "of bob"])] == ["b"]
    assert [each.status for each in await memory.history("of bob")] == ["live", "deleted"]
