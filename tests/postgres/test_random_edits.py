"""Random edits by a superuser, over every table: found, or of a class that is listed here. Source: trust §6, K-3, K-4.

Each edit changes one value of one row, or deletes a row, and is undone. What nothing proves is listed by name.
"""

import random
from collections import Counter
from typing import Final

import pytest

from ledger.ports import Store
from ledger.verification import verify_namespace
from tests.support.databases import Server
from tests.support.token_keeper import Keeper
from tests.support.vandal import Vandal, filled, without_schema

pytestmark = pytest.mark.postgres

LOG: Final = {"events", "namespaces", "streams"}
#: Tables of which no edit is found: they follow from nothing. A changed snapshot is not used, so reads do not show it.
UNDETECTED_TABLES: Final = {
    "append_requests",
    "record_accesses",
    "record_embeddings",
    "search_embeddings",
    "served_views",
    "snapshots",
}
#: Columns that no hash covers and that follow from no other: of the log; of the work of workers and of builds.
UNDETECTED_COLUMNS: Final = {
    ("namespaces", "ledger_id"),
    ("namespaces", "created_at"),
    ("streams", "created_at"),
    ("streams", "closed"),
    ("events", "mac"),
    ("events", "trace"),
    ("api_tokens", "created_at"),
    *(("jobs", column) for column in ("due_at", "leased_until", "attempts", "leased_by", "last_error")),
    *(
        ("projection_checkpoints", column)
        for column in ("code_digest", "updated_at", "claimed_by", "claimed_until", "last_error")
    ),
}
#: Edits after which a build is not one any more: readers make another, so there may be nothing to compare.
UNCERTAIN: Final = {
    ("projection_checkpoints", column) for column in ("row", "namespace_id", "projection", "projection_version")
}


async def check_edits(server: Server, database: str, store: Store, namespace: str, seed: int, count: int) -> None:
    """Make *count* edits, one after the other; each is found exactly if its class is not listed."""
    await filled(store, namespace)
    Keeper(server.database(database)).add("read", namespaces=(namespace,), expires_in_s=1_000)
    dice = random.Random(seed)
    met: set[tuple[str, str]] = set()
    seen: Counter[tuple[str, str]] = Counter()
    with server.superuser(database) as mighty:
        vandal = Vandal(mighty, dice)
        assert (await verify_namespace(store, namespace, caches=True)).verdict == "OK-CHAINED"

        without_schema(store)
        made = 0
        while made < count:
            place = vandal.edit()
            if place is None:
                continue
            made += 1
            met.add(place)
            report = await verify_namespace(store, namespace, caches=True)
            if place[0] in UNDETECTED_TABLES or place in UNDETECTED_COLUMNS:
                expected = {"OK-CHAINED"}
            elif place[0] in LOG:
                expected = {"TAMPERED"}
            else:
                expected = {"CACHES DIFFER"} | ({"OK-CHAINED"} if place in UNCERTAIN else set())
            assert report.verdict in expected, (seed, made, place, report.findings)
            seen[place[0], report.verdict] += 1
            vandal.undo(place[0])
        assert (await verify_namespace(store, namespace, caches=True)).verdict == "OK-CHAINED", seed
    assert len({table for table, _ in met}) > 8, "every table has its turn"
    print(
        f"seed {seed}:", *(f"{table} {verdict} {count}" for (table, verdict), count in sorted(seen.items())), sep="\n"
    )


@pytest.mark.full
async def test_random_edits_of_any_table_are_found_or_listed(
    server: Server, fresh_store: Store, fresh_database: str, namespace: str, seed: int
) -> None:
    await check_edits(server, fresh_database, fresh_store, namespace, seed, 40)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
async def test_two_thousand_random_edits_are_found_or_listed(
    server: Server, fresh_store: Store, fresh_database: str, namespace: str, seed: int
) -> None:
    await check_edits(server, fresh_database, fresh_store, namespace, seed, 2_000)
