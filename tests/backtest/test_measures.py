"""When a model is called, what it is shown, and where evidence is found."""

from decimal import Decimal

import pytest

from ledger.errors import ImportRefused
from ledger.formats.importers import documents
from ledger.llm.prices import load_prices
from ledger.replay.backtest.asking import needed_for
from ledger.replay.backtest.budgets import with_budget
from ledger.replay.backtest.measures import measure
from ledger.replay.backtest.questions import Question, Transcript, is_bfcl, read_questions
from ledger.replay.backtest.totals import at_rank, row
from ledger.replay.backtest.turns import asked_at, partners, split_pairs, tool_pairs
from projections.memory_config import config
from tests.support.driver import Driven
from tests.support.specification import Session

#: A conversation whose question has no text.
UNASKED = b'{"conversation": "c", "sessions": [{"entries": []}], "questions": [{"evidence": []}]}'


def places(session: Session, versions: set[int] | frozenset[int]) -> list[int]:
    return [session.added.index(version) + 1 for version in sorted(versions)]


@pytest.mark.parametrize(
    ("notation", "asked"),
    [
        ("", []),
        ("a", []),
        ("u", [1]),
        ("u a", [1]),
        ("s u a u a", [2, 4]),
        ("u c1 r1 a", [1, 3]),
        ("u [c1 c2] r1 r2 a", [1, 5]),
        ("u u u", [1, 2, 3]),
        ("[u a] u", [2, 3]),
        ("u a a", [1, 2]),
    ],
)
def test_a_model_is_asked_before_each_answer_and_after_each_user_message(notation: str, asked: list[int]) -> None:
    session = Session().add(notation)
    assert places(session, asked_at(session.events)) == asked


def test_a_pair_is_split_if_one_of_both_is_shown() -> None:
    session = Session().add("u c1 c2 r2 r1 a c3 u r3 c4")
    pairs = tool_pairs(session.events)
    assert [places(session, set(pair)) for pair in pairs] == [[3, 4], [2, 5]], "r3 came late, c4 has no result"
    (c2, r2), (c1, r1) = pairs
    assert split_pairs(partners(pairs), {c1, r1, c2, r2}, r1) == 0
    assert split_pairs(partners(pairs), {c1, r2}, r1) == 2
    assert split_pairs(partners(pairs), {c1}, r2) == 0, "r1 is not there yet"
    assert split_pairs(partners(pairs), {r2}, r2) == 1


def test_tokens_are_those_of_the_window_at_each_call() -> None:
    session = Session().add("u a " * 5)
    measured = measured_under({"memory_strategy_id": "max_tokens", "memory_max_tokens": 20}, session)
    assert measured.shown == (10, 30, 30, 30, 30), "the turn itself, and one interaction that fits"
    assert measured_under({"profile": "none"}, session).shown == (10, 30, 50, 70, 90)


def measured_under(raw: dict, session: Session, questions: tuple[Question, ...] = (), **options):
    return measure(
        "s",
        session.events,
        "name",
        config.load(raw),
        prices=load_prices(),
        needed=needed_for(questions, session.events),
        **options,
    )


def a_session_with(*texts: str) -> Driven:
    session = Driven({"profile": "none"})
    for text in texts:
        session.append("u", tokens=10, content=text).append("a", tokens=10, content="I see.")
    return session


def test_evidence_is_in_the_window_behind_a_summary_or_only_found_by_search() -> None:
    session = a_session_with("My dog is called Archie.", "We talk of boats.", "The boat is white.", "Rain again.")
    asked = (Question(session="s", question="What is my dog called?", evidence=("My dog is ... Archie",)),)
    window = measured_under({"memory_strategy_id": "max_tokens", "memory_max_tokens": 20}, session, asked).asked[0]
    assert (window.evidence, window.in_window, window.in_summaries, window.found_at_5) == (1, 0, 0, 1)
    recall = measured_under({"window": {"type": "recall", "max_tokens": 50}}, session, asked).asked[0]
    assert recall.in_window == 1
    small = {"profile": "memory_manager", "max_entries": 4, "recent_window": 2, "min_entries_to_compress": 2}
    summaries = measured_under(small, session, asked, summaries="estimate").asked[0]
    assert (summaries.in_window, summaries.in_summaries) == (0, 1)


def test_recall_is_judged_by_the_evidence_among_what_it_recalled_and_by_the_tokens_of_the_rest() -> None:
    session = a_session_with("My dog is called Archie.", "A dog barked.", "Boats are white.", "Rain again.")
    asked = (
        Question(session="s", question="What is my dog called?", evidence=("My dog",), category="single-hop"),
        Question(session="s", question="Which boats?", evidence=(), category="adversarial"),
    )
    raw = {"window": {"type": "recall", "max_tokens": 50, "recent_share": 0, "context_before": 0}}
    fact, nothing = measured_under(raw, session, asked).asked
    assert (fact.category, fact.recalled, fact.recalled_evidence, fact.wasted_tokens) == ("single-hop", 2, 1, 10)
    assert (nothing.category, nothing.recalled, nothing.wasted_tokens) == ("adversarial", 0, 10)
    created = row("recall", [measured_under(raw, session, asked)] * 2)
    assert (created.questions, created.evidence, created.in_window) == (4, 2, 1)
    assert (created.precision, created.wasted_tokens) == (Decimal("0.5"), 10)
    assert [(part.category, part.questions, part.search_at_5, part.precision) for part in created.categories] == [
        ("single-hop", 2, 1, Decimal("0.5")),
        ("adversarial", 2, None, None),
    ]
    newest = row("max_tokens", [measured_under({"memory_strategy_id": "max_tokens"}, session, asked)])
    assert (newest.precision, newest.wasted_tokens) == (None, None), "it recalls nothing"


