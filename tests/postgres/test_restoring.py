"""A namespace is restored by its owner with every byte as it was, or not at all. Source: trust E-12, P-12."""

import asyncio
import secrets
from collections.abc import Iterator

import pytest

from ledger.errors import ImportRefused, LedgerError, NamespaceExists, NotAllowed
from ledger.events.ids import Stream
from ledger.formats.export.exporting import export_lines
from ledger.formats.export.namespace_restore import restore
from ledger.memory import MemoryLedger
from ledger.ports import Store
from tests.postgres.conftest import opened
from tests.support.databases import Server
from tests.support.store_requests import a_request, a_write, an_event, append, some_events
from tests.support.whole_log import assert_whole, whole_log

pytestmark = pytest.mark.postgres

PAGES = 3  # of a thousand events each, the last not full
NAMESPACE = f"restored-{secrets.token_hex(4)}"
ONE, OTHER = Stream.of(NAMESPACE, "session-1", "user-1"), Stream.of(NAMESPACE, "日本 'session'")


@pytest.fixture
def empty_place(server: Server) -> Iterator[str]:
    """A migrated database with nothing in it."""
    with server.fresh() as name:
        yield name


async def exported(store: Store, stream: Stream | None = None) -> list[bytes]:
    return [line async for line in export_lines(store, NAMESPACE, stream)]


@pytest.fixture(scope="module")
def written(server: Server, shared_database: str) -> tuple[list[bytes], list[bytes]]:
    """Exports of a namespace of several pages and of one of its two sessions."""

    async def write() -> tuple[list[bytes], list[bytes]]:
        async with opened(server.target(shared_database)) as store:
            requests = [
                a_request(a_write(stream, an_event(f"{number}", item_id="ß", actor="agent:a"), *some_events(99)))
                for number in range(PAGES * 5 - 1)
                for stream in (ONE, OTHER)
            ]
            assert await store.events.append_all(requests) == 2_800
            return await exported(store), await exported(store, ONE)

    return asyncio.run(write())


@pytest.fixture
def lines(written: tuple[list[bytes], list[bytes]]) -> list[bytes]:
    """The export of the namespace."""
    return written[0]


async def found(server: Server, database: str) -> list[bytes]:
    """Return what the namespace exports there; nothing if it is not there."""
    async with opened(server.target(database)) as store:
        return await exported(store) if await whole_log(store, NAMESPACE) else []


async def test_a_restored_namespace_is_the_same_to_the_byte_and_goes_on(
    lines: list[bytes], server: Server, empty_place: str
) -> None:
    answers: list[tuple[int, int]] = []
    done = await asyncio.to_thread(
        restore, server.database(empty_place), lambda: lines, progress=lambda *at: answers.append(at)
    )
    events = len(lines) - 2
    assert (done.namespace, done.sessions, done.events) == (NAMESPACE, 2, events)
    assert answers == [(1_000, events), (2_000, events)]
    assert await found(server, empty_place) == lines
    async with opened(server.target(empty_place)) as store:
        receipts = (await append(store, ONE, an_event())).receipts
        assert receipts[0].position == events + 1
        await assert_whole(store, NAMESPACE, receipts)


async def refused(error: type[LedgerError], url: str, lines: list[bytes]) -> LedgerError:
    with pytest.raises(error) as fault:
        await asyncio.to_thread(restore, url, lambda: lines)
    return fault.value


async def test_the_application_cannot_restore(
    lines: list[bytes], server: Server, empty_place: str, app_login: str
) -> None:
    await refused(NotAllowed, server.url_of(app_login, empty_place), lines)
    assert await found(server, empty_place) == []


@pytest.mark.parametrize("line", [1, 2_500, -1], ids=["first event", "last page", "trailer"])
async def test_a_file_that_was_changed_leaves_nothing(
    line: int, lines: list[bytes], server: Server, empty_place: str
) -> None:
    changed = [*lines]
    changed[line] = changed[line].replace(b"1", b"2", 1)
    await refused(ImportRefused, server.database(empty_place), changed)
    assert await found(server, empty_place) == []


async def test_a_fault_half_way_leaves_nothing(lines: list[bytes], server: Server, empty_place: str) -> None:
    """The file is read twice: what the second reading misses, the first cannot have found."""
    readings = iter([lines, lines[:2_500]])
    with pytest.raises(ImportRefused):
        await asyncio.to_thread(restore, server.database(empty_place), lambda: next(readings))
    assert await found(server, empty_place) == []


async def test_one_session_is_no_namespace(
    written: tuple[list[bytes], list[bytes]], server: Server, empty_place: str
) -> None:
    fault = await refused(ImportRefused, server.database(empty_place), written[1])
    assert fault.code == "not_whole"
    assert await found(server, empty_place) == []


async def test_a_namespace_that_is_there_is_left_alone(
    lines: list[bytes], server: Server, shared_database: str
) -> None:
    await refused(NamespaceExists, server.database(shared_database), lines)
    assert await found(server, shared_database) == lines


async def test_forks_are_restored_as_forks(server: Server, shared_database: str, empty_place: str) -> None:
    name = f"forks-{secrets.token_hex(4)}"
    async with (
        opened(server.target(shared_database)) as store,
        MemoryLedger.open(namespace=name, store=store) as ledger,
    ):
        for number in range(3):
            await ledger.add_user_message("s", f"message {number}")
        await ledger.fork("s", "f", version=3, new_user_id="ann")
        await ledger.fork("f", "g", user_id="ann")
        await ledger.add_user_message("g", "of the fork", user_id="ann")
        whole = [line async for line in ledger.export_file()]
        session = [line async for line in ledger.export_file("g", user_id="ann")]
    assert (await refused(ImportRefused, server.database(empty_place), session)).code == "not_whole"
    await asyncio.to_thread(restore, server.database(empty_place), lambda: whole)
    async with opened(server.target(empty_place)) as store, MemoryLedger.open(namespace=name, store=store) as ledger:
        assert [line async for line in ledger.export_file()] == whole
        assert (await ledger.verify()).ok
        texts = [entry.content for entry in await ledger.get_active_entries("g", user_id="ann")]
        assert texts == ["message 0", "message 1", "of the fork"]
        assert (await ledger.add_user_message("g", "and on", user_id="ann")).version == 7
