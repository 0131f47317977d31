"""Forks: streams that go on from a version of another one."""

from ledger.stores.postgres.migration import run_sql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in (
        "fork_columns",
        "fork_point",
        "append_forked",
        "append_checked_v2",
        "append_v2",
        "fork_grants",
    ):
        run_sql(name)