def test_folded_summaries_still_cover_their_entries() -> None:
    session = a_session_with(*(f"Fact number {number}." for number in range(12)))
    asked = (Question(session="s", question="?", evidence=("Fact number 0",)),)
    folding = {"window": {"type": "full"}, "compactions": [{"type": "progressive", "context_window": 100}]}
    measured = measured_under(folding, session, asked, summaries="estimate")
    assert measured.spent.compactions > 1
    assert measured.asked[0].in_summaries == 1


@pytest.mark.parametrize(
    ("evidence", "found"),
    [
        ("e2", [2]),
        ("I'm 35 years old, live in Seattle...", [1]),
        ("...only 38 square feet.", [3]),
        ("im 35 OLD years, in seattle", [1]),
        ("\u201cI\u2019m  35 YEARS old\u201d ... Seattle", [1]),
        ("counter: 38 square feet", [3]),
        ("nothing of that", []),
        ("...", []),
    ],
)
def test_a_piece_of_evidence_is_an_id_a_quote_or_nearly_one(evidence: str, found: list[int]) -> None:
    texts = ("I'm 35 years old, live in Seattle, and draw.", "Hello.", "My counter is only 38 square feet.")
    session = Driven({"profile": "none"})
    for text in texts:
        session.append("u", content=text)
    assert places(session, Transcript(session.state.window.entries).places(evidence)) == found


def test_exact_evidence_is_an_id_or_a_quote_and_the_rest_is_left_out() -> None:
    session = Driven({"profile": "none"})
    for text in ("I'm 35 years old, live in Seattle, and draw.", "Hello."):
        session.append("u", content=text)
    question = Question(
        session="s", question="How old?", evidence=("e2", "I'm 35 years old", "im 35 OLD years, in seattle")
    )
    (nearly,) = needed_for([question], session.events)
    (exact,) = needed_for([question], session.events, exact=True)
    assert [places(session, item) for item in nearly.evidence] == [[2], [1], [1]]
    assert [places(session, item) for item in exact.evidence] == [[2], [1]]
    assert (nearly.left_out, exact.left_out) == (0, 1)


def test_the_neutral_format_and_that_of_bfcl_are_read() -> None:
    neutral = documents(b'{"session": "s", "question": "q?", "evidence": ["e1", "a quote"], "note": "kept out"}')
    assert read_questions(neutral) == [Question(session="s", question="q?", evidence=("e1", "a quote"))]
    task = documents(
        b'{"id": "m0", "scenario": "garden", "question": [[{"role": "user", "content": "Who lent the hoe?"}]]}'
    )
    answer = documents(b'{"id": "m0", "ground_truth": ["Ada"], "source": "My neighbour Ada"}')
    assert is_bfcl(task[0])
    assert read_questions(task, answer) == [
        Question(session="garden", question="Who lent the hoe?", evidence=("My neighbour Ada",))
    ]
    dated = documents(
        b'{"conversation": "a b", "sessions": [{"entries": [{"id": "1:1", "text": "x"}]}], "questions": '
        b'[{"question": "q?", "category": "open", "evidence": ["1:1"], "answer": "x"}]}'
    )
    assert read_questions(dated) == [Question(session="a-b", question="q?", evidence=("1:1",), category="open")]
    for bad in (
        b'{"session": "s"}',
        b'{"session": 1, "question": "q", "evidence": []}',
        b"5",
        b'{"scenario": "x"}',
        UNASKED,
    ):
        with pytest.raises(ImportRefused) as refused:
            read_questions(documents(b"\n\n" + bad))
        assert refused.value.line == 3


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({"window": {"type": "recall"}}, "max_tokens"),
        ({"memory_strategy_id": "max_tokens"}, "memory_max_tokens"),
        ({"profile": "memory_manager"}, "max_tokens"),
        ({"profile": "working_memory"}, "context_window"),
        ({"long_term_memory_id": "neuralyzer"}, "interaction_threshold_tokens"),
    ],
)
def test_another_budget_is_set_where_the_config_has_one(raw: dict, field: str) -> None:
    changed = with_budget(config.load(raw), 777)
    parts = [changed.window, *changed.compactions]
    assert [getattr(part, field) for part in parts if hasattr(part, field)] == [777]


def test_a_config_that_counts_no_tokens_has_no_other_budget() -> None:
    assert with_budget(config.load({"profile": "none"}), 5) is None
    assert with_budget(config.load({"profile": "rolling_interactions"}), 5) is None


def test_ranks_are_numbers_that_were_there() -> None:
    assert [at_rank([1, 2, 3, 4], percent) for percent in (0, 25, 50, 95, 100)] == [1, 1, 2, 4, 4]
    assert (at_rank([], 50), at_rank([7], 95)) == (0, 7)
    assert at_rank(list(range(1, 101)), 95) == 95


def test_a_row_adds_up_its_sessions() -> None:
    session = Session().add("u a " * 3)
    item = measured_under({"profile": "none"}, session)
    created = row("name", [item, item])
    assert (created.sessions, created.turns, created.median_shown, created.total_shown) == (2, 6, 30, 180)
    assert (created.in_window, created.curve) == (None, ())
