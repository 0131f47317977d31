"""What is stored beside the log and differs from a replay is named by ``verify --caches``. Source: trust K-4."""

import random
from typing import Final

import pytest

from ledger.events.ids import Stream, namespace_id
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.verification import Finding, verify_namespace, verify_session
from tests.support.attacked_log import without_guards
from tests.support.databases import Server
from tests.support.ledgers import ledger_over
from tests.support.vandal import Vandal, filled, without_schema

pytestmark = pytest.mark.postgres

_STRAY: Final = (
    "INSERT INTO ledger.{0} SELECT (jsonb_populate_record(r, jsonb_build_object('stream_id', gen_random_uuid()))).*"
)
_ONE: Final = " FROM ledger.{0} r LIMIT 1"
#: Table → statements that forge in it, each with a word of the finding.
FORGERIES: Final = {
    "session_index": {
        "UPDATE ledger.session_index SET active = 0 WHERE session_id = 'one'": "session index",
        "UPDATE ledger.session_index SET version = 10^9 WHERE session_id = 'one'": "session index",
        "DELETE FROM ledger.session_index WHERE session_id = 'two'": "session index",
        _STRAY.format("session_index") + _ONE.format("session_index"): "session_index has rows of a stream",
    },
    "session_runs": {
        "UPDATE ledger.session_runs SET run_id = 'forged'": "session index",
        "UPDATE ledger.session_runs SET version = version + 1": "session index",
        "DELETE FROM ledger.session_runs": "session index",
        _STRAY.format("session_runs") + _ONE.format("session_runs"): "session_index has rows of a stream",
    },
    "jobs": {
        "UPDATE ledger.jobs SET work = 'other'": "its jobs",
        "DELETE FROM ledger.jobs": "its jobs",
        _STRAY.format("jobs") + _ONE.format("jobs"): "jobs has rows of a stream",
    },
    "search_entries": {
        "UPDATE ledger.search_entries SET vector = 'forged' WHERE session_id = 'two'": "what search has",
        "UPDATE ledger.search_entries SET erased_in = 6 WHERE session_id = 'two'": "what search has",
        "UPDATE ledger.search_entries SET removed_in = NULL WHERE session_id = 'three'": "what search has",
        "UPDATE ledger.search_entries SET shown = true WHERE session_id = 'three'": "what search has",
        "DELETE FROM ledger.search_entries WHERE session_id = 'two'": "what search has",
        "INSERT INTO ledger.search_entries SELECT (jsonb_populate_record(r, jsonb_build_object('piece', 99))).*"
        " FROM ledger.search_entries r WHERE session_id = 'one' LIMIT 1": "what search has",
        _STRAY.format("search_entries") + _ONE.format("search_entries"): "search has rows of a stream",
    },
    "search_forks": {
        "UPDATE ledger.search_forks SET until = until + 50": "what search has",
        "UPDATE ledger.search_forks SET removed = '{}'": "what search has",
        "DELETE FROM ledger.search_forks": "what search has",
        "INSERT INTO ledger.search_forks SELECT (jsonb_populate_record(f, jsonb_build_object('stream_id', s.stream_id)"
        ")).* FROM ledger.search_forks f, ledger.streams s WHERE s.session_id = 'three'": "what search has",
        _STRAY.format("search_forks") + _ONE.format("search_forks"): "search has rows of a stream",
    },
    "search_fork_changes": {
        "UPDATE ledger.search_fork_changes SET removed = '{}'": "what search has",
        "DELETE FROM ledger.search_fork_changes": "what search has",
        _STRAY.format("search_fork_changes") + _ONE.format("search_fork_changes"): "search has rows of a stream",
    },
    "search_terms": {
        "UPDATE ledger.search_terms SET pieces = pieces + 5 WHERE lexeme = 'x'": "search counts 1 words wrongly",
        "DELETE FROM ledger.search_terms": "words wrongly",
    },
    "records": {
        "UPDATE ledger.records SET record = set_byte(record, 30, 65)": "say: r;",
        "UPDATE ledger.records SET live = NOT live": "say: r;",
        "UPDATE ledger.records SET vector = 'forged'": "say: r;",
        "DELETE FROM ledger.records": "say: r;",
        "INSERT INTO ledger.records SELECT (jsonb_populate_record(r, jsonb_build_object('record_id', 'forged'))).*"
        " FROM ledger.records r": "say: forged;",
        _STRAY.format("records") + _ONE.format("records"): "records has rows of a stream",
    },
    "projection_checkpoints": {
        "UPDATE ledger.projection_checkpoints SET position = 10^9 WHERE projection = 'search'": "the log ends at",
    },
}
#: By table, what a finding says to do.
AGAIN: Final = {
    "session_index": "projections rebuild session_index",
    "session_runs": "projections rebuild session_index",
    "search_entries": "projections rebuild search",
    "search_forks": "projections rebuild search",
    "search_fork_changes": "projections rebuild search",
    "search_terms": "projections rebuild search",
    "records": "projections rebuild records",
    "jobs": "a worker makes them again",
}


