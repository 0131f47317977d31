"""The published client, unmodified, against a running service."""

from collections.abc import AsyncIterator

import pytest
from agent_memory_client import MemoryAPIClient, MemoryClientConfig

from tests.server.conftest import Running


@pytest.fixture
async def client(service: Running, namespace: str) -> AsyncIterator[MemoryAPIClient]:
    """The client, whose sessions are in this test's namespace."""
    config = MemoryClientConfig(base_url=service.url, default_namespace=namespace, timeout=30)
    async with MemoryAPIClient(config) as opened:
        yield opened
