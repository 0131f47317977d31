"""The schema of a database compared with that of this release (trust K-3).

``migrations/catalogue.jsonl`` has a line for each object; `make schema` writes it.
"""

from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
import psycopg

from ledger.ports.event_store import SchemaDifference
from ledger.stores.postgres.revisions import migrations_dir

#: What an object is about and how it is defined, by its name.
Catalogue: TypeAlias = dict[str, tuple[str, str]]

QUERY: Final = (Path(__file__).parent / "catalogue.sql").read_text()
FILE: Final = "catalogue.jsonl"
_LOG: Final = frozenset({"events", "streams", "namespaces", "append_requests"})
#: Objects of no table: functions, domains and the schema itself.
_OF_NO_TABLE: Final = ""
_BY_ROLE: Final = ("policy ", "grant on ")


def differences(rows: list[tuple[Any, ...]], *, has_roles: bool) -> list[SchemaDifference]:
    """Return how the catalogue in *rows* of `QUERY` differs from that of this release.

    An index that somebody added beside the log is not reported. Without the ledger's roles there are other grants and
    policies (trust D-10), so these are not compared.
    """
    expected = _release()
    found: Catalogue = {name: (about, definition) for name, about, definition in rows}
    tables = {about for about, _ in found.values()}
    differing = []
    for name in sorted(expected.keys() | found.keys()):
        about, _ = expected.get(name) or found[name]
        guards = about in _LOG or about == _OF_NO_TABLE
        if expected.get(name) == found.get(name) or (not has_roles and name.startswith(_BY_ROLE)):
            continue
        if name not in found and about not in tables and about.endswith("_embeddings"):
            continue  # needs pgvector
        if name not in expected and name.startswith("index ") and not guards:
            continue
        problem = "is missing" if name not in found else "is added" if name not in expected else "was changed"
        differing.append(SchemaDifference(f"{name} {problem}", guards))
    return differing


def dump(rows: list[tuple[Any, ...]]) -> str:
    """Return the text of the file for a database that was just migrated."""
    return "".join(msgspec.json.encode(row).decode() + "\n" for row in rows)


@cache
def _release() -> Catalogue:
    lines = (migrations_dir() / FILE).read_text().splitlines()
    rows = [msgspec.json.decode(line, type=tuple[str, str, str]) for line in lines]
    return {name: (about, definition) for name, about, definition in rows}


async def read(connection: psycopg.AsyncConnection[Any]) -> list[SchemaDifference]:
    """Return how the database's schema differs from that of this release."""
    rows = await (await connection.execute(QUERY)).fetchall()
    (has_roles,) = await (await connection.execute("SELECT to_regrole('ledger_app') IS NOT NULL")).fetchone() or (True,)
    return differences(rows, has_roles=has_roles)
