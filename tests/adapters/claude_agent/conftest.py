"""The SDK from its source distribution: its wheel has a program of 160 MB, which no test needs."""

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ledger.adapters.claude_agent import LedgerSessionStore
from ledger.memory import MemoryLedger
from ledger.ports import Store
from tests.support.ledgers import ledger_over
from tests.support.sdists import sdist

#: The newest release, or another one that is asked for.
VERSION = os.environ.get("CLAUDE_AGENT_SDK", "0.2.187")


@pytest.fixture(scope="session")
def source(request: pytest.FixtureRequest) -> Path:
    """The folder of the SDK's source."""
    return sdist("claude-agent-sdk", VERSION, request.config.cache.mkdir("sdists"))


@pytest.fixture(scope="session")
def sdk(source: Path) -> Any:
    """The SDK's module."""
    sys.path.insert(0, str(source / "src"))
    import claude_agent_sdk  # noqa: PLC0415 - only where it could be fetched
    import claude_agent_sdk.testing  # noqa: PLC0415 - as above

    return claude_agent_sdk


@pytest.fixture
def opened(store: Store, namespace: str, sdk: Any) -> MemoryLedger:
    """A ledger over each store in turn."""
    return ledger_over(store, namespace=namespace)


@pytest.fixture
async def sessions(opened: MemoryLedger) -> AsyncIterator[LedgerSessionStore]:
    """The session store over it."""
    async with LedgerSessionStore(ledger=opened) as found:
        yield found
