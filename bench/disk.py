"""The size of everything the ledger stores, on disk."""

from typing import Any, Final

import psycopg
from psycopg import sql

from bench.rows import Figures
from bench.setting import Setting, fresh_namespace, ledger_over, plain_rows

_BATCH: Final = 10
_LENGTHS: Final = {"10": 10, "100": 100, "1,000": 1_000, "10,000": 10_000}
_ENTRIES: Final = 10_000  # at least, at each length: sessions are many where they are short
_TABLES: Final = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND (n.nspname = 'ledger' OR c.relname = 'plain_entries')
"""


async def disk(setting: Setting) -> Figures:
    """Bytes on disk of all tables of the ledger, for entries added ten at a time, against those of the plain table."""
    parts = {}
    entries = setting.size(_ENTRIES)
    async with setting.store() as store, setting.plain() as plain:
        with psycopg.connect(setting.url, autocommit=True) as connection:
            for name, length in _LENGTHS.items():
                before = _sizes(connection)
                ledger = ledger_over(store, fresh_namespace())
                for number in range(max(1, entries // length)):
                    for first in range(0, min(length, entries), _BATCH):
                        await ledger.add_entries(f"stored-{number}", setting.drafts(_BATCH))
                        await plain.insert_many(plain_rows(setting, f"{name}-{number}", _BATCH, first=first))
                await ledger.close()  # its snapshots are written
                ours, theirs = (after - at_first for after, at_first in zip(_sizes(connection), before, strict=True))
                parts[name] = ours / theirs
    return {"disk": parts}


def _sizes(connection: psycopg.Connection[Any]) -> tuple[int, int]:
    """Return the bytes of the ledger's tables and of the plain one, with their indexes, after a vacuum."""
    ours = theirs = 0
    for schema, table in connection.execute(_TABLES).fetchall():
        connection.execute(sql.SQL("VACUUM {}").format(sql.Identifier(schema, table)))
        row = connection.execute(
            "SELECT pg_total_relation_size(format('%%I.%%I', %s::text, %s::text)::regclass)", (schema, table)
        ).fetchone()
        assert row is not None
        if schema == "ledger":
            ours += row[0]
        else:
            theirs += row[0]
    return ours, theirs
