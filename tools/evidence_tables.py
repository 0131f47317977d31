"""Write the tables of docs/how-good-is-it.md: ``python -m tools.evidence_tables``.

They say how much of the evidence is found and shown. The labelled chats of examples/ are measured each alone, and all
in one long session. With ``--data DIR``, the folder of the BFCL memory tasks, these are measured too, and each
ingredient of the search; without it these tables stay as they are.
"""

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from ledger.events.strict_json import parse
from ledger.formats.importers import Conversation, Document, documents, read
from ledger.llm.prices import load_prices
from ledger.memory import MemoryLedger
from ledger.replay.backtest.backtest_run import BacktestSession, Plan, run
from ledger.replay.backtest.budgets import with_budget
from ledger.replay.backtest.columns import percent
from ledger.replay.backtest.questions import Question, read_questions
from ledger.replay.backtest.totals import CategoryRow, Row, row
from ledger.stores.in_memory import InMemoryStore
from projections.memory_config import config as memory_config
from tools.ingredients import VARIANTS, shares

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "how-good-is-it.md"
CHATS: Final = ROOT / "examples" / "conversations"
CONFIGS: Final = ROOT / "examples" / "configs"
BUDGETS: Final = (500, 1_000, 2_000, 4_000, 8_000)
BEGIN: Final = "<!-- {}: made by tools/evidence_tables.py -->\n\n"
END: Final = "\n<!-- end -->"


def chats() -> list[Document]:
    """Return the labelled chats."""
    return [document for file in sorted(CHATS.glob("*.json")) for document in documents(file.read_bytes())]


def in_one_session(found: Sequence[Document]) -> list[Document]:
    """Return the labelled chats as one conversation in order of date, with ids such as ``band/8:8``."""
    sessions, questions = [], []
    for name, value in ((document.value["conversation"], document.value) for document in found):
        for session in value["sessions"]:
            entries = [{**entry, "id": f"{name}/{entry['id']}"} for entry in session["entries"]]
            sessions.append({**session, "id": f"{name}/{session['id']}", "entries": entries})
        questions += [
            {**question, "evidence": [f"{name}/{piece}" for piece in question["evidence"]]}
            for question in value["questions"]
        ]
    ordered = sorted(sessions, key=lambda session: session["date"])
    return [Document(1, {"conversation": "all", "sessions": ordered, "questions": questions})]


async def recorded(found: Sequence[Conversation]) -> list[BacktestSession]:
    """Return conversations as an import records them."""
    async with MemoryLedger.open(namespace="tables", store=InMemoryStore(), config={"profile": "none"}) as ledger:
        names = (await ledger.import_conversations(found)).session_ids
        return [BacktestSession(name, tuple(await ledger.get_events(name))) for name in names]


def measured(found: Sequence[Conversation], questions: Sequence[Question]) -> dict[str, Row]:
    """Return the rows of ``full``, and of ``recall`` and ``max_tokens`` at each budget, such as ``recall 500``."""
    raw = {name: parse((CONFIGS / f"{name}.json").read_bytes()) for name in ("full", "recall", "max_tokens")}
    tried = [("full", memory_config.load(raw["full"]))]
    for name in ("recall", "max_tokens"):
        limited = ((tokens, with_budget(memory_config.load(raw[name]), tokens)) for tokens in BUDGETS)
        tried += [(f"{name} {tokens}", config) for tokens, config in limited if config is not None]
    plan = Plan(configs=tuple(tried), questions=tuple(questions), prices=load_prices(), budgets=())
    done = run(asyncio.run(recorded(found)), plan)
    return {name: row(name, [item for item in done if item.config == name]) for name, _ in tried}


def by_category(rows: dict[str, Row]) -> str:
    """Return what is found and shown for each category of question, as a table."""
    head = ("category", "questions", "evidence", "search@5", "search@10", "recall, 500 tokens", "newest, 500 tokens")
    full, recall, newest = (rows[name] for name in ("full", "recall 500", "max_tokens 500"))
    parts = zip((full, *full.categories), (recall, *recall.categories), (newest, *newest.categories), strict=True)
    lines = [
        [
            (found.category or "other") if isinstance(found, CategoryRow) else "all",
            f"{found.questions}",
            f"{found.evidence}",
            percent(found.search_at_5),
            percent(found.search_at_10),
            percent(recalled.in_window),
            percent(latest.in_window),
        ]
        for found, recalled, latest in parts
    ]
    return _table(head, lines)


def by_budget(rows: dict[str, Row]) -> str:
    """Return what windows of each budget show, as a table."""
    head = ("budget", "recall: evidence", "precision", "wasted tokens", "newest: evidence")
    lines = []
    for tokens in BUDGETS:
        recall, newest = rows[f"recall {tokens}"], rows[f"max_tokens {tokens}"]
        wasted = "" if recall.wasted_tokens is None else f"{recall.wasted_tokens:,}"
        lines.append(
            [f"{tokens:,}", percent(recall.in_window), percent(recall.precision), wasted, percent(newest.in_window)]
        )
    full = rows["full"]
    found = (
        f"A search of the session finds {percent(full.search_at_5)} of {full.evidence} pieces of evidence among five"
    )
    return f"{_table(head, lines)}\n{found} hits, {percent(full.search_at_10)} among ten.\n"


def by_ingredient(sets: Mapping[str, tuple[Sequence[Conversation], Sequence[Question]]]) -> str:
    """Return the evidence among five and ten hits of each set, with one ingredient left out at a time, as a table."""
    sessions = {name: (asyncio.run(recorded(found)), questions) for name, (found, questions) in sets.items()}
    lines = [
        [variant, *(" / ".join(map(percent, shares(search_of, *each))) for each in sessions.values())]
        for variant, search_of in VARIANTS.items()
    ]
    return _table(("search@5 / search@10", *sessions), lines)


def tables(data: Path | None) -> dict[str, str]:
    """Return each table by its name on the page; those with the BFCL tasks only with their folder."""
    alone = chats()
    together = in_one_session(alone)
    sets = {
        "each chat": (read(alone, name="chats"), read_questions(alone)),
        "all chats in one session": (read(together, name="chats"), read_questions(together)),
    }
    made = {
        "each chat": by_category(measured(*sets["each chat"])),
        "one session": by_budget(measured(*sets["all chats in one session"])),
    }
    if data is not None:
        texts = [document for file in sorted(data.glob("memory_*.json")) for document in documents(file.read_bytes())]
        asked, answers = (
            documents((data / f"BFCL_v4_memory{ending}.json").read_bytes()) for ending in ("", ".possible_answer")
        )
        sets["BFCL"] = read(texts, name="bfcl"), read_questions(asked, answers)
        made["bfcl"] = by_budget(measured(*sets["BFCL"]))
        made["ingredients"] = by_ingredient(sets)
    return made


def written(page: str, made: dict[str, str]) -> str:
    """Return *page* with each table between its marks."""
    for name, table in made.items():
        before, begin, rest = page.partition(BEGIN.format(name))
        _, end, after = rest.partition(END)
        assert begin, f"the page has no mark for {name}"
        page = f"{before}{begin}{table}{end}{after}"
    return page


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---", *("---:" for _ in head[1:])]
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *lines))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder of the BFCL memory tasks")
    PAGE.write_text(written(PAGE.read_text(), tables(parser.parse_args().data)))
