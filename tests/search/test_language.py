"""The language of full text: words are compared as they are, or by their stems. Source: R-KB-1."""

import pytest

from ledger.errors import InvalidInput
from ledger.memory import MemoryLedger
from ledger.ports.search_index import LANGUAGES
from ledger.stores.postgres import PostgresStore
from tests.support.databases import Server

pytestmark = pytest.mark.postgres


async def test_a_language_finds_other_forms_and_each_has_an_index_of_its_own(
    postgres_store: PostgresStore, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def found(language: str) -> list[str]:
        monkeypatch.setenv("MEMORY_LEDGER_SEARCH_LANGUAGE", language)
        async with MemoryLedger.open(namespace=namespace, store=postgres_store) as ledger:
            await ledger.add_user_message("s", "deploying")
            return [item.text for item in await ledger.search("deploys")]

    assert await found("simple") == []
    assert await found("english") == ["deploying", "deploying"]
    assert await found("simple") == []


async def test_an_unknown_language_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_LEDGER_SEARCH_LANGUAGE", "klingon")
    with pytest.raises(InvalidInput, match="MEMORY_LEDGER_SEARCH_LANGUAGE"):
        async with MemoryLedger.open():
            pass


def test_every_language_is_on_the_oldest_server(server_15: Server) -> None:
    with server_15.fresh() as name, server_15.superuser(name) as mighty:
        known = {row[0] for row in mighty.execute("SELECT cfgname::text FROM pg_ts_config").fetchall()}
    assert set(LANGUAGES) <= known
