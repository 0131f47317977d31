"""The examples are backtests that a newcomer can run: every question has its evidence, and configs differ."""

from collections import Counter

import pytest

from ledger.events.strict_json import parse
from ledger.formats.importers import documents
from ledger.llm.prices import load_prices
from ledger.replay.backtest.backtest_run import Plan, run
from ledger.replay.backtest.questions import Question, read_questions
from ledger.replay.backtest.totals import row
from projections.memory_config import config
from tests.support.backtest_sessions import sessions_in
from tests.support.pages import ROOT
from tools import evidence_tables

EXAMPLES = ROOT / "examples"
CONVERSATIONS = sorted((EXAMPLES / "conversations").glob("*.json"))
NAMES = ("full", "max_tokens", "recall")
#: The least number of questions in each category.
CATEGORIES = {
    "single-hop": 40,
    "temporal": 20,
    "knowledge-update": 15,
    "multi-hop": 15,
    "open": 10,
    "adversarial": 10,
}


def labelled() -> list[Question]:
    return [question for file in CONVERSATIONS for question in read_questions(documents(file.read_bytes()))]


async def test_the_questions_about_the_examples_have_their_evidence() -> None:
    sessions = await sessions_in([EXAMPLES / "coding_agent.jsonl", EXAMPLES / "support_chat.json"])
    asked = tuple(read_questions(documents((EXAMPLES / "questions.jsonl").read_bytes())))
    assert {question.session for question in asked} == {session.name for session in sessions}
    configs = [(name, config.load(parse((EXAMPLES / "configs" / f"{name}.json").read_bytes()))) for name in NAMES]
    measured = run(sessions, Plan(configs=tuple(configs), questions=asked, prices=load_prices(), budgets=()))
    full, newest, recall = (row(name, [item for item in measured if item.config == name]) for name in NAMES)
    assert (full.unplaced, full.in_window, full.questions) == (0, 1, len(asked))
    assert newest.in_window < recall.in_window


def test_the_labelled_chats_have_enough_questions_of_each_category_and_no_question_twice() -> None:
    asked = labelled()
    counts = Counter(question.category for question in asked)
    assert counts.keys() == CATEGORIES.keys()
    assert all(counts[category] >= least for category, least in CATEGORIES.items()), counts
    assert len({(question.session, question.question) for question in asked}) == len(asked)
    assert all(bool(question.evidence) == (question.category != "adversarial") for question in asked)


async def test_each_piece_of_evidence_in_the_labelled_chats_is_the_id_of_one_entry() -> None:
    sessions = await sessions_in(CONVERSATIONS)
    entries = {
        session.name: [event.payload for event in session.events if event.type == "entry.added"] for session in sessions
    }
    assert sum(map(len, entries.values())) >= 900
    ids = {name: [payload.metadata["original_id"] for payload in found] for name, found in entries.items()}
    assert all(len(set(found)) == len(found) for found in ids.values())
    wrong = [
        (question.question, piece)
        for question in labelled()
        for piece in question.evidence
        if piece not in ids[question.session]
    ]
    assert wrong == []
    full = config.load(parse((EXAMPLES / "configs" / "full.json").read_bytes()))
    plan = Plan(configs=(("full", full),), questions=tuple(labelled()), prices=load_prices(), exact=True, budgets=())
    everything = row("full", run(sessions, plan))
    assert (everything.unplaced, everything.in_window) == (0, 1)


@pytest.mark.slow
def test_the_tables_of_the_page_are_those_that_the_code_gives() -> None:
    page = evidence_tables.PAGE.read_text()
    assert page == evidence_tables.written(page, evidence_tables.tables(None)), "run: make docs-generate"


def test_a_table_that_differs_from_the_code_is_written_again() -> None:
    """Negative control of the test above."""
    page = evidence_tables.PAGE.read_text()
    changed = evidence_tables.written(page, {"one session": "other figures"})
    assert changed != page
    assert changed.count("<!-- end -->") == page.count("<!-- end -->") == 4
