"""Our own API: time travel and audit over sessions. Source: working-memory-http §5."""

from typing import Final

from fastapi import APIRouter

from ledger.server.native import (
    comparing,
    entries,
    events,
    forking,
    keeping,
    listing,
    managing,
    proof,
    reading,
    records,
    searching,
    streams,
    transfer,
)

ROUTERS: Final = (
    listing.router,
    reading.router,
    entries.router,
    events.router,
    streams.router,
    managing.router,
    keeping.router,
    keeping.patches,
    forking.router,
    comparing.router,
    proof.router,
    transfer.router,
    searching.router,
    records.router,
)

router = APIRouter()
for _each in ROUTERS:
    router.include_router(_each)
