"""Sessions by how their ids begin, and by the runs of agents in them."""

from ledger.stores.postgres.migration import run_sql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("session_names")
    run_sql("session_runs")
