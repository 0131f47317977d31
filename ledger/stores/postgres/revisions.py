"""The revisions of the migrations, read from their file names, so that opening a ledger does not load Alembic."""

from pathlib import Path
from typing import Final

from ledger.errors import MigrationNeeded

#: Of the first release; those before had events in another form.
FIRST_REVISION: Final = "0004"


def migrations_dir() -> Path:
    """Return the folder of the migrations: inside the installed package, else in the checkout."""
    packaged = Path(__file__).parents[2] / "_migrations"
    return packaged if packaged.exists() else Path(__file__).parents[3] / "migrations"


def newest_revision() -> str:
    """Return the revision this release needs; files are named ``0004_what_it_brings.py``."""
    return max(path.name.partition("_")[0] for path in (migrations_dir() / "versions").glob("[0-9]*.py"))


def require_newest(revision: str | None) -> None:
    """Refuse a database of another revision.

    Raises:
        MigrationNeeded: the message names the command to run.
    """
    needed = newest_revision()
    if revision is None:
        raise MigrationNeeded("the database has no ledger schema; run `memory-ledger db upgrade`")
    refuse_foreign(revision)
    if revision < needed:
        raise MigrationNeeded(
            f"the database is at revision {revision} and must be at {needed}; run `memory-ledger db upgrade`"
        )


def refuse_foreign(revision: str | None) -> None:
    """Refuse a database that a newer release has migrated, or that was made before the first one.

    Raises:
        MigrationNeeded: the message names the revision.
    """
    needed = newest_revision()
    if revision is not None and revision < FIRST_REVISION:
        raise MigrationNeeded(
            f"the database is at revision {revision}, from before the first release, and its events cannot be read; "
            "use an empty database or data folder"
        )
    if revision is not None and revision > needed:
        raise MigrationNeeded(
            f"the database is at revision {revision} of a newer release, this one knows {needed}; install the newer one"
        )
