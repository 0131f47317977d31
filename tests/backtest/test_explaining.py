"""Why evidence was not shown: its rank, what outranked it, and where each config has it."""

from msgspec.structs import replace

from ledger.llm.prices import load_prices
from ledger.replay.backtest.backtest_run import BacktestSession, Plan, run
from ledger.replay.backtest.columns import RANKED, ranked_cells, title_of, where
from ledger.replay.backtest.explaining import explain
from ledger.replay.backtest.questions import Question
from ledger.replay.backtest.report import report_of, report_value
from ledger.replay.backtest.report_page import page
from projections.memory_config import config
from tests.support.driver import Driven

TEXTS = (
    "The dog of my neighbour is called Bruno.",
    "My dog, called Archie, is called a hero <b>.",
    "A terrier arrives on Sunday.",
    "Rain again.",
)
PLAN = Plan(
    configs=(
        ("full", config.load({"profile": "none"})),
        ("newest", config.load({"memory_strategy_id": "max_tokens", "memory_max_tokens": 20})),
    ),
    questions=(
        Question(
            session="s",
            question="What is the dog of my neighbour called?",
            evidence=("dog of my neighbour", "terrier", "never said"),
            category="single-hop",
        ),
        Question(session="s", question="Which cat?", evidence=()),
        Question(session="other", question="Which dog?", evidence=("dog",)),
    ),
    prices=load_prices(),
    budgets=(),
)


def a_session() -> BacktestSession:
    session = Driven({"profile": "none"})
    for text in TEXTS:
        session.append("u", tokens=10, content=text).append("a", tokens=10, content="I see.")
    return BacktestSession("s", tuple(session.events))


def test_a_piece_is_explained_by_its_rank_and_by_what_outranked_it() -> None:
    question = Question(session="s", question="called called Archie my dog", evidence=("dog of my neighbour",))
    (item,) = explain(a_session(), PLAN, [question])
    (piece,) = item.pieces
    assert piece.places == {"full": "window", "newest": "lost"}
    assert [(entry.rank, entry.text) for entry in piece.above] == [(1, TEXTS[1])]
    assert piece.above[0].words == ("called", "archie", "my", "dog")
    assert piece.found is not None
    assert (piece.found.rank, piece.found.words, piece.found.is_evidence) == (2, ("called", "my", "dog"), True)
    assert piece.above[0].score > piece.found.score
    assert (item.matches, piece.text) == (2, TEXTS[0])


def test_evidence_that_shares_no_word_or_is_in_no_entry_is_said_to_be_so() -> None:
    first, without = explain(a_session(), PLAN, PLAN.questions)
    best, unranked, absent = first.pieces
    assert where(best, first.matches).endswith("rank 1 of 2; in the window: full; lost: newest.")
    assert (unranked.found, len(unranked.above)) == (None, first.matches)
    assert "shares no word with the question" in where(unranked, first.matches)
    assert ranked_cells(unranked)[-1] == {"rank": "-", "score": "", "words": "", "entry": f"[evidence] {TEXTS[2]}"}
    assert (absent.version, absent.places) == (None, {"full": "lost", "newest": "lost"})
    assert where(absent, first.matches) == "never said: in no entry, so it counts as lost."
    assert title_of(without) == "Which cat? (s): it has no evidence"


def test_what_is_behind_a_summary_is_not_lost() -> None:
    small = {"profile": "memory_manager", "max_entries": 4, "recent_window": 2, "min_entries_to_compress": 2}
    plan = replace(PLAN, configs=(("small", config.load(small)),), summaries="estimate")
    assert explain(a_session(), plan, PLAN.questions)[0].pieces[0].places == {"small": "summary"}


def test_the_report_holds_categories_and_explanations_with_words_escaped() -> None:
    sessions = [a_session()]
    explained = explain(sessions[0], PLAN, PLAN.questions)
    report = report_of(run(sessions, PLAN), PLAN, sessions, explained=explained)
    value = report_value(report)
    assert [part["category"] for part in value["configs"][0]["categories"]] == ["single-hop", None]
    assert value["explained"][0]["pieces"][0]["found"]["rank"] == 1
    html = page(report.rows, {}, {}, (), explained=explained)
    for heading in (*RANKED, "category", "in window, newest"):
        assert f">{heading}</th>" in html
    assert "a hero &lt;b&gt;." in html
    assert "a hero <b>" not in html
