"""The log, its guards, and what is folded from it."""

from ledger.stores.postgres.migration import run_sql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in (
        "domains",
        "namespaces",
        "streams",
        "refuse_change",
        "events",
        "payloads",
        "append_requests",
        "snapshots",
        "projection_checkpoints",
        "session_index",
        "events_readable",
        "create_namespace",
        "namespace_ids",
        "prune_requests",
        "append_checked",
        "append_noted",
        "append",
        "restore_events",
        "grants",
    ):
        run_sql(name)
