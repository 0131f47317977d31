"""Background work, as a projection that workers share."""

from ledger.stores.postgres.migration import run_sql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("jobs", "jobs_grants"):
        run_sql(name)
