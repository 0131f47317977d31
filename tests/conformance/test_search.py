"""Search, on every store: what is found, what is not, in which order, and catching up. Source: R-REC-4, style §4."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from ledger.errors import InvalidInput, SessionNotFound
from ledger.events.ids import namespace_id
from ledger.indexes.search.search_results import SearchResult
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.ports.search_index import SEARCH, StreamChange
from projections.words.searchable_text import PIECE_CHARACTERS, AddPieces
from tests.support.ledgers import ledger_over

SMALL = {"maxEntries": 3, "recentWindow": 1, "minEntriesToCompress": 1}


@pytest.fixture
async def ledger(store: Store, namespace: str) -> AsyncIterator[MemoryLedger]:
    async with MemoryLedger.open(namespace=namespace, store=store, config={"profile": "none"}) as opened:
        yield opened


def texts(found: list[SearchResult]) -> list[str]:
    return [search_result.text for search_result in found]


async def test_a_question_in_plain_words_finds_what_answers_it(ledger: MemoryLedger) -> None:
    await ledger.add_user_message("one", "My name is Michael and I live in Seattle.")
    await ledger.add_assistant_message("one", "It rains in Seattle.")
    await ledger.add_user_message("two", "What is for lunch today, and what is for dinner?", user_id="u")
    (best, *rest) = await ledger.search("What is the name of the user who lives in Seattle?")
    assert (best.text, best.session_id, best.user_id, best.version) == (
        "My name is Michael and I live in Seattle.",
        "one",
        None,
        2,
    )
    assert best.entry is not None
    assert best.entry.role == "user"
    assert [entry.content for entry in best.after] == ["It rains in Seattle."]
    assert best.score > rest[0].score > 0
    assert (await ledger.search("lunch"))[0].user_id == "u"


async def test_rare_words_count_for_more_and_a_tie_goes_to_the_newest(ledger: MemoryLedger) -> None:
    for number in range(8):
        await ledger.add_user_message("s", f"the espresso machine number{number}")
    await ledger.add_user_message("s", "the wand is bent")
    found = await ledger.search("the espresso wand", top_k=3)
    assert texts(found) == ["the wand is bent", "the espresso machine number7", "the espresso machine number6"]


async def test_neighbours_lend_a_short_entry_a_share_of_their_scores(ledger: MemoryLedger) -> None:
    """An answer rarely repeats the words of its question."""
    question = await ledger.add_user_message("s", "Where did you buy the telescope?")
    await ledger.add_assistant_message("s", "At the shop in Oslo.")
    for number in range(5):
        await ledger.add_user_message("s", f"filler number{number}")
    await ledger.add_user_message("s", "The shop in Bergen.")
    answers = ["At the shop in Oslo.", "The shop in Bergen."]

    async def found(session: str) -> list[str]:
        return [text for text in texts(await ledger.search("telescope shop", session_id=session)) if text in answers]

    assert await found("s") == answers
    await ledger.fork("s", "f")
    await ledger.remove_entry("f", question.entry_id)
    assert await found("f") == answers[::-1], "the fork removed the question"
    assert await found("s") == answers
    await ledger.remove_entry("s", question.entry_id)
    assert await found("s") == answers[::-1], "what was removed lends nothing"


async def test_a_long_entry_is_lent_less(ledger: MemoryLedger) -> None:
    long = "the shop " + " ".join(f"word{number}" for number in range(300))
    for session, text in (("s", "the shop"), ("t", long)):
        await ledger.add_user_message(session, "Where did you buy the telescope?")
        await ledger.add_assistant_message(session, text)
    await ledger.add_user_message("u", "the shop")
    await ledger.add_user_message("v", long)
    scores = {item.session_id: item.score for item in await ledger.search("telescope shop") if "shop" in item.text}
    assert scores["s"] - scores["u"] > 5 * (scores["t"] - scores["v"]) > 0


async def test_names_and_captions_are_found_and_a_named_speaker_comes_first(ledger: MemoryLedger) -> None:
    for name in ("Mara", "Idris"):
        await ledger.add_entries("s", [message("The plot was flooded again.", name=name)])
        for number in range(5):
            await ledger.add_user_message("s", f"filler{number}")
    await ledger.add_entries("s", [message("Look!", name="Idris", caption="a shed behind two trees")])
    assert texts(await ledger.search("trees", session_id="s"))[0] == "Look!"
    for name in ("Mara", "Idris"):
        (best, other, *_) = await ledger.search(f"What did {name} say was flooded?", session_id="s")
        assert best.entry is not None
        assert best.entry.metadata == {"name": name}
        assert best.why.by_words is not None
        assert other.why.by_words is not None
        assert best.why.by_words.speaker > other.why.by_words.speaker == 0
        assert set(best.why.words) == {name.lower(), "was", "flooded"}


async def test_what_was_said_on_a_named_day_comes_first(ledger: MemoryLedger) -> None:
    for day in ("2025-05-08", "2025-05-09", "2025-06-08"):
        for number in range(2):
            await ledger.add_entries("s", [message(f"Dinner {number}", day=day)])
            await ledger.add_entries("s", [message(f"filler{number}-{other}", day=day) for other in range(5)])
    for query, days in (
        ("dinner on 8 May 2025", ["2025-05-08"]),
        ("dinner on 2025-06-08", ["2025-06-08"]),
        ("Essen im Juni: dinner", ["2025-06-08"]),
        ("dinner on Friday", ["2025-05-09"]),
        ("dinner in May", ["2025-05-08", "2025-05-09"]),
    ):
        found = await ledger.search(query, session_id="s", top_k=2 * len(days))
        assert {item.entry.created_at.date().isoformat() for item in found if item.entry} == set(days), query


async def test_the_parts_of_a_score_make_it_up_and_weights_of_zero_leave_them_out(ledger: MemoryLedger) -> None:
    for number in range(4):
        await ledger.add_entries(
            "s", [message(f"Where was the telescope {number}?", name="Ida", day="2025-05-08"), message("In the shop")]
        )
    query = "Which telescope did Ida see in the shop in May?"
    found = await ledger.search(query, session_id="s", around=0)
    parts = [item.why.by_words for item in found if item.why.by_words]
    assert [part.score for part in parts] == pytest.approx([item.score for item in found])
    assert all(part.words > 0 and part.neighbours > 0 for part in parts)
    assert any(part.speaker and part.date for part in parts)
    for off in ({"before": (0, 0, 0), "after": 0}, {"speaker": 1}, {"date": 0}):
        config = {"profile": "none", "window": {"type": "recall", "max_tokens": 30, "recent_share": 0, "ranking": off}}
        await ledger.update_config("s", config)
        why = [why.by_words for _, why in (await ledger.get_context("s", query=query)).window.why if why.by_words]
        zero = {"before": "neighbours"}.get(next(iter(off)), next(iter(off)))
        assert why
        assert all(getattr(part, zero) == 0 for part in why)


def message(text: str, *, day: str | None = None, **metadata: str) -> dict[str, object]:
    entry: dict[str, object] = {"role": "user", "content": text, "metadata": metadata or None}
    return entry if day is None else {**entry, "created_at": f"{day}T12:00:00Z"}


async def test_a_search_keeps_to_its_session_or_user(ledger: MemoryLedger) -> None:
    for session, user in (("s", None), ("s", "u"), ("t", "u"), ("t", "v")):
        await ledger.add_user_message(session, f"apples of {session} {user}", user_id=user)
    assert len(await ledger.search("apples")) == 4
    assert texts(await ledger.search("apples", session_id="s")) == ["apples of s None"]
    assert texts(await ledger.search("apples", session_id="s", user_id="u")) == ["apples of s u"]
    assert texts(await ledger.search("apples", user_id="u")) == ["apples of t u", "apples of s u"]
    with pytest.raises(SessionNotFound):
        await ledger.search("apples", session_id="nobody")


async def test_another_namespace_is_never_searched(store: Store, ledger: MemoryLedger, namespace: str) -> None:
    """Trust P-10."""
    await ledger.add_user_message("s", "a secret of ours")
    async with MemoryLedger.open(namespace=f"{namespace}-theirs", store=store) as theirs:
        await theirs.add_user_message("s", "a secret of theirs")
        assert texts(await theirs.search("secret")) == ["a secret of theirs"]
        assert await theirs.search("ours") == []
        assert texts(await theirs.search("secret", session_id="s")) == ["a secret of theirs"]


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        "'",
        '"',
        "\\",
        "a'b\\c",
        "foo & | ! <-> :* ( )",
        "'; DROP TABLE ledger.events; --",
        "nul \x00 inside",
        "half a pair \ud800",
        "😀",
        '-not "a phrase',
        "%s %(x)s :name",
        "x" * 100_000,
        "word " * 20_000,
    ],
)
async def test_no_text_is_refused(ledger: MemoryLedger, query: str) -> None:
    await ledger.add_user_message("s", "it's a \\ backslash and a word")
    found = await ledger.search(query)
    assert all(result.text == "it's a \\ backslash and a word" for result in found)


async def test_odd_words_are_found_again(ledger: MemoryLedger) -> None:
    await ledger.add_user_message("s", "Grüße aus Köln, O'Brien")
    for query in ("köln", "GRÜSSE grüße", "o'brien"):
        assert len(await ledger.search(query)) == 1, query


LANGUAGES = [
    ("der Ärger im Straßenverkehr", "ärger", "ÄRGER", "STRASSENVERKEHR"),
    ("Привет из Москвы", "привет", "ПРИВЕТ", "москвы"),
    ("ΣΟΦΌΣ ΆΝΘΡΩΠΟΣ", "σοφός", "άνθρωπος"),
    ("٣٤ رسالة", "34", "رسالة"),
    ("the “café”—at noon…", "CAFE\u0301", "cafe\u0301", "noon", "at"),
    ("हिन्दी में लिखा", "हिन्दी"),
    ("今日は 良い天気", "良い天気"),
    ("İstanbul IŞIK", "i\u0307stanbul", "iŞik"),
]


@pytest.mark.parametrize(("text", "queries"), [(text, queries) for text, *queries in LANGUAGES])
async def test_case_does_not_matter_in_any_script(ledger: MemoryLedger, text: str, queries: list[str]) -> None:
    """Whatever the locale of the database: that of the embedded one knows only ASCII."""
    await ledger.add_user_message("s", text)
    for query in queries:
        assert texts(await ledger.search(query)) == [text], query


async def test_removed_and_cleared_entries_are_not_found_covered_and_edited_ones_are(
    store: Store, namespace: str
) -> None:
    """R-REC-4."""
    async with MemoryLedger.open(namespace=namespace, store=store, config=SMALL) as ledger:
        removed = await ledger.add_user_message("s", "walnut that is withdrawn")
        edited = await ledger.add_user_message("s", "walnut with a slip")
        await ledger.remove_entry("s", removed.entry_id)
        await ledger.edit_entry("s", edited.entry_id, "walnut corrected")
        assert texts(await ledger.search("walnut")) == ["walnut corrected"]
        assert await ledger.search("slip withdrawn") == []
        for number in range(5):
            await ledger.add_user_message("s", f"filler {number}", tokens=200)
        await ledger.settle()
        covered = {entry.content for entry in await ledger.get_active_entries("s")}
        assert "walnut corrected" not in covered, "it left the window"
        assert "walnut corrected" in texts(await ledger.search("walnut"))
        assert "summary" in {item.kind for item in await ledger.search("walnut filler")}
        await ledger.clear_session("s")
        assert await ledger.search("walnut filler") == []
        await ledger.add_user_message("s", "walnut of the new life")
        assert texts(await ledger.search("walnut")) == ["walnut of the new life"]


async def test_erased_entries_are_found_only_when_asked_for(store: Store, namespace: str) -> None:
    """R-REC-4."""
    erasing = {"compactions": [{"type": "neuralyzer", "interaction_threshold_qty": 2, "interaction_keep": 1}]}
    async with MemoryLedger.open(namespace=namespace, store=store, config=erasing) as ledger:
        for number in range(2):
            await ledger.add_user_message("s", f"walnut {number}")
            await ledger.add_assistant_message("s", "yes")
            await ledger.settle()
        assert texts(await ledger.search("walnut", around=0)) == ["walnut 1"]
        assert texts(await ledger.search("walnut", include_erased=True)) == ["walnut 1", "walnut 0"]
        (found,) = await ledger.search("walnut", around=9)
        assert [item.content for item in (*found.before, *found.after)] == ["yes"], "nothing erased around it"


async def test_folded_summaries_give_way_to_the_one_that_folds_them(store: Store, namespace: str) -> None:
    async with MemoryLedger.open(namespace=namespace, store=store, config=_dense()) as ledger:
        for number in range(4):
            await ledger.add_user_message("s", f"long walnut number {number} " * 20)
            await ledger.add_assistant_message("s", "an answer")
            await ledger.settle()
        live = await ledger.get_summaries("s")
        created = (await ledger.get_history("s")).summaries
        found = [item for item in await ledger.search("walnut") if item.kind == "summary"]
        assert len(created) > len(live) == len(found) == 1
        assert found[0].summary == live[0]


def _dense() -> dict:
    trigger = {"type": "summarizer", "interaction_threshold_qty": 2, "interaction_keep": 1, "cod_max_loops": 1}
    return {"compactions": [{**trigger, "on_failure": "heuristic"}], "profile": "none"}


async def test_a_text_longer_than_a_piece_is_found_to_its_end(ledger: MemoryLedger) -> None:
    await ledger.add_user_message("s", "x " * PIECE_CHARACTERS + "needle in the last part")
    (found,) = await ledger.search("needle")
    assert found.version == 2
    assert "needle" in found.text
    assert len(found.text) <= PIECE_CHARACTERS


async def test_tools_are_found_by_name_and_by_what_they_said(ledger: MemoryLedger) -> None:
    await ledger.add_tool_call("s", "get_weather", {"city": "Lisbon"}, tool_call_id="c")
    await ledger.add_tool_result("s", "get_weather", {"sky": "cloudless"}, tool_call_id="c")
    assert [item.version for item in await ledger.search("cloudless")] == [3]
    assert [item.version for item in await ledger.search("Lisbon")] == [2]


async def test_searching_catches_up_first_unless_disabled(ledger: MemoryLedger) -> None:
    """style §4: a reader sees its own writes."""
    assert await ledger.search("anything") == []
    await ledger.add_user_message("s", "walnut one")
    assert texts(await ledger.search("walnut")) == ["walnut one"]
    await ledger.add_user_message("s", "walnut two")
    assert texts(await ledger.search("walnut", catch_up=False)) == ["walnut one"]
    assert len(await ledger.search("walnut")) == 2


async def test_readers_who_catch_up_at_once_index_each_text_once(store: Store, namespace: str) -> None:
    ledgers = [ledger_over(store, namespace=namespace) for _ in range(4)]
    for number in range(30):
        await ledgers[0].add_user_message("s", f"walnut {number}")
    answers = await asyncio.gather(*(memory_ledger.search("walnut", top_k=100) for memory_ledger in ledgers))
    assert [len(answer) for answer in answers] == [30] * 4
    assert [[item.score for item in answer] for answer in answers] == [[answer.score for answer in answers[0]]] * 4


async def test_a_rebuild_finds_the_same(ledger: MemoryLedger) -> None:
    entry = await ledger.add_user_message("s", "walnut one")
    await ledger.edit_entry("s", entry.entry_id, "walnut once")
    await ledger.add_user_message("s", "walnut two and hazel")
    await ledger.add_user_message("t", "gone walnut")
    await ledger.clear_session("t")
    before = await ledger.search("walnut hazel")
    (done,) = await ledger.rebuild_projections(SEARCH)
    assert done.name == SEARCH
    assert await ledger.search("walnut hazel") == before


async def test_a_page_is_applied_once_and_to_no_build_that_is_none(store: Store, ledger: MemoryLedger) -> None:
    await ledger.add_user_message("s", "walnut")
    await ledger.search("walnut")
    namespace_uuid = namespace_id(ledger._handle.namespace)
    last, builds = await store.projections.progress(namespace_uuid)
    (build,) = [build.build for build in builds if build.projection == SEARCH]
    stream = ledger._handle.stream("s", None)
    again = [StreamChange(stream.stream_id, 2, AddPieces(()))]
    assert await store.search.apply(namespace_uuid, build, again, after=0, position=1, language="simple") == last
    assert await store.search.apply(namespace_uuid, build + 7, again, after=0, position=1, language="simple") is None


async def test_nothing_is_indexed_by_appending(store: Store, ledger: MemoryLedger) -> None:
    """Never on the append path."""
    await ledger.add_user_message("s", "walnut")
    _, builds = await store.projections.progress(namespace_id(ledger._handle.namespace))
    assert [build for build in builds if build.projection == SEARCH] == []


@pytest.mark.parametrize("bounds", [{"top_k": 0}, {"top_k": 1_001}, {"around": -1}, {"around": 51}, {"user_id": "/"}])
async def test_bounds_are_refused(ledger: MemoryLedger, bounds: dict) -> None:
    with pytest.raises(InvalidInput):
        await ledger.search("x", **bounds)
