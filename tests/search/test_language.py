"""The language of full text: words are compared as they are, or by their stems. Source: R-KB-1."""

import secrets
from collections.abc import Iterator

import pytest

from ledger.errors import InvalidInput
from ledger.memory import MemoryLedger
from ledger.ports.search_index import LANGUAGES
from ledger.stores.postgres import PostgresStore
from projections.ranking import searchable
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


LOCALES = {
    "C": "LOCALE 'C'",
    "C.utf8": "LOCALE 'C.utf8'",
    "Turkish": "LOCALE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'tr'",
}
TEXTS = [
    "Ärger—“groß”",
    "ПРИВЕТ, мир",
    "ΣΟΦΌΣ",
    "INDIGO Istanbul İ",
    "x²+½ ①",
    "हिन्दी में",
    "cafe\u0301",
    "日本語テキスト",
]


@pytest.mark.parametrize("language", ["simple", "german", "russian", "turkish"])
def test_words_do_not_depend_on_the_locale_of_the_database(server_15: Server, language: str) -> None:
    one, *others = vectors(server_15, [searchable(text) for text in TEXTS], language)
    assert others == [one, one]
    assert len(set(vectors(server_15, TEXTS, language))) > 1, "the control: as they are written they do"


def vectors(server: Server, texts: list[str], language: str) -> Iterator[str]:
    """Yield what *texts* are in a database of each locale."""
    for options in LOCALES.values():
        name = f"test_{secrets.token_hex(6)}"
        with server.superuser("postgres") as admin:
            admin.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' {options}".encode())
            try:
                with server.superuser(name) as mighty:
                    found = mighty.execute(
                        "SELECT to_tsvector(%s::regconfig, t) FROM unnest(%s::text[]) AS t", (language, texts)
                    )
                    yield str(found.fetchall())
            finally:
                admin.execute(f"DROP DATABASE {name}".encode())


def test_every_language_is_on_the_oldest_server(server_15: Server) -> None:
    with server_15.fresh() as name, server_15.superuser(name) as mighty:
        known = {row[0] for row in mighty.execute("SELECT cfgname::text FROM pg_ts_config").fetchall()}
    assert set(LANGUAGES) <= known
