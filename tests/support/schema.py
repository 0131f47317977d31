"""Dump the schema of a database as text, and write ``migrations/schema.sql`` and its catalogue: ``make schema``."""

import subprocess
from pathlib import Path
from typing import Final

from ledger.stores.embedded.server import bundled_binaries
from ledger.stores.postgres import catalogue
from ledger.stores.postgres.revisions import migrations_dir
from tests.support.databases import embedded, server_folder

SCHEMA: Final = migrations_dir() / "schema.sql"
_HEADER: Final = """\
-- The schema that the migrations make, as pg_dump writes it: to read, and to see in a review what a migration changes.
-- Made by `make schema`, never edited; tests/postgres/test_schema.py compares it with a migrated database.
"""


def dump(url: str) -> str:
    """Return the ledger's schema in the database at *url* without what differs between machines and minor releases.

    A server without pgvector lacks the objects of `without_vectors`.
    """
    program = bundled_binaries() / "pg_dump"
    done = subprocess.run(
        [program, "--schema-only", "--schema=ledger", url], check=True, capture_output=True, text=True
    )
    _, first, objects = done.stdout.partition("--\n-- Name: ")  # before it: versions, a random token, session settings
    objects, end, _ = objects.partition("--\n-- PostgreSQL database dump complete")
    assert first
    assert end
    stored = [line for line in objects.splitlines() if not line.startswith("SET default_")]
    return _HEADER + "\n" + first + "\n".join(stored).rstrip() + "\n"


def without_vectors(schema: str) -> str:
    """Return the dump *schema* without the tables that only a server with pgvector has."""
    objects = schema.split("--\n-- Name: ")
    return "--\n-- Name: ".join(item for item in objects if "_embeddings" not in item)


def main() -> None:
    """Write ``migrations/schema.sql``."""
    with server_folder() as folder, embedded(folder) as server, server.fresh() as name:
        SCHEMA.write_text(dump(server.database(name)))
        with server.superuser(name) as connection:
            rows = connection.execute(catalogue.QUERY).fetchall()
        (migrations_dir() / catalogue.FILE).write_text(catalogue.dump(rows))
    print(f"{SCHEMA.relative_to(Path.cwd())} is that of head")


if __name__ == "__main__":
    main()
