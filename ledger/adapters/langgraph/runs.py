"""The runs of graphs, and the threads that are of one: found without a look at others. Source: adapters LF-7, LG-9."""

from collections.abc import Mapping
from typing import Any

from ledger.adapters.foreign_names import name_of
from ledger.adapters.sdk_sessions import list_all_sessions
from ledger.events.key_value_events import RUNS
from ledger.indexes.stored_projections.session_runs import is_run_id
from ledger.memory import MemoryLedger


def run_of(metadata: Mapping[str, Any]) -> str | None:
    """Return the id of the run in the metadata of a checkpoint; None if there is none."""
    run_id = metadata.get("run_id")
    return run_id if isinstance(run_id, str) else None


def noted_run(run_id: str) -> dict[str, Any]:
    """Return the value that is kept once in a session, so that it is found by the run."""
    return {"space": RUNS, "key": _key(run_id), "value": None}


async def sessions(ledger: MemoryLedger, run_id: str | None = None) -> list[str]:
    """Return the ids of the sessions of the namespace that have no user; with *run_id*, those of this run."""
    key = None if run_id is None else _key(run_id)
    return [session.session_id async for session in list_all_sessions(ledger, user_id="", run_id=key)]


def _key(run_id: str) -> str:
    """Return *run_id*, or an escaped form of one that no session can be found by, such as a very long one."""
    return run_id if is_run_id(run_id) else name_of(run_id)
