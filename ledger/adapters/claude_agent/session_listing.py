"""Lists of the sessions of the Claude Agent SDK in a project. Source: adapters CL-4, CL-5, CL-7."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from ledger.adapters.claude_agent.claude_keys import name_part, names_of, session_key, subkey
from ledger.adapters.foreign_names import SEPARATOR
from ledger.adapters.sdk_sessions import list_all_sessions
from ledger.errors import InvalidInput
from ledger.events import JsonObject
from ledger.events.strict_json import check_value
from ledger.memory import MemoryLedger
from ledger.ports.session_index import IndexedSession

#: The key of the session data that has what the SDK folded.
SUMMARY: Final = "claude_summary"


async def list_sessions(ledger: MemoryLedger, project_key: str) -> list[JsonObject]:
    """Return id and time of change, in milliseconds since 1970, of each session of a project."""
    return [
        {"session_id": await session_key(ledger, row), "mtime": _mtime(row)}
        async for row in _rows(ledger, project_key)
        if SEPARATOR not in row.session_id
    ]


async def list_summaries(ledger: MemoryLedger, project_key: str) -> list[JsonObject]:
    """Return what the SDK folded of each session of a project."""
    found = []
    async for row in _rows(ledger, project_key):
        if SEPARATOR in row.session_id:
            continue
        summary = read_summary((await ledger.get_data(row.session_id, user_id=row.user_id)).get(SUMMARY))
        if summary is not None:
            session_id = await session_key(ledger, row)
            found.append({"session_id": session_id, "mtime": _mtime(row), "data": summary})
    return found


async def list_subkeys(ledger: MemoryLedger, key: Mapping[str, Any]) -> list[str]:
    """Return the ``subpath`` of each transcript of an agent of a session."""
    return [await subkey(ledger, row) async for row in agents_of(ledger, key)]


async def agents_of(ledger: MemoryLedger, key: Mapping[str, Any]) -> AsyncIterator[IndexedSession]:
    """Yield the transcripts of the agents of a session."""
    _, session = names_of({**key, "subpath": None})
    async for row in _rows(ledger, key["project_key"], id_prefix=f"{session}{SEPARATOR}"):
        yield row


def _rows(ledger: MemoryLedger, project_key: str, id_prefix: str | None = None) -> AsyncIterator[IndexedSession]:
    """Yield the live sessions of a project, newest first."""
    return list_all_sessions(ledger, user_id=name_part(project_key), status="live", id_prefix=id_prefix)


def summary_data(folded: JsonObject) -> Any:
    """Return what the SDK folded as session data: its JSON as ASCII text if it has what no data may have."""
    try:
        check_value(folded, field="summary")
    except InvalidInput:
        return json.dumps(folded)
    return folded


def read_summary(stored: Any) -> Any:
    """Return what `summary_data` made session data of; None of none."""
    return json.loads(stored) if isinstance(stored, str) else stored


def _mtime(row: IndexedSession) -> int:
    return int(row.updated_at.timestamp() * 1_000)
