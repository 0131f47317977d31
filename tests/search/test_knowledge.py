"""Knowledge bases: splitting, storing and showing summaries. Source: R-003-12, R-KB-1 … R-KB-4, LAW-25."""

import builtins
import json
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.errors import Unavailable
from ledger.indexes.search import knowledge
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from tests.support.driver import Scripted
from tests.support.ledgers import ledger_over


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a" * 2500, [1000, 1000, 900], id="V-KB-1"),
        pytest.param("a" * 1000, [1000], id="V-KB-2-equal"),
        pytest.param("a" * 1001, [1000, 201], id="V-KB-2-one-more"),
        pytest.param("", [], id="V-KB-2-none"),
        pytest.param(" \n\n ", [], id="blank"),
    ],
)
def test_pieces_are_as_long_as_they_may_be(text: str, expected: list[int]) -> None:
    assert [len(piece) for _, piece in knowledge.split(text, size=1000, overlap=200)] == expected


def test_paragraphs_stay_whole_if_they_fit__V_KB_3() -> None:
    found = knowledge.split("aaaa bbbb\n\ncccc dddd", size=12, overlap=2)
    assert found == [(0, "aaaa bbbb"), (11, "cccc dddd")]


@given(
    st.text(st.sampled_from("ab \n😀é\t") | st.characters(exclude_categories=["Cs"]), max_size=300),
    st.integers(1, 40),
    st.integers(0, 39),
)
def test_the_contract_of_the_splitter_holds_for_any_text__LAW_25(text: str, size: int, overlap: int) -> None:
    """R-KB-4."""
    overlap = min(overlap, size - 1)
    pieces = knowledge.split(text, size=size, overlap=overlap)
    covered: set[int] = set()
    last = 0
    for first, piece in pieces:
        assert 0 < len(piece) <= size
        assert piece == piece.strip()
        assert text[first : first + len(piece)] == piece
        assert first >= last - overlap, "neighbours share no more"
        covered.update(range(first, first + len(piece)))
        last = first + len(piece)
    assert [first for first, _ in pieces] == sorted(first for first, _ in pieces)
    assert all(at in covered or character.isspace() for at, character in enumerate(text))


def test_without_the_library_the_error_names_the_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: object, **kwargs: object) -> object:
        if name == "langchain_text_splitters":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(Unavailable, match=r"memory-ledger\[knowledge\]"):
        knowledge.split("text", size=10, overlap=0)


async def test_a_config_that_needs_it_is_refused_before_it_is_written(
    monkeypatch: pytest.MonkeyPatch, namespace: str
) -> None:
    config = based()
    async with MemoryLedger.open(namespace=namespace, store=InMemoryStore()) as ledger:
        monkeypatch.setattr(knowledge, "find_spec", lambda name: None)
        await ledger.add_user_message("s", "hello")
        for refused in (
            ledger.update_config("s", config),
            ledger.update_config("s", config, replace=True, existing=True),
        ):
            with pytest.raises(Unavailable, match=r"memory-ledger\[knowledge\]"):
                await refused
        with pytest.raises(Unavailable):
            ledger_over(InMemoryStore(), namespace=namespace, config=config)
        assert (await ledger.get_state("s")).version == 2
        assert (await ledger.what_if("s", config, on_miss="estimate")).version == 2, "nothing is stored"


SUMMARY = "Michael has a golden retriever called Archie.\n\nHe lives in Seattle and orders strawberry matcha."


def based(mode: str = "always", *, collection: str = "facts", **fields: object) -> dict:
    base = {"collection_id": collection, "search_mode": mode, **fields}
    trigger = {"type": "summarizer", "interaction_threshold_qty": 2, "interaction_keep": 1, "cod_max_loops": 1}
    splitter = {"chunk_size": 60, "chunk_overlap": 10}
    return {"profile": "none", "compactions": [{**trigger, "knowledge_base": base, "text_splitter": splitter}]}


def answers() -> Scripted:
    return Scripted(json.dumps({"missing_entities": ["Archie"], "summary": SUMMARY}))


@pytest.fixture
async def ledger(store: Store, namespace: str) -> AsyncIterator[MemoryLedger]:
    async with MemoryLedger.open(namespace=namespace, store=store, config=based(), summarizer=answers()) as opened:
        yield opened


async def talk(ledger: MemoryLedger, session: str = "s", turns: int = 3, user: str | None = None) -> None:
    for number in range(turns):
        await ledger.add_user_message(session, f"question {number} " * 60, user_id=user)
        await ledger.add_assistant_message(session, "an answer", user_id=user)
        await ledger.settle()


async def test_a_summary_is_stored_in_pieces_once(ledger: MemoryLedger) -> None:
    """R-KB-3: each piece with its session and its summary, idempotent by summary and number."""
    await talk(ledger, turns=2)
    found = await ledger.search("golden retriever", collection="facts")
    assert [result.text for result in found] == ["Michael has a golden retriever called Archie."]
    (summary,) = await ledger.get_summaries("s")
    assert (found[0].kind, found[0].session_id, found[0].summary) == ("knowledge", "s", summary)
    assert await ledger.search("golden retriever", collection="facts") == found
    await ledger.rebuild_projections("search")
    assert await ledger.search("golden retriever", collection="facts") == found
    assert await ledger.search("golden", collection="other") == []


