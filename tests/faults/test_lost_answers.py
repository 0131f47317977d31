"""Answers are lost after the work was done, and a retry does it no second time. Source: trust P-6, F-7."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from ledger.errors import Unavailable
from ledger.memory import MemoryLedger
from ledger.ports import AppendRequest, Store
from ledger.results import AddedEntry
from ledger.stores.postgres.append_call import AppendConnection
from tests.support.killable_server import KillableServer
from tests.support.proxy import Lost, is_append, proxy
from tests.support.whole_log import assert_whole
from tests.support.writers_under_load import opened

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("killed servers")]

SHARE = 0.3
CLIENTS = 8
MESSAGES = 10
CONFIG = {"profile": "none", "tokenizer": "approximate"}

each_way = pytest.mark.parametrize(
    "group_commit", [pytest.param(True, id="grouped"), pytest.param(False, id="alone", marks=pytest.mark.slow)]
)

Send = Callable[[MemoryLedger, str], Awaitable[AddedEntry]]


class Loser:
    """Loses a share of the answers to appends, each after the database has committed."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self.lost = 0

    def __call__(self, request: bytes) -> Lost:
        if not is_append(request) or self._chance.random() >= SHARE:
            return None
        self.lost += 1
        return "after"


@asynccontextmanager
async def behind_a_proxy(
    killable: KillableServer, database: str, loser: Loser, *, patience_s: float, group_commit: bool
) -> AsyncIterator[Store]:
    """Yield a store that loses answers."""
    async with (
        proxy(killable.socket_dir, loser) as folder,
        opened(killable.target(database, via=folder), group_commit=group_commit, patience_s=patience_s) as store,
    ):
        yield store


async def until_answered(attempt: Callable[[], Awaitable[AddedEntry]]) -> AddedEntry:
    """Try again and again, as a client does whose network is bad."""
    for _ in range(100):
        try:
            return await attempt()
        except Unavailable:
            await asyncio.sleep(0.005)
    raise AssertionError("a hundred attempts failed")


async def send_with_key(ledger: MemoryLedger, text: str) -> AddedEntry:
    return await until_answered(lambda: ledger.add_user_message("s", text, idempotency_key=text.replace(" ", "-")))


async def send_without_key(ledger: MemoryLedger, text: str) -> AddedEntry:
    return await until_answered(lambda: ledger.add_user_message("s", text))


async def all_sent_once(store: Store, namespace: str, send: Send) -> None:
    """Let clients send their messages through *store*, and check that each is stored once, as they were told."""
    async with MemoryLedger.open(namespace=namespace, store=store, config=CONFIG) as ledger:

        async def work(client: int) -> dict[str, AddedEntry]:
            texts = [f"client {client} message {number}" for number in range(MESSAGES)]
            return {text: await send(ledger, text) for text in texts}

        answers = {
            text: entry for each in await asyncio.gather(*map(work, range(CLIENTS))) for text, entry in each.items()
        }
    async with MemoryLedger.open(namespace=namespace, store=store, config=CONFIG) as reader:
        stored = await reader.get_active_entries("s")
        counts = Counter(entry.content for entry in stored)
        assert set(counts) == set(answers), "a message that was acknowledged is lost"
        assert set(counts.values()) == {1}, f"{sum(count > 1 for count in counts.values())} messages are stored twice"
        assert {entry.content: entry.entry_id for entry in stored} == {
            text: entry.entry_id for text, entry in answers.items()
        }


@each_way
async def test_a_client_that_retries_with_its_key_is_heard_once(
    killable: KillableServer, database: str, namespace: str, seed: int, group_commit: bool
) -> None:
    loser = Loser(seed)
    async with behind_a_proxy(killable, database, loser, patience_s=0, group_commit=group_commit) as store:
        await all_sent_once(store, namespace, send_with_key)
        assert loser.lost > 0
    async with opened(killable.target(database)) as store:
        assert len(await assert_whole(store, namespace, [])) == CLIENTS * MESSAGES + 1


@each_way
async def test_a_client_without_key_is_heard_once_as_long_as_the_store_itself_retries(
    killable: KillableServer, database: str, namespace: str, seed: int, group_commit: bool
) -> None:
    loser = Loser(seed)
    async with behind_a_proxy(killable, database, loser, patience_s=10, group_commit=group_commit) as store:
        await all_sent_once(store, namespace, lambda ledger, text: ledger.add_user_message("s", text))
        assert loser.lost > 0
    async with opened(killable.target(database)) as store:
        assert len(await assert_whole(store, namespace, [])) == CLIENTS * MESSAGES + 1


async def test_a_client_that_retries_without_key_is_caught(
    killable: KillableServer, database: str, namespace: str, seed: int
) -> None:
    loser = Loser(seed)
    async with behind_a_proxy(killable, database, loser, patience_s=0, group_commit=True) as store:
        with pytest.raises(AssertionError, match=r"[1-9]\d* messages are stored twice"):
            await all_sent_once(store, namespace, send_without_key)


async def test_a_store_that_tries_again_without_looking_for_its_first_attempt_is_caught(
    killable: KillableServer, database: str, namespace: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = AppendConnection.append

    async def forgetful(self: AppendConnection, requests: Sequence[AppendRequest], *, retry: bool = False) -> list:
        return await append(self, requests)

    monkeypatch.setattr(AppendConnection, "append", forgetful)
    with pytest.raises(AssertionError, match=r"[1-9]\d* messages are stored twice"):
        await test_a_client_without_key_is_heard_once_as_long_as_the_store_itself_retries(
            killable, database, namespace, seed, group_commit=True
        )
