"""Measure many sessions: in several processes, and continue where an interrupted run stopped.

Each measure is appended to a file under a digest of all it depends on: the session's events, the config, the questions,
and our own code. The result does not depend on the order in which processes end.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import suppress
from functools import cache
from hashlib import sha256
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec

import projections
from ledger.events import RecordedEvent
from ledger.events.canonical import canonical_json
from ledger.llm.prices import Prices
from ledger.replay.backtest.asking import needed_for
from ledger.replay.backtest.budgets import BUDGETS
from ledger.replay.backtest.measures import Measured, Summaries, measure
from ledger.replay.backtest.questions import Question
from projections.memory_config import config as memory_config
from projections.memory_config.config import MemoryConfig


class BacktestSession(msgspec.Struct, frozen=True):
    """A recorded session."""

    name: str
    events: tuple[RecordedEvent, ...]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to measure: configs by name, in order; questions; prices; the source of summaries.

    *model* is used if a config names none; *exact* leaves out evidence that is only similar to an entry.
    """

    configs: tuple[tuple[str, MemoryConfig], ...]
    questions: tuple[Question, ...] = ()
    exact: bool = False
    prices: Prices
    summaries: Summaries = "heuristic"
    model: str | None = None
    budgets: tuple[int, ...] = BUDGETS


class _Done(msgspec.Struct, frozen=True):
    """A line of the file of measures."""

    key: str
    measured: Measured


def run(
    sessions: Sequence[BacktestSession],
    plan: Plan,
    *,
    jobs: int = 1,
    measured_file: Path | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Measured]:
    """Return the measures of each config on each session: by config, then by session, in their orders.

    *jobs* processes share the work. Measures stored in *measured_file* are not repeated, and new ones are added to it.
    *progress* gets (measured, all).
    """
    keys = {
        (session.name, name): key
        for session in sessions
        for (name, _), key in zip(plan.configs, _keys(session, plan), strict=True)
    }
    known = _read(measured_file) if measured_file else {}
    done = {place: known[key] for place, key in keys.items() if key in known}
    missing = [
        (session, [name for name, _ in plan.configs if (session.name, name) not in done]) for session in sessions
    ]
    progress(len(done), len(keys))
    for batch in _measured([(session, names) for session, names in missing if names], plan, jobs):
        if measured_file:
            _append(measured_file, [_Done(keys[item.session, item.config], item) for item in batch])
        done.update(((item.session, item.config), item) for item in batch)
        progress(len(done), len(keys))
    return [done[session.name, name] for name, _ in plan.configs for session in sessions]


def _measured(missing: Sequence[tuple[BacktestSession, list[str]]], plan: Plan, jobs: int) -> Iterator[list[Measured]]:
    """Yield the measures of each session, in the order they finish."""
    if jobs <= 1 or len(missing) <= 1:
        for session, names in missing:
            yield measure_session(session, plan, names)
        return
    # the longest first, so that the work ends at the same time in all processes
    ordered = sorted(missing, key=lambda pair: (-len(pair[0].events), pair[0].name))
    spawning = get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(missing)), mp_context=spawning, initializer=_end_with_parent) as pool:
        futures: list[Future[list[Measured]]] = []
        try:
            for session, names in ordered:
                own = tuple(question for question in plan.questions if question.session == session.name)
                small = msgspec.structs.replace(plan, questions=own)
                futures.append(pool.submit(measure_session, session, small, names))
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _end_with_parent() -> None:
    """End this worker when the process that started it ends, also if it is killed."""
    parent = parent_process()
    if parent is not None:
        Thread(target=lambda: (wait([parent.sentinel]), os._exit(1)), daemon=True).start()


def measure_session(session: BacktestSession, plan: Plan, names: Sequence[str]) -> list[Measured]:
    """Return the measures of the configs called *names* on *session*."""
    own = [question for question in plan.questions if question.session == session.name]
    needed = needed_for(own, session.events, exact=plan.exact)
    return [
        measure(
            session.name,
            session.events,
            name,
            config,
            prices=plan.prices,
            needed=needed,
            summaries=plan.summaries,
            model=plan.model,
            budgets=plan.budgets,
        )
        for name, config in plan.configs
        if name in names
    ]


def _keys(session: BacktestSession, plan: Plan) -> list[str]:
    """Return the digest of what a measure depends on, config by config."""
    common: list[Any] = [
        session.name,
        sha256(msgspec.json.encode(session.events)).hexdigest(),
        msgspec.to_builtins([question for question in plan.questions if question.session == session.name]),
        msgspec.to_builtins(plan.prices),
        plan.exact,
        plan.summaries,
        plan.model,
        list(plan.budgets),
        _code(),
    ]
    return [
        sha256(canonical_json([*common, name, memory_config.dump(config)])).hexdigest() for name, config in plan.configs
    ]


@cache
def _code() -> str:
    """Return a digest of all our code; a change that does not matter only costs new measures."""
    digest = sha256()
    folders = (Path(__file__).parents[2], Path(projections.__file__).parent)
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _read(path: Path) -> dict[str, Measured]:
    """Return the measures in *path*, by key; a line that was not written completely is skipped."""
    found: dict[str, Measured] = {}
    if path.exists():
        for line in path.read_bytes().splitlines():
            with suppress(msgspec.MsgspecError):
                done = msgspec.json.decode(line, type=_Done)
                found[done.key] = done.measured
    return found


def _append(path: Path, done: Sequence[_Done]) -> None:
    with path.open("ab") as file:
        file.write(b"".join(msgspec.json.encode(done) + b"\n" for done in done))
