"""Session services on each store, and on a database of their own."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest

from ledger.memory import MemoryLedger
from ledger.ports import Store
from tests.support.ledgers import ledger_over

if TYPE_CHECKING:
    from ledger.adapters.google_adk import LedgerSessionService


@pytest.fixture
def opened(store: Store, namespace: str) -> MemoryLedger:
    """A ledger over each store in turn."""
    return ledger_over(store, namespace=namespace)


@pytest.fixture
async def service(opened: MemoryLedger) -> "AsyncIterator[LedgerSessionService]":
    """The session service over it."""
    from ledger.adapters.google_adk import LedgerSessionService  # noqa: PLC0415 - only where the SDK is installed

    async with LedgerSessionService(ledger=opened) as found:
        yield found
