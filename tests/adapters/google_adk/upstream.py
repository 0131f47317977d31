"""A plugin of pytest that puts our session service in the place of the SDK's on SQLite. Source: adapters AD-15, GA-2.

The SDK's own tests make that one anew for each test, and let it diverge from no test of what all services share.
"""

from typing import Any

from google.adk.sessions import sqlite_session_service

from ledger.adapters.google_adk import LedgerSessionService
from ledger.stores.in_memory import InMemoryStore


class ServiceUnderTest(LedgerSessionService):
    """Ours, with the argument of the SDK's `SqliteSessionService`; each on a ledger of its own."""

    def __init__(self, db_path: str) -> None:
        super().__init__(store=InMemoryStore())


sqlite_session_service.SqliteSessionService = ServiceUnderTest


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Run the tests of our service only."""
    ours = [item for item in items if "sqlite" in item.name.partition("[")[2].lower()]
    config.hook.pytest_deselected(items=[item for item in items if item not in ours])
    items[:] = ours
