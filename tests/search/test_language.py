"""The words of a text: their language, their stems, and that no server's dictionaries take part. Source: R-KB-1."""

import secrets

import pytest

from ledger.errors import InvalidInput
from ledger.memory import MemoryLedger
from ledger.stores.postgres import PostgresStore
from ledger.stores.postgres.search_vectors import vector_of_words
from projections.words.languages import LANGUAGES, detect, stem
from projections.words.words import asked_words, index_words, words
from tests.support.databases import Server


@pytest.mark.postgres
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
    assert await found("auto") == ["deploying"] * 4


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("We adopted two cats last spring.", "adopting a cat"),
        ("Ich habe gestern neue Wohnungen besichtigt.", "Wann war die Besichtigung der Wohnung?"),
        ("Nous avons visité des maisons anciennes.", "une maison ancienne"),
        ("Мы купили новые билеты в театр.", "билет"),
        ("Danke, Wohnungen!", "Wohnungen"),
        ("来週の会議は東京です", "会議"),
        ("Έχουμε συνάντηση αύριο", "συναντήσεις"),
    ],
)
async def test_other_forms_of_a_word_are_found_in_the_language_of_the_text(
    ledger: MemoryLedger, text: str, query: str
) -> None:
    await ledger.add_user_message("s", text)
    await ledger.add_user_message("s", "Something else: Quite another matter, 什么")
    (best, *_) = await ledger.search(query, session_id="s")
    assert best.text == text
    assert best.why.words


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Where is the dog that you saw?", "english"),
        ("Was ist das für ein Hund?", "german"),
        ("où est le chien que tu as vu ?", "french"),
        ("¿Dónde está el perro que viste?", "spanish"),
        ("dov'è il cane che hai visto?", "italian"),
        ("onde está o cão que você viu?", "portuguese"),
        ("waar is de hond die je zag?", "dutch"),
        ("var är hunden som du såg?", "swedish"),
        ("где собака?", "russian"),
        ("nerede o köpek, ben sen var", "turkish"),
        ("Archie!", None),
        ("日本語テキスト", "simple"),
        ("", None),
    ],
)
def test_the_language_of_a_text_is_told_by_its_function_words_and_script(text: str, language: str | None) -> None:
    assert detect(words(text)) == language


def test_every_language_has_a_stemmer_and_its_stems_are_those_of_the_index() -> None:
    """Stems are stored: if they change, the index needs a new version."""
    sample = ("running", "houses", "besichtigungen", "maisons", "casas", "wohnungen", "билеты", "hundarna", "domów")
    stems = {language: [stem(word, language) for word in sample] for language in LANGUAGES if language != "auto"}
    assert stems["simple"] == list(sample)
    assert stems["english"] == [
        "run", "hous", "besichtigungen", "maison", "casa", "wohnungen", "билеты", "hundarna", "domów",
    ]  # fmt: skip
    assert [stems[name][at] for name, at in (("german", 2), ("french", 3), ("spanish", 4), ("russian", 6))] == [
        "besicht",
        "maison",
        "cas",
        "билет",
    ]


def test_a_question_without_a_language_is_asked_in_all() -> None:
    (word,) = asked_words("Wohnungen", language="auto").words
    assert {"wohnung", "wohnungen"} <= set(word.stems)
    data = asked_words(" ".join(f"wohnungen{number}" for number in range(2_000)), language="auto")
    assert len(data.stems) == 2_000, "but not data"
    (word,) = asked_words("Wohnungen", language="english").words
    assert word.stems == ("wohnungen",)


async def test_an_unknown_language_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_LEDGER_SEARCH_LANGUAGE", "klingon")
    with pytest.raises(InvalidInput, match="MEMORY_LEDGER_SEARCH_LANGUAGE"):
        async with MemoryLedger.open():
            pass


@pytest.mark.parametrize("weights", ['{"speaker": 0}', '{"shine": 1}', '{"b": 2}', "much"])
async def test_weights_that_make_no_sense_are_refused(weights: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_LEDGER_SEARCH_RANKING", weights)
    with pytest.raises(InvalidInput, match="MEMORY_LEDGER_SEARCH_RANKING"):
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
    "a_b http://x.example/y?z=1 it's \\ 'quoted' \ud800 \x00",
    "long " * 300 + "x" * 600,
]


@pytest.mark.postgres
def test_words_do_not_depend_on_the_locale_of_the_database(server_15: Server) -> None:
    texts = [index_words(text, names="Ärger", language="auto") for text in TEXTS]
    one, *others = (
        stored(server_15, options, "SELECT t::tsvector::text FROM unnest(%s::text[]) AS t", vectors=texts)
        for options in LOCALES.values()
    )
    assert others == [one, one]
    in_database = (
        stored(server_15, options, "SELECT to_tsvector('simple', t)::text FROM unnest(%s::text[]) AS t")
        for options in LOCALES.values()
    )
    assert len(set(map(str, in_database))) > 1, "the control: words that the database makes do"


def stored(server: Server, options: str, query: str, *, vectors: list | None = None) -> list[tuple[str]]:  # type: ignore[type-arg]
    """Return what *query* makes of the texts in a database with a locale."""
    given = [text for text in TEXTS if text.isprintable()] if vectors is None else list(map(vector_of_words, vectors))
    name = f"test_{secrets.token_hex(6)}"
    with server.superuser("postgres") as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' {options}".encode())
        try:
            with server.superuser(name) as mighty:
                return mighty.execute(query, (given,)).fetchall()
        finally:
            admin.execute(f"DROP DATABASE {name}".encode())
