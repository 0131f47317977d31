"""The listing of sessions is as new as the log, and one session that cannot be read hides no other (style §2, §4)."""

import pytest
from msgspec.structs import replace

from ledger.errors import LogCorrupted, UnknownEvent
from ledger.events.ids import Stream
from ledger.indexes.stored_projections.session_list import SessionIndex
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.ports.session_index import IndexedSession
from tests.support.store_requests import an_event, append


async def test_a_session_is_listed_as_it_is_after_its_newest_event(store: Store, namespace: str) -> None:
    async with MemoryLedger.open(namespace=namespace, store=store) as ledger:
        await ledger.add_user_message("one", "hello")
        await ledger.add_user_message("two", "hello", user_id="u")
        assert [row.session_id for row in await ledger.list_sessions()] == ["two", "one"]
        await ledger.add_user_message("one", "hello again")
        await ledger.clear_session("two", user_id="u", end=True)
        listed = {row.session_id: row for row in await ledger.list_sessions()}
        assert (listed["one"].entries, listed["one"].active, listed["one"].version) == (2, 2, 3)
        assert (listed["two"].status, listed["two"].active, listed["two"].user_id) == ("ended", 0, "u")
        assert [row.session_id for row in await ledger.list_sessions(user_id="u")] == ["two"]


async def test_a_session_of_a_newer_release_hides_no_other(
    store: Store, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Stream.of(namespace, "from the future")
    await append(store, stream, replace(an_event(), type="entry.sung"))
    async with MemoryLedger.open(namespace=namespace, store=store) as ledger:
        await ledger.add_user_message("of today", "hello")
        with pytest.raises(UnknownEvent):
            await ledger.get_state("from the future")
        listed = {row.session_id: (row.status, row.version, row.entries) for row in await ledger.list_sessions()}
        assert listed == {"from the future": ("unreadable", 1, 0), "of today": ("live", 2, 1)}

        async def readable(self: SessionIndex, row: IndexedSession) -> object:
            raise LogCorrupted("read again")

        monkeypatch.setattr(SessionIndex, "_read_again", readable)
        with pytest.raises(LogCorrupted):
            await ledger.list_sessions()  # a release that knows more looks at it again
