"""A subscriber that resumes after a restore, on a log that is as long again, is told. Source: trust K-2."""

import copy

import pytest

from ledger.errors import LogRolledBack
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.support.ledgers import ledger_over


async def followed(ledger: MemoryLedger, after: int, after_hash: str | None) -> list[tuple[int, str]]:
    return [(event.position, event.hash) for event in await ledger.get_feed(after=after, after_hash=after_hash)]


async def test_a_subscriber_learns_that_the_log_was_restored() -> None:
    store = InMemoryStore()
    await ledger_over(store).add_user_message("s", "in the backup")
    backup = copy.deepcopy(store)
    await ledger_over(store).add_user_message("s", "lost")
    seen = await followed(ledger_over(store), 0, None)
    assert await followed(ledger_over(store), *seen[1]) == seen[2:], "negative control: nothing was lost"
    with pytest.raises(LogRolledBack):
        await followed(ledger_over(backup), *seen[-1])
    for text in ("after the restore", "and more"):
        await ledger_over(backup).add_user_message("s", text)
    with pytest.raises(LogRolledBack):
        await followed(ledger_over(backup), *seen[-1])
    from_the_start = await followed(ledger_over(backup), 0, None)
    assert [position for position, _ in from_the_start] == [1, 2, 3, 4]
    assert from_the_start[:2] == seen[:2]
    missed = await followed(ledger_over(backup), seen[-1][0], None)
    assert missed == from_the_start[3:], "negative control: without the hash the event at the same place is missed"