async def test_what_is_known_is_shown_after_the_summaries(store: Store, ledger: MemoryLedger) -> None:
    """R-KB-2: the newest user message is the query, of another session too; outside the budget."""
    await talk(ledger, turns=2)
    await ledger.add_user_message("t", "what is my golden retriever called?")
    context = await ledger.get_context("t")
    assert [piece.text for piece in context.window.knowledge] == ["Michael has a golden retriever called Archie."]
    assert context.window.knowledge_tokens > 0
    assert context.window.tokens == sum(entry.tokens for entry in context.entries)
    assert context.tokens == context.window.tokens + context.window.knowledge_tokens
    assert "=== Knowledge ===\nMichael has a golden retriever" in context.text
    assert "Archie" in str(context.messages[0]["content"])


async def test_a_recorded_context_with_knowledge_is_proved_after_the_knowledge_was_removed(
    ledger: MemoryLedger,
) -> None:
    """trust M-5: it names the part of the summary, which stays in the log."""
    await talk(ledger, turns=2, user="mia")
    await ledger.add_user_message("t", "what is my golden retriever called?")
    shown = await ledger.get_context("t", record=True)
    await ledger.clear_session("s", end=True, user_id="mia")
    await ledger.add_user_message("t", "and where does he live?")
    assert (await ledger.get_context("t")).window.knowledge == ()
    seen = await ledger.seen("t")
    assert (seen.verdict, seen.text) == ("proved", shown.text)
    (line,) = (line for line in seen.lines if "Archie" in line.text)
    (piece,) = shown.window.knowledge
    assert (line.source.kind, line.source.id) == ("knowledge", f"mia:s@{piece.source.version}")
    assert [source.kind for source in seen.messages[0].sources] == ["knowledge"]


async def test_only_the_newest_summary_is_knowledge_and_none_that_is_in_the_window(
    store: Store, namespace: str
) -> None:
    """A summary into which an earlier one was folded stands for it; what is shown already is not shown twice."""
    script = [json.dumps({"missing_entities": [], "summary": f"golden retriever {number}"}) for number in range(9)]
    async with MemoryLedger.open(
        namespace=namespace, store=store, config=based(top_k=5), summarizer=Scripted(*script)
    ) as ledger:
        await talk(ledger, turns=5)
        (live,) = await ledger.get_summaries("s")
        found = await ledger.search("golden retriever", collection="facts")
        assert [result.summary for result in found] == [live]
        await ledger.add_user_message("s", "which golden retriever?")
        await ledger.add_user_message("t", "which golden retriever?")
        assert (await ledger.get_context("s")).window.knowledge == ()
        assert [piece.text for piece in (await ledger.get_context("t")).window.knowledge] == [live.text]


async def test_with_search_mode_tool_nothing_is_shown_unasked(store: Store, namespace: str) -> None:
    """R-KB-1, R-KB-2."""
    async with MemoryLedger.open(
        namespace=namespace, store=store, config=based("tool"), summarizer=answers()
    ) as ledger:
        await talk(ledger, turns=2)
        await ledger.add_user_message("t", "what is my golden retriever called?")
        assert (await ledger.get_context("t")).window.knowledge == ()
        assert len(await ledger.search("golden retriever", collection="facts")) == 1


async def test_top_k_pieces_are_shown_and_equals_oldest_first(store: Store, namespace: str) -> None:
    """R-KB-2: score descending, then the oldest."""
    async with MemoryLedger.open(
        namespace=namespace, store=store, config=based(top_k=2), summarizer=answers()
    ) as ledger:
        for session in ("s1", "s2", "s3"):
            await talk(ledger, session, turns=2)
        found = await ledger.search("golden retriever", collection="facts")
        assert [result.session_id for result in found] == ["s1", "s2", "s3"]
        await ledger.add_user_message("t", "golden retriever")
        assert len((await ledger.get_context("t")).window.knowledge) == 2


async def test_knowledge_outlives_a_clear_but_not_the_end_of_the_session(ledger: MemoryLedger) -> None:
    await talk(ledger, turns=2)
    await ledger.clear_session("s")
    assert len(await ledger.search("golden retriever", collection="facts")) == 1
    await ledger.clear_session("s", end=True)
    await talk(ledger, turns=1)
    await ledger.clear_session("s", end=True)
    assert await ledger.search("golden retriever", collection="facts") == []


async def test_a_collection_never_crosses_a_namespace(store: Store, ledger: MemoryLedger, namespace: str) -> None:
    """R-KB-3."""
    await talk(ledger, turns=2)
    async with MemoryLedger.open(namespace=f"{namespace}-2", store=store, config=based()) as other:
        await other.add_user_message("s", "golden retriever")
        assert await other.search("golden retriever", collection="facts") == []
        assert (await other.get_context("s")).window.knowledge == ()


async def test_storing_that_fails_is_tried_again_and_undoes_no_summary(
    ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R-KB-3."""

    def fails(*args: object, **kwargs: object) -> list[tuple[int, str]]:
        raise Unavailable("not installed")

    with monkeypatch.context() as patched:
        patched.setattr(knowledge, "split", fails)
        await talk(ledger, turns=2)
        assert len(await ledger.get_summaries("s")) == 1
        with pytest.raises(Unavailable, match="not installed"):
            await ledger.search("golden", collection="facts")
    assert len(await ledger.search("golden", collection="facts")) == 1
