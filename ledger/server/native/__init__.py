"""Our own API: time travel and audit over sessions. Source: working-memory-http §5."""

from typing import Final

from fastapi import APIRouter

from ledger.server.native import (
    comparing,
    entries,
    events,
    forking,
    listing,
    managing,
    proof,
    reading,
    searching,
    streams,
    transfer,
)

ROUTERS: Final = tuple(
    topic.router
    for topic in (
        listing,
        reading,
        entries,
        events,
        streams,
        managing,
        forking,
        comparing,
        proof,
        transfer,
        searching,
    )
)

router = APIRouter()
for _each in ROUTERS:
    router.include_router(_each)
