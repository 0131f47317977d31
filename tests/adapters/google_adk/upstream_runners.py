"""A plugin of pytest that puts our session service in the place of the SDK's in memory, for its tests of runs."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from google.adk import sessions
from google.adk.sessions import in_memory_session_service

from ledger.adapters.google_adk import LedgerSessionService
from ledger.stores.in_memory import InMemoryStore


class RunnersService(LedgerSessionService):
    """Ours, without arguments and with the deprecated methods that the tests call; each on a ledger of its own."""

    used = 0

    def __init__(self) -> None:
        super().__init__(store=InMemoryStore())
        RunnersService.used += 1

    def create_session_sync(self, **given: Any) -> Any:
        return self._now(self.create_session(**given))

    def get_session_sync(self, **given: Any) -> Any:
        return self._now(self.get_session(**given))

    def _now(self, call: Any) -> Any:
        with ThreadPoolExecutor(1) as thread:  # the tests have an event loop in theirs
            return thread.submit(asyncio.run, call).result()


in_memory_session_service.InMemorySessionService = RunnersService
sessions.InMemorySessionService = RunnersService


def pytest_unconfigure() -> None:
    """Say how often it was used."""
    print(f"services made: {RunnersService.used}")
