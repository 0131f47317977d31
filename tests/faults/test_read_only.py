"""A database that takes no writes, as a standby: reading works, writing fails at once. Source: trust F-6, R-7."""

import subprocess
import time
from collections.abc import Iterator

import pytest
from psycopg import sql

from ledger import StaleAnswer, SyncMemoryLedger
from ledger.errors import ReadOnlyDatabase
from ledger.memory import MemoryLedger
from ledger.stores.postgres import Target
from ledger.verification.database_checks import examine
from tests.cli.conftest import COMMAND
from tests.server.conftest import running
from tests.support import http_client
from tests.support.databases import Server

pytestmark = pytest.mark.postgres

AT_ONCE_S = 2.0


def set_read_only(server: Server, database: str, value: str) -> None:
    """Make new transactions of new connections read-only, or no longer."""
    with server.superuser("postgres") as mighty:
        name = sql.Identifier(database)
        mighty.execute(sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = {}").format(name, value))


@pytest.fixture
def url(server: Server, fresh_database: str) -> Iterator[str]:
    """How a plain login enters a database of this test's own."""
    with server.login("ledger_app") as login:
        yield server.url_of(login, fresh_database)


async def fill(url: str) -> None:
    """Write two sessions; a reader has seen only the first, so that the indexes are behind."""
    async with MemoryLedger.open(url) as ledger:
        await ledger.add_user_message("first", "a week in Lisbon")
        assert len(await ledger.list_sessions()) == 1
        assert len(await ledger.search("Lisbon")) == 1
        await ledger.add_user_message("second", "a week in Oslo")


async def test_a_read_only_database_is_read_and_not_written(server: Server, fresh_database: str, url: str) -> None:
    await fill(url)
    set_read_only(server, fresh_database, "on")
    async with MemoryLedger.open(url) as ledger:
        assert len(await ledger.get_active_entries("second")) == 1
        with pytest.warns(StaleAnswer, match=r"is as of position \d+ of \d+ \(20.*Z\): this server takes no writes"):
            assert [each.session_id for each in await ledger.list_sessions()] == ["first"]
        with pytest.warns(StaleAnswer, match="is as of position"):
            assert len(await ledger.search("week")) == 1
        for session in ("second", "third"):
            began = time.monotonic()
            with pytest.raises(ReadOnlyDatabase, match="use the URL of the server that takes writes"):
                await ledger.add_user_message(session, "never stored")
            assert time.monotonic() - began < AT_ONCE_S
    found = {check.name: check for check in await examine(url, embedded=False)}
    assert found["writes"].level == "fails"
    set_read_only(server, fresh_database, "off")
    async with MemoryLedger.open(url) as ledger:
        await ledger.add_user_message("second", "stored")
        assert {each.session_id for each in await ledger.list_sessions()} == {"first", "second"}
        assert len(await ledger.search("week")) == 2
    assert {check.name: check.level for check in await examine(url, embedded=False)}["writes"] == "ok"


@pytest.mark.full
def test_what_was_never_built_is_left_out_and_said(server: Server, fresh_database: str, url: str) -> None:
    with SyncMemoryLedger.open(url) as ledger:
        ledger.add_user_message("first", "a week in Lisbon")
    set_read_only(server, fresh_database, "on")
    with SyncMemoryLedger.open(url) as ledger:
        for read in (ledger.list_sessions, lambda: ledger.search("Lisbon")):
            with pytest.warns(StaleAnswer, match="was never built, so none of"):
                assert read() == []
        assert len(ledger.get_active_entries("first")) == 1
    for options in ([], ["--json"]):
        command = [COMMAND, "--database-url", url, *options, "sessions"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "was never built" in done.stderr


async def test_an_index_that_is_of_now_says_nothing(server: Server, fresh_database: str, url: str) -> None:
    """Negative control."""
    await fill(url)
    async with MemoryLedger.open(url) as ledger:
        await ledger.list_sessions()
        await ledger.search("week")
    set_read_only(server, fresh_database, "on")
    async with MemoryLedger.open(url) as ledger:  # a warning would be an error
        assert len(await ledger.list_sessions()) == 2
        assert len(await ledger.search("week")) == 2


async def test_a_tool_of_mcp_says_how_old_its_answer_is(server: Server, fresh_database: str, url: str) -> None:
    pytest.importorskip("mcp.server.mcpserver")
    from mcp.client import Client  # noqa: PLC0415 - an extra

    from ledger.adapters.mcp import server as mcp_server  # noqa: PLC0415 - an extra

    await fill(url)
    set_read_only(server, fresh_database, "on")
    async with Client(mcp_server(database_url=url)) as client:
        for tool, arguments in (("list_sessions", {}), ("search_memory", {"query": "week"})):
            found = await client.call_tool(tool, arguments)
            assert not found.is_error, found.content
            assert found.structured_content is not None
            assert "is as of position" in str(getattr(found.content[-1], "text", "")), tool
        (listed,) = (await client.read_resource("ledger://sessions")).contents
        assert "is as of position" in str(getattr(listed, "text", ""))
        found = await client.call_tool("get_context", {"session_id": "second"})
        assert "is as of position" not in str(found.content)


async def test_a_service_says_that_it_cannot_write(server: Server, fresh_database: str, url: str) -> None:
    await fill(url)
    entry = {"entries": [{"role": "user", "content": "hello"}]}
    set_read_only(server, fresh_database, "on")
    with running(Target(url), docs=True) as service:
        paths = ("/v1/sessions", "/v1/working-memory/", "/v1/sessions/second/stats")
        for path in paths:
            found = http_client.get(f"{service.url}{path}")
            assert found.status_code == 200, path
            assert ("is as of position" in found.headers.get("Ledger-Index-Age", "")) == (path != paths[-1]), path
        documented = http_client.get(f"{service.url}/openapi.json").json()["paths"]
        for path in paths[:-1]:
            assert "Ledger-Index-Age" in documented[path]["get"]["responses"]["200"]["headers"], path
        answer = http_client.post(f"{service.url}/v1/sessions/second/entries", json=entry)
        assert (answer.status_code, answer.json()["code"]) == (503, "read_only_database")
        ready = http_client.get(f"{service.url}/readyz")
        assert (ready.status_code, ready.json()["checks"]["writes"]) == (503, "read_only_database")
