"""Our own API: time travel and audit over sessions. Source: working-memory-http §5."""

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
from ledger.server.routes import together

router = together(
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
