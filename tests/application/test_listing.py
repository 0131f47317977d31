"""Listing sessions and events. Source: style §4, R-000-2."""

import asyncio

import pytest

from ledger.application.forking import fork_family
from ledger.errors import InvalidInput, SessionNotFound
from ledger.events import ForkedFrom
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


async def test_sessions_are_found_by_id_and_time_and_say_what_they_were_forked_from(anywhere: MemoryLedger) -> None:
    await talk(anywhere, 2, session="first")
    await asyncio.sleep(0.002)
    fork = await anywhere.fork("first", "second", version=2, new_user_id="judith")
    listed = await anywhere.list_sessions()
    assert [row.forked_from for row in listed] == [ForkedFrom(session_id="first", version=fork.at_version), None]
    assert named(await anywhere.list_sessions(id_part="sec")) == [("second", "judith")]
    assert named(await anywhere.list_sessions(updated_after=listed[1].updated_at)) == [("second", "judith")]
    assert named(await anywhere.list_sessions(updated_before=listed[0].updated_at.isoformat())) == [("first", "")]
    assert named(await anywhere.list_sessions(id_prefix="fir")) == [("first", "")]
    assert named(await anywhere.list_sessions(id_prefix="irst")) == [], "control: it does not begin so"
    assert named(await anywhere.list_sessions(user_prefix="jud")) == [("second", "judith")]
    await talk(anywhere, 1, session="two words")
    assert named(await anywhere.list_sessions(id_prefix="two ")) == [("two words", "")]
    assert named(await anywhere.list_sessions(id_prefix=".")) == []
    for wrong in ({"id_prefix": ""}, {"id_prefix": "a/"}, {"user_prefix": "x" * 256}, {"user_prefix": 1}):
        with pytest.raises(InvalidInput):
            await anywhere.list_sessions(**wrong)
    for wrong in ({"id_part": ""}, {"id_part": "a\x00"}, {"updated_after": "yesterday"}):
        with pytest.raises(InvalidInput):
            await anywhere.list_sessions(**wrong)


async def test_a_family_has_all_who_share_a_beginning(anywhere: MemoryLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    await talk(anywhere, 2, session="root")
    await talk(anywhere, 1, session="stranger")
    await anywhere.fork("root", "left", version=2)
    await anywhere.fork("root", "right", new_user_id="judith")
    await anywhere.fork("left", "leaf")
    await anywhere.clear_session("leaf", end=True)
    found = await anywhere.family("left")
    assert found == await anywhere.family("right", user_id="judith") == await anywhere.family("root")
    members = {each.session_id: each for each in found.members}
    assert (found.root, found.cut, set(members)) == (members["root"], False, {"root", "left", "right", "leaf"})
    assert [(each.parent, each.at_version, each.status) for each in (members["leaf"], members["right"])] == [
        ("left", 3, "ended"), ("root", 3, "live")
    ]  # fmt: skip
    assert (members["right"].user_id, members["right"].parent_user_id, members["leaf"].version) == ("judith", "", 5)
    assert await anywhere.family("stranger") != found
    monkeypatch.setattr(fork_family, "MOST_MEMBERS", 2)
    cut = await anywhere.family("leaf")
    assert cut.cut
    assert {"root", "left", "leaf"} <= {each.session_id for each in cut.members}, "its own line is there"
    with pytest.raises(SessionNotFound):
        await anywhere.family("nobody")


async def test_sessions_are_found_by_the_runs_that_wrote_in_them(anywhere: MemoryLedger) -> None:
    async def found(run_id: str) -> set[str]:
        return {row.session_id for row in await anywhere.list_sessions(run_id=run_id)}

    def said(text: str, **metadata: object) -> dict[str, object]:
        return {"role": "user", "content": text, "metadata": metadata}

    await anywhere.add_entries("s", [said("one", run_id="r-1"), said("two", run_id="r-2"), said("three", run="r-9")])
    await anywhere.add_entries("t", [said("one", run_id="r-1", other=1), said("two", run_id=5), said("r-9")])
    await anywhere.add_entries("u", [said("one", about={"run_id": "r-9"}), said("two", run_id="x" * 441)])
    assert (await found("r-1"), await found("r-2"), await found("r-9")) == ({"s", "t"}, {"s"}, set())
    await anywhere.keep("u", [{"space": "runs", "key": "r-3", "value": None}])
    await anywhere.keep("t", [{"space": "others", "key": "r-3", "value": {"space": "runs"}}])
    assert await found("r-3") == {"u"}, "control: only the keys of the space `runs` are runs"
    await anywhere.fork("s", "early", version=2)
    await anywhere.fork("s", "late", version=3)
    await anywhere.add_entries("early", [said("more", run_id="r-4")])
    assert await found("r-2") == {"s", "late"}
    assert await found("r-1") == {"s", "t", "early", "late"}
    assert await found("r-4") == {"early"}
    await anywhere.remove_entry("t", (await anywhere.get_active_entries("t"))[0].entry_id)
    await anywhere.clear_session("s", end=True)
    await anywhere.update_config("t", SMALL)
    await talk(anywhere, 6, session="t")
    await anywhere.add_entries("t", [said("summarized before", run_id="r-5")])
    assert await found("r-1") == {"s", "t", "early", "late"}, "also of what was removed, and of lives that ended"
    assert await found("r-5") == {"t"}, "of a session whose row follows from its state"
    assert {row.session_id for row in await anywhere.list_sessions(run_id="r-1", status="live")} == {
        "t", "early", "late"
    }  # fmt: skip
    await anywhere.rebuild_projections("session_index")
    assert (await found("r-1"), await found("r-4")) == ({"s", "t", "early", "late"}, {"early"})
    assert (await anywhere.verify(caches=True)).ok
    for wrong in ("", "a\x00", "x" * 441, 1):
        with pytest.raises(InvalidInput):
            await anywhere.list_sessions(run_id=wrong)  # type: ignore[arg-type]
