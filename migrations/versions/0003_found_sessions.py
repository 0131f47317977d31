"""Indexes for sessions by how their ids begin."""

from ledger.stores.postgres.migration import run_sql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("session_names")
