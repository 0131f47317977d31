"""What an append costs above the store, as a count of Python calls: it is the same on every machine.

The bound is a little above what was counted; raise it only for something that is worth its calls.
"""

import sys
from collections.abc import Awaitable, Callable, Iterator
from types import FrameType
from typing import Any, Final

import pytest

from ledger.events.ids import Stream
from ledger.events.names import named_stream
from ledger.memory import MemoryLedger
from ledger.ports import Appended, AppendRequest
from ledger.stores.in_memory import InMemoryStore

CONFIG: Final = {"profile": "none", "tokenizer": "approximate"}
MOST_CALLS: Final = 106


class Calls:
    """Counts the calls of Python functions, but for those of a store."""

    def __init__(self) -> None:
        self.count = 0

    def start(self) -> None:
        sys.setprofile(self._count)

    def stop(self) -> None:
        sys.setprofile(None)

    def _count(self, frame: FrameType, event: str, argument: object) -> None:
        self.count += event == "call"

    def leave_out(self, append: Callable[[AppendRequest], Awaitable[Appended]]) -> Any:
        """Return *append*, whose calls are not counted."""

        async def uncounted(request: AppendRequest) -> Appended:
            counting = sys.getprofile()
            sys.setprofile(None)
            try:
                return await append(request)
            finally:
                sys.setprofile(counting)

        return uncounted


@pytest.fixture
def calls() -> Iterator[Calls]:
    """A counter that no other test keeps."""
    counter = Calls()
    yield counter
    counter.stop()


async def of_an_append(calls: Calls) -> int:
    """Return the calls of one plain message, added to a session that is in use."""
    store = InMemoryStore()
    async with MemoryLedger.open(namespace="calls", store=store, config=CONFIG) as ledger:
        for _ in range(3):
            await ledger.add_user_message("session-1", "hello")
        store.events.append = calls.leave_out(store.events.append)  # type: ignore[method-assign]
        calls.start()
        await ledger.add_user_message("session-1", "hello")
        calls.stop()
    return calls.count


async def test_a_plain_append_makes_few_calls_above_the_store(calls: Calls) -> None:
    assert await of_an_append(calls) <= MOST_CALLS


async def test_work_on_each_character_is_noticed(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""

    def slow(namespace: str, session_id: str, user_id: str) -> Stream:
        assert not any(character.isspace() for character in session_id * 5)
        return named_stream(namespace, session_id, user_id)

    monkeypatch.setattr("ledger.application.handle.named_stream", slow)
    assert await of_an_append(calls) > MOST_CALLS
