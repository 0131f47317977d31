"""Long-term memory: records, their accesses and meanings."""

from ledger.stores.postgres.migration import run_sql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in (
        "records",
        "record_accesses",
        "record_embeddings",
        "search_records",
        "records_grants",
    ):
        run_sql(name)
