"""Long-term memories on each store, and a clock that is set by hand."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from ledger.events.clock import SystemClock
from ledger.long_term_memory import LongTermMemory
from ledger.ports import Store
from tests.support.routable_sql import watched

START = datetime(2026, 5, 1, 12, tzinfo=UTC)


class SetClock:
    """A clock that is set; its ids are real."""

    def __init__(self, now: datetime = START) -> None:
        self.moment = now

    def now(self) -> datetime:
        return self.moment

    def event_id(self) -> UUID:
        return SystemClock().event_id()

    def ulid(self) -> str:
        return SystemClock().ulid()

    def advance(self, **by: float) -> None:
        self.moment += timedelta(**by)


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def memory(store: Store, namespace: str) -> LongTermMemory:
    """Long-term memory of one namespace, the default one."""
    return LongTermMemory(store, namespaces=[namespace], default_namespace=namespace)


@pytest.fixture
def over(store: Store, namespace: str) -> Callable[..., LongTermMemory]:
    """Long-term memory over several namespaces, by the ends of their names."""

    def created(*ends: str, **options: object) -> LongTermMemory:
        names = [f"{namespace}{end}" for end in ends]
        return LongTermMemory(store, namespaces=names, default_namespace=names[0], **options)  # type: ignore[arg-type]

    return created


@pytest.fixture(autouse=True)
def _statements_can_be_routed() -> Iterator[None]:
    """Let a test fail that sends a statement for which nobody could tell the server of its namespace (trust D-14)."""
    with watched():
        yield
