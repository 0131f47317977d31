"""An index for kept values."""

from ledger.stores.postgres.migration import run_sql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("events_kept")
