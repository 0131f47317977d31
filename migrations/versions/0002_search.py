"""Search over entries, summaries and knowledge, in the same database."""

from ledger.stores.postgres.migration import run_sql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in (
        "vector_extension",
        "search_entries",
        "search_terms",
        "search_embeddings",
        "search",
        "search_grants",
    ):
        run_sql(name)
