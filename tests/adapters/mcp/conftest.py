"""A ledger on PostgreSQL, and calls of tools that have to succeed or to fail."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from mcp.client import Client

from ledger.memory import MemoryLedger
from ledger.stores.postgres import PostgresStore
from tests.support.databases import Server


@pytest.fixture(scope="session")
def app_url(server: Server, shared_database: str) -> Iterator[str]:
    """The shared database, for a login that may read and append, and nothing more."""
    with server.login("ledger_app") as login:
        yield server.url_of(login, shared_database)


@pytest.fixture
async def memory(postgres_store: PostgresStore, namespace: str) -> AsyncIterator[MemoryLedger]:
    """A ledger on PostgreSQL, in a namespace of this test's own."""
    async with MemoryLedger.open(namespace=namespace, store=postgres_store) as opened:
        yield opened


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that has to succeed, and return its structured result."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """Call a tool that has to fail, and return what the client is told."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    (content,) = result.content
    return str(getattr(content, "text", ""))


def said(*texts: str) -> list[dict[str, str]]:
    """Return user messages."""
    return [{"role": "user", "content": text} for text in texts]
