"""Histories in which models answer late: entries, clears and other hands come between request and result."""

from typing import Any

from ledger.events import CompactionCompleted, CompactionRequested
from projections.tool_pairs import group_units
from tests.support.driver import Driven, Scripted
from tests.support.histories import Step, mixed, take


def interrupted(config: dict[str, Any], steps: list[Step], script: Any = mixed) -> Driven:
    """Return the session after *steps*; every compaction is asked for at once, and answered at an ``answer``."""
    session = Driven(config, Scripted(script))
    for step in steps:
        match step.kind:
            case "answer":
                answer(session, step.place)
            case "erase":
                erase(session, step.place)
            case _:
                take(session, step)
        if step.kind == "add":
            for number in range(len(session.state.config.compactions)):
                session.request(session.plan(number))
    return session


def answer(session: Driven, place: float) -> None:
    """Let the model answer one of the requests that wait."""
    waiting = [job for job in session.jobs if session.state.compactions.find(job.asked.compaction_id)]
    if waiting:
        session.answer(waiting[round(place * (len(waiting) - 1))])


def erase(session: Driven, place: float) -> None:
    """Erase a unit that other compactions may be at work on, as no worker of ours would: it keeps no reservation."""
    units = [unit for unit in group_units(session.state.window.entries) if not unit.open and not unit.entries[0].pinned]
    if not units:
        return
    unit = units[round(place * (len(units) - 1))]
    write_id, compaction_id = next(session.ids), next(session.ids)
    covered = tuple((entry.version, entry.version) for entry in unit.entries)
    same = {"write_id": write_id, "compaction_id": compaction_id, "key": "foreign", "strategy": "neuralyzer"}
    asked = CompactionRequested(
        **same,
        config={},
        action="erase",
        effect="erase",
        covered=covered,
        tokens=unit.tokens,
        seen_version=session.state.version,
        automatic=True,
        reasons=("test",),
    )
    session.record([asked, CompactionCompleted(**same, effect="erase", covered=covered, tokens_before=unit.tokens)])
