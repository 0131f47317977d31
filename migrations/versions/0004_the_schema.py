"""The log and its guards, what is folded from it, what the service stores beside it."""

from ledger.stores.postgres.migration import run_sql

revision = "0004"  # those before were never released
down_revision = None
branch_labels = None
depends_on = None

OBJECTS = (
    "domains",
    "vector_extension",
    # the log
    "namespaces",
    "streams",
    "refuse_change",
    "events",
    "append_requests",
    "events_readable",
    "find_items",
    "name_uuid",
    "create_namespace",
    "namespace_ids",
    "prune_requests",
    "fork_point",
    "item_known",
    "life_changed",
    "append_checked",
    "append",
    "append_stream",
    "restore_events",
    # what is folded from it
    "snapshots",
    "projection_checkpoints",
    "session_index",
    "search_entries",
    "search_forks",
    "search_fork_changes",
    "search_terms",
    "search_embeddings",
    "search",
    "records",
    "record_accesses",
    "record_embeddings",
    "search_records",
    "jobs",
    # what the service stores
    "served_views",
    "api_tokens",
    "find_token",
    # who may do what, in all of them
    "policies",
    "grants",
    # kept values, and sessions by how their ids begin and by the runs of agents in them
    "events_kept",
    "session_names",
    "session_runs",
)


def upgrade() -> None:
    for name in OBJECTS:
        run_sql(name)
