"""The native API: time travel and audit of sessions. Source: http §5."""

from ledger.server.native import (
    audit,
    comparison,
    entries,
    events,
    family,
    forks,
    me,
    records,
    search,
    server_sent_events,
    session_commands,
    session_data,
    session_list,
    session_reads,
    transfer,
    trying,
    verify_stream,
)
from ledger.server.routes import together

router = together(
    session_list.router,
    session_reads.router,
    entries.router,
    events.router,
    server_sent_events.router,
    session_commands.router,
    session_data.router,
    session_data.patches,
    forks.router,
    family.router,
    comparison.router,
    comparison.alone,
    audit.router,
    verify_stream.router,
    trying.router,
    transfer.router,
    search.router,
    records.router,
    me.router,
)
