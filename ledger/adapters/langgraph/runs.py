"""The runs of graphs, and the threads that are of one: found without a look at others. Source: adapters LF-7, LG-9."""

from collections.abc import Mapping
from typing import Any

from ledger.adapters.foreign_names import name_of
from ledger.application.reading.session_reads import PAGE_SESSIONS
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
    found: list[str] = []
    after: Any = None
    while True:
        page = await ledger.list_sessions(user_id="", run_id=key, limit=PAGE_SESSIONS, after=after)
        found += [session.session_id for session in page]
        if len(page) < PAGE_SESSIONS:
            return found
        after = (page[-1].updated_at, page[-1].stream_id)


def _key(run_id: str) -> str:
    """Return *run_id*, or an escaped form of one that no session can be found by, such as a very long one."""
    return run_id if is_run_id(run_id) else name_of(run_id)
