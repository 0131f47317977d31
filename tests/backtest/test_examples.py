"""The examples are a backtest that a newcomer can run: every question has its evidence, and configs differ."""

from ledger.backtest.questions import read_questions
from ledger.backtest.running import Plan, run
from ledger.backtest.totals import row
from ledger.importers import documents
from ledger.prices import load_prices
from ledger.strict_json import parse
from projections import config
from tests.support.backtest_sessions import sessions_in
from tests.support.pages import ROOT

EXAMPLES = ROOT / "examples"
NAMES = ("full", "max_tokens", "recall")


async def test_the_questions_about_the_examples_have_their_evidence() -> None:
    sessions = await sessions_in([EXAMPLES / "coding_agent.jsonl", EXAMPLES / "support_chat.json"])
    asked = tuple(read_questions(documents((EXAMPLES / "questions.jsonl").read_bytes())))
    assert {question.session for question in asked} == {session.name for session in sessions}
    configs = [(name, config.load(parse((EXAMPLES / "configs" / f"{name}.json").read_bytes()))) for name in NAMES]
    measured = run(sessions, Plan(configs=tuple(configs), questions=asked, prices=load_prices(), budgets=()))
    full, newest, recall = (row(name, [item for item in measured if item.config == name]) for name in NAMES)
    assert (full.unplaced, full.in_window, full.questions) == (0, 1, len(asked))
    assert newest.in_window < recall.in_window
