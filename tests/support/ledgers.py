"""Ledgers and workers over a store that the test opened."""

from typing import Any

from ledger.application.handle import NamespaceHandle
from ledger.application.services import Services
from ledger.memory import MemoryLedger
from ledger.ports import Store


def ledger_over(store: Store, *, namespace: str = "default", actor: str = "", **wiring: Any) -> MemoryLedger:
    """Return a ledger over *store*, with services of its own that are wired as `Services` takes it."""
    return MemoryLedger(NamespaceHandle(Services(store, **wiring), namespace, actor))
