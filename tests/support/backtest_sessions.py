"""Sessions for backtests: read by the importers, counted and numbered as a ledger does."""

from collections.abc import Sequence
from pathlib import Path

from ledger.formats.importers import documents, read
from ledger.memory import MemoryLedger
from ledger.replay.backtest.backtest_run import BacktestSession
from ledger.replay.backtest.questions import Question, read_questions
from ledger.stores.in_memory import InMemoryStore


async def sessions_in(files: Sequence[Path]) -> list[BacktestSession]:
    async with MemoryLedger.open(namespace="loaded", store=InMemoryStore(), config={"profile": "none"}) as ledger:
        names: list[str] = []
        for file in files:
            found = read(documents(file.read_bytes()), name=file.name.split(".")[0])
            names += (await ledger.import_conversations(found)).session_ids
        return [BacktestSession(name, tuple(await ledger.get_events(name))) for name in names]


def bfcl_questions(folder: Path) -> tuple[Question, ...]:
    files = (folder / "BFCL_v4_memory.json", folder / "BFCL_v4_memory.possible_answer.json")
    return tuple(read_questions(*(documents(file.read_bytes()) for file in files)))
