"""The revisions of the migrations, read from their file names, so that opening a ledger does not load Alembic."""

from pathlib import Path

from ledger.errors import MigrationNeeded


def migrations_dir() -> Path:
    """Return the folder of the migrations: inside the installed package, else in the checkout."""
    packaged = Path(__file__).parents[2] / "_migrations"
    return packaged if packaged.exists() else Path(__file__).parents[3] / "migrations"


def newest_revision() -> str:
    """Return the revision this release needs; files are named ``0001_what_it_brings.py``."""
    return max(path.name.partition("_")[0] for path in (migrations_dir() / "versions").glob("[0-9]*.py"))


def require_newest(revision: str | None) -> None:
    """Refuse a database of another revision.

    Raises:
        MigrationNeeded: the message names the command to run.
    """
    needed = newest_revision()
    if revision is None:
        raise MigrationNeeded("the database has no ledger schema; run `memory-ledger db upgrade`")
    if revision < needed:
        raise MigrationNeeded(
            f"the database is at revision {revision} and must be at {needed}; run `memory-ledger db upgrade`"
        )
    refuse_newer(revision)


def refuse_newer(revision: str | None) -> None:
    """Refuse a database that a newer release has migrated.

    Raises:
        MigrationNeeded: the message names both revisions.
    """
    needed = newest_revision()
    if revision is not None and revision > needed:
        raise MigrationNeeded(
            f"the database is at revision {revision} of a newer release, this one knows {needed}; install the newer one"
        )
