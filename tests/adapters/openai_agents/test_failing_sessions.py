"""Sessions whose database loses requests or answers, and callers who leave. Source: adapters AD-2 … AD-11, OA-6."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from agents.run_internal.items import fingerprint_input_item

from ledger.adapters.foreign_names import name_of
from ledger.adapters.openai_agents import MemoryLedgerSession
from ledger.errors import DatabaseUnavailable, Unavailable
from ledger.stores.in_memory import InMemoryStore
from tests.support.failing_store import FailsNthCall, WaitsToAppend
from tests.support.ledgers import ledger_over

Use = Callable[[MemoryLedgerSession], Awaitable[Any]]
ITEMS: list[Any] = [{"role": "user", "content": str(at)} for at in range(4)]


async def replace(session: MemoryLedgerSession) -> bool:
    snapshot = await session._get_compaction_snapshot(2)
    assert snapshot is not None
    return await snapshot.replace_suffix(0, [{"role": "user", "content": "short"}])


USES: dict[str, tuple[Use, list[str]]] = {
    "add": (lambda session: session.add_items(ITEMS[:1]), ["0", "1", "2", "3", "0"]),
    "pop": (lambda session: session.pop_item(), ["0", "1", "2"]),
    "clear": (lambda session: session.clear_session(), []),
    "replace": (replace, ["0", "1", "short"]),
    "fork": (lambda session: session.fork("other"), ["0", "1", "2", "3"]),
}


async def failing_uses(use: Use, *, after: bool) -> list[tuple[Any, list[str]]]:
    """Use a session with each call to the store failing in turn; return the answers, and what is then stored."""
    found = []
    for n in range(1, 100):
        memory = InMemoryStore()
        await MemoryLedgerSession("s", ledger=ledger_over(memory)).add_items(ITEMS)
        failing: Any = FailsNthCall(memory, n, after=after)
        try:
            answer = await use(MemoryLedgerSession("s", ledger=ledger_over(failing)))
        except DatabaseUnavailable as fault:
            answer = fault
        left = await MemoryLedgerSession("s", ledger=ledger_over(memory)).get_items()
        found.append((answer, [item["content"] for item in left]))
        if not failing.failed:
            break
    assert len(found) > 2
    return found


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("name", USES)
async def test_a_write_is_done_once_however_the_database_fails__AD_10(name: str, after: bool) -> None:
    use, expected = USES[name]
    for answer, left in await failing_uses(use, after=after):
        assert not isinstance(answer, DatabaseUnavailable) or name == "replace", "one failure is made up for"
        assert left == (["0", "1", "2", "3"] if isinstance(answer, DatabaseUnavailable) else expected)
        if name == "pop":
            assert answer == ITEMS[3]
        if name == "replace" and not isinstance(answer, DatabaseUnavailable):
            assert answer is True


@pytest.mark.parametrize("name", ["add", "pop"])
async def test_a_write_that_is_done_twice_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: each try has a key of its own, or none."""
    monkeypatch.setattr("ledger.application.handle.NamespaceHandle.idempotency", lambda *asked: None)
    use, expected = USES[name]
    assert any(left != expected for _, left in await failing_uses(use, after=True))


@pytest.mark.parametrize("name", ["add", "pop", "clear"])
async def test_a_write_that_began_is_finished_before_the_cancellation__AD_11(name: str) -> None:
    memory = InMemoryStore()
    await MemoryLedgerSession("s", ledger=ledger_over(memory)).add_items(ITEMS)
    slow: Any = WaitsToAppend(memory)
    use, expected = USES[name]
    writing = asyncio.ensure_future(use(MemoryLedgerSession("s", ledger=ledger_over(slow))))
    await slow.begun.wait()
    for _ in range(2):
        writing.cancel()
        await asyncio.sleep(0.01)
        assert not writing.done()
    slow.goes_on.set()
    with pytest.raises(asyncio.CancelledError):
        await writing
    left = await MemoryLedgerSession("s", ledger=ledger_over(memory)).get_items()
    assert [item["content"] for item in left] == expected


async def test_a_closed_session_refuses_every_method__AD_2() -> None:
    session = MemoryLedgerSession("s", ledger=ledger_over(InMemoryStore()))
    await session.add_items(ITEMS)
    past, forked = session.at(version=session.version), await session.fork("f")
    await session.close()
    await session.close()
    uses: list[Use] = [
        *(use for use, _ in USES.values()),
        lambda own: own.add_items([]),
        lambda own: own.get_items(),
        lambda own: own.get_items(0),
        lambda own: own.at(version=1).get_items(),
        lambda own: own._atomic_replace_items([]),
        lambda own: own.ledger.get_stats("s"),
    ]
    for use in uses:
        with pytest.raises(Unavailable, match="closed; open another"):
            await use(session)
    assert len(await past.get_items()) == len(await forked.get_items()) == 4, "each is closed by itself"


@pytest.mark.parametrize("key", ["x" * 300, "\ud800" * 300, "x" * 200 + "\0"])
async def test_an_id_that_is_too_long_is_kept_in_the_session__AD_3(key: str) -> None:
    ledger = ledger_over(InMemoryStore())
    await MemoryLedgerSession(key, ledger=ledger).add_items(ITEMS)
    await MemoryLedgerSession(key, ledger=ledger).add_items(ITEMS[:1])
    await MemoryLedgerSession("short", ledger=ledger).add_items(ITEMS)
    about = (await ledger.get_data(name_of(key)))["~conversation"]
    assert about in ({"id": key}, {"json": ascii(key).replace("'", '"').replace("\\x00", "\\u0000")})
    assert await ledger.get_data("short") == {}
    await MemoryLedgerSession("short", ledger=ledger).fork("y" * 300)
    assert (await ledger.get_data(name_of("y" * 300)))["~conversation"] == {"id": "y" * 300}
    assert len(await MemoryLedgerSession(key, ledger=ledger).get_items()) == 5
    await MemoryLedgerSession(key, ledger=ledger).fork("copy")
    assert await ledger.get_data("copy") == {}, "its id is in its name"


async def test_the_runner_finds_the_tail_that_landed__OA_6() -> None:
    """Its own digests of the stored items are those of what it added."""
    session = MemoryLedgerSession("s", ledger=ledger_over(InMemoryStore()))
    items: list[Any] = [
        {"role": "user", "content": "x", "own": 1.0},
        {"type": "function_call", "call_id": "c", "id": "fc_1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "y"}]},
    ]
    await session.add_items(items)
    assert not getattr(session, "_ignore_ids_for_matching", False)
    digest = fingerprint_input_item
    assert [digest(item) for item in await session.get_items()] == [digest(item) for item in items]
