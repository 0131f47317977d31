"""A server that could lose what it acknowledged is refused. Source: trust P-2."""

import logging

import pytest

from ledger.errors import NotAllowed, UnsafeDatabase
from ledger.events.ids import Stream
from ledger.memory import MemoryLedger
from ledger.stores.postgres import PostgresStore
from tests.support.command_process import assert_unavailable, run
from tests.support.killable_server import KillableServer
from tests.support.store_requests import an_event, append
from tests.support.writers_under_load import opened

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("killed servers")]

SETTINGS = ["fsync", "full_page_writes", "synchronous_commit"]


@pytest.mark.parametrize("setting", SETTINGS)
async def test_a_server_with_this_setting_off_is_refused_until_it_is_on(
    killable: KillableServer, database: str, setting: str
) -> None:
    refused = pytest.raises(UnsafeDatabase, match=f"^{setting} is off, so an acknowledged append could be lost")
    with killable.settings(**{setting: "off"}), refused:
        await PostgresStore.open(killable.target(database))
    async with opened(killable.target(database)) as store:
        assert store.login.unsafe_settings == ()


async def test_a_ledger_and_the_command_line_refuse_it_too(killable: KillableServer, database: str) -> None:
    with killable.server.login("ledger_app") as login, killable.settings(fsync="off"):
        url = killable.server.url_of(login, database)
        with pytest.raises(UnsafeDatabase, match="fsync"):
            await MemoryLedger.open(url).__aenter__()
        assert_unavailable(run("--database-url", url, "add", "s", "hello"), "fsync is off")


@pytest.mark.parametrize("setting", SETTINGS)
async def test_unsafe_settings_can_be_allowed_and_are_logged(
    killable: KillableServer, database: str, namespace: str, setting: str, caplog: pytest.LogCaptureFixture
) -> None:
    with killable.server.login("ledger_app") as login, killable.settings(**{setting: "off"}):
        url = killable.server.url_of(login, database)
        async with MemoryLedger.open(url, namespace, allow_unsafe=True) as ledger:
            await ledger.add_user_message("s", "at my own risk")
            assert len(await ledger.get_active_entries("s")) == 1
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings == [f"{setting} is off: an acknowledged append may be lost"]


async def test_a_store_does_not_append_once_its_server_stops_waiting_for_the_disk(
    killable: KillableServer, database: str, namespace: str
) -> None:
    stream = Stream.of(namespace, "session-1")
    async with opened(killable.target(database)) as store:
        await append(store, stream, an_event())
        with killable.settings(synchronous_commit="off"), pytest.raises((NotAllowed, UnsafeDatabase)):
            await append(store, stream, an_event())
        assert (await append(store, stream, an_event())).receipts[0].version == 2
