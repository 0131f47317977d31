"""Tokens of the service."""

from ledger.stores.postgres.migration import run_sql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("api_tokens")
