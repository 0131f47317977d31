"""Views that were served with messages left out."""

from ledger.stores.postgres.migration import run_sql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("served_views")