async def found(store: Store, namespace: str) -> tuple[Finding, ...]:
    report = await verify_namespace(store, namespace, caches=True)
    assert report.verdict == ("CACHES DIFFER" if report.findings else "OK-CHAINED")
    assert {finding.layer for finding in report.findings} <= {0}
    return report.findings


async def test_each_forgery_beside_the_log_is_named(
    server: Server, fresh_store: Store, fresh_database: str, namespace: str
) -> None:
    await filled(fresh_store, namespace)
    with server.superuser(fresh_database) as mighty:
        vandal = Vandal(mighty, random.Random(0))
        assert not await found(fresh_store, namespace), "nothing was changed yet"
        without_schema(fresh_store)
        for table, statements in FORGERIES.items():
            for statement, words in statements.items():
                assert mighty.execute(statement).rowcount, statement
                findings = await found(fresh_store, namespace)
                assert any(words in finding.problem for finding in findings), (statement, findings)
                assert all(AGAIN.get(table, "") in finding.problem for finding in findings), (statement, findings)
                vandal.undo(table)
        assert not await found(fresh_store, namespace)
        mighty.execute(next(iter(FORGERIES["session_index"])))
        assert (await verify_namespace(fresh_store, namespace)).ok, "control: the log is as it was"
        assert not (await verify_session(fresh_store, Stream.of(namespace, "one"), caches=True)).ok
        assert (await verify_session(fresh_store, Stream.of(namespace, "two"), caches=True)).ok


async def test_a_rebuild_ends_the_difference(
    server: Server, fresh_store: Store, fresh_database: str, namespace: str
) -> None:
    async with MemoryLedger.open(namespace=namespace, store=fresh_store) as ledger:
        await filled(fresh_store, namespace)
        with server.superuser(fresh_database) as mighty:
            for table in ("session_index", "search_entries", "search_terms", "records"):
                mighty.execute(next(iter(FORGERIES[table])))
        assert len(await found(fresh_store, namespace)) == 4
        await ledger.rebuild_projections()
        assert not await found(fresh_store, namespace)


async def test_a_checkpoint_beyond_the_log_hides_nothing(
    server: Server, fresh_store: Store, fresh_database: str, namespace: str
) -> None:
    ledger = ledger_over(fresh_store, namespace=namespace)
    await ledger.add_user_message("old", "hello")
    await ledger.long_term.create([{"id": "r", "text": "Mia lives in Oslo"}])
    assert len(await ledger.list_sessions()) == len(await ledger.search("hello")) == 1
    await ledger.long_term.get("r")
    with server.superuser(fresh_database) as mighty:
        mighty.execute("UPDATE ledger.projection_checkpoints SET position = 10^9")
    await ledger.add_user_message("new", "hello again")
    await ledger.long_term.create([{"id": "q", "text": "Mia likes tea"}])
    assert {session.session_id for session in await ledger.list_sessions()} == {"old", "new"}
    assert len(await ledger.search("hello")) == 2
    assert (await ledger.long_term.get("q")).text == "Mia likes tea"
    assert not await found(fresh_store, namespace), "they were built again"


async def test_what_an_emptied_log_leaves_beside_it_is_found__A_25(
    server: Server, fresh_store: Store, fresh_database: str, namespace: str
) -> None:
    """trust A-25: without what it leaves, it looks like a new one, and only a copy elsewhere tells."""
    await filled(fresh_store, namespace)
    own = (namespace_id(namespace),)
    with server.superuser(fresh_database) as mighty:
        with without_guards(mighty):
            for table in ("events", "streams", "namespaces"):
                mighty.execute(f"DELETE FROM ledger.{table} WHERE namespace_id = %s", own)
        assert (await verify_namespace(fresh_store, namespace)).verdict == "EMPTY"
        findings = await found(fresh_store, namespace)
        assert any("session_index is folded up to position" in finding.problem for finding in findings)
        assert any("search has rows of a stream that is not in the log" in finding.problem for finding in findings)
        for table in set(Vandal(mighty, random.Random(0)).tables) - {"api_tokens", "events"}:
            mighty.execute(f"DELETE FROM ledger.{table} WHERE namespace_id = %s", own)
    assert (await verify_namespace(fresh_store, namespace, caches=True)).verdict == "EMPTY"
