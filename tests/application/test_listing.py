"""Listing sessions and events. Source: design §6, R-000-2."""

import asyncio

import pytest

from ledger.memory import MemoryLedger
from ledger.ports.session_index import IndexedSession
from tests.application.conftest import SMALL, talk


def named(rows: list[IndexedSession]) -> list[tuple[str, str]]:
    return [(row.session_id, row.user_id) for row in rows]


async def test_an_empty_namespace_lists_nothing(anywhere: MemoryLedger) -> None:
    assert await anywhere.list_sessions() == []


async def test_a_row_has_the_numbers_of_its_session(anywhere: MemoryLedger) -> None:
    await anywhere.update_config("s", SMALL)
    await talk(anywhere, 6)
    await talk(anywhere, 1, session="t")
    await anywhere.add_user_message("s", "mine", user_id="judith")
    for row in await anywhere.list_sessions():
        stats = await anywhere.get_stats(row.session_id, user_id=row.user_id)
        assert (row.entries, row.active, row.summaries) == (
            stats.total_entries,
            stats.active_entries,
            stats.summaries,
        )
        assert (row.total_tokens, row.active_tokens, row.version) == (
            stats.total_tokens,
            stats.active_tokens,
            stats.version,
        )
        assert (row.created_at, row.updated_at, row.status) == (stats.created_at, stats.updated_at, "live")


async def test_rows_follow_what_happens(anywhere: MemoryLedger) -> None:
    async def row() -> tuple[int, int, int, str]:
        (found,) = await anywhere.list_sessions()
        return (found.version, found.entries, found.active, found.status)

    await talk(anywhere, 2)
    assert await row() == (3, 2, 2, "live")
    await anywhere.remove_entry("s", (await anywhere.get_active_entries("s"))[0].entry_id)
    assert await row() == (4, 2, 1, "live")
    await anywhere.clear_session("s", end=True)
    assert await row() == (5, 0, 0, "ended")


async def test_the_newest_come_first(anywhere: MemoryLedger) -> None:
    for name in ("a", "b", "c", "a"):
        await talk(anywhere, 1, session=name)
        await asyncio.sleep(0.002)
    assert named(await anywhere.list_sessions()) == [("a", ""), ("c", ""), ("b", "")]
    assert named(await anywhere.list_sessions(limit=2)) == [("a", ""), ("c", "")]


async def test_a_user_lists_only_their_own_sessions(anywhere: MemoryLedger) -> None:
    for user in (None, "judith", "tom"):
        await anywhere.add_user_message("s", "hello", user_id=user)
    assert named(await anywhere.list_sessions(user_id="judith")) == [("s", "judith")]
    assert named(await anywhere.list_sessions(user_id="")) == [("s", "")]
    assert len(await anywhere.list_sessions()) == 3
    assert await anywhere.list_sessions(user_id="nobody") == []


@pytest.mark.parametrize("limit", [1, 7, 25, 1_000])
async def test_pages_hold_every_session_once(anywhere: MemoryLedger, limit: int) -> None:
    await asyncio.gather(*(talk(anywhere, 1, session=f"session {number}") for number in range(25)))
    found: list[IndexedSession] = []
    after = None
    while page := await anywhere.list_sessions(limit=limit, after=after):
        assert len(page) <= limit
        found += page
        after = (page[-1].updated_at, page[-1].stream_id)
    assert sorted(named(found)) == sorted((f"session {number}", "") for number in range(25))
    assert found == await anywhere.list_sessions()


async def test_events_are_listed_in_order_and_in_part(anywhere: MemoryLedger) -> None:
    await anywhere.update_config("s", SMALL)
    await talk(anywhere, 6)
    events = await anywhere.get_events("s")
    assert [event.version for event in events] == list(range(1, len(events) + 1))
    assert await anywhere.get_events("s", after_version=3) == events[3:]
    assert await anywhere.get_events("s", after_version=len(events)) == []
    assert await anywhere.get_events("s", after_version=99) == []
    assert await anywhere.get_events("s", limit=2) == events[:2]
    assert await anywhere.get_events("s", after_version=2, limit=3) == events[2:5]
    assert await anywhere.get_events("s", limit=99) == events
    entries = [event for event in events if event.type == "entry.added"]
    assert await anywhere.get_events("s", type="entry.added") == entries
    assert await anywhere.get_events("s", type="entry.added", after_version=3, limit=2) == entries[2:4]
    assert await anywhere.get_events("s", type="no.such") == []
