"""Routes that read a session."""

from typing import Annotated

from fastapi import Path, Query
from pydantic import BaseModel

from ledger.names import check_name
from ledger.server.callers import Reader
from ledger.server.ledgers import LedgerOf
from ledger.server.routes import native_router

router = native_router(prefix="/v1/sessions", tags=["sessions"])


class Stats(BaseModel):
    """The numbers of a session (W-69)."""

    version: int
    active: int
    tokens: int


@router.get("/{session_id}/stats")
async def stats(
    session_id: Annotated[str, Path()],
    ledger: LedgerOf,
    caller: Reader,
    user_id: Annotated[str | None, Query()] = None,
) -> Stats:
    """Return how much the session holds."""
    found = await ledger.get_stats(check_name(session_id, field="session_id"), user_id=user_id)
    return Stats(version=found.version, active=found.active_entries, tokens=found.active_tokens)
