"""A second event at a position is found, also where a page of the log ends. Source: trust K-3, A-20."""

from collections.abc import AsyncIterator
from typing import Final

import pytest

from ledger.history import read_ahead
from ledger.ports import Store
from ledger.ports.event_store import SchemaDifference
from ledger.verification import verify_namespace
from ledger.verification.auditor import Auditor
from tests.support.attacked_log import AttackedLog
from tests.support.attacks import Attack
from tests.support.databases import Server

pytestmark = pytest.mark.postgres

#: Version 5 of session one gets position 7, well chained and with a fitting head; version 3 of session two has it.
TAKEN: Final = Attack(
    "at a position that is taken",
    """
    ALTER TABLE ledger.events DROP CONSTRAINT events_namespace_id_position_key;
    UPDATE ledger.events SET position = 70 WHERE @7;
    INSERT INTO ledger.events SELECT (jsonb_populate_record(e, jsonb_build_object(
        'position', 7, 'version', 5, 'event_id', gen_random_uuid()
    ))).* FROM ledger.events e WHERE @6;
    """,
    (),
    (7,),
    """
    UPDATE ledger.events SET position = 7 WHERE @70;
    UPDATE ledger.streams s SET version = e.version, head_hash = e.hash FROM ledger.events e
    WHERE s.namespace_id = $ns AND s.stream_id = $one AND e.namespace_id = $ns AND e.stream_id = $one AND e.version = 5;
    """,
)


@pytest.fixture
async def log(
    server: Server, fresh_store: Store, fresh_database: str, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[AttackedLog]:
    """A log with two events at position 7; the dropped constraint, which `verify` finds too, is passed over."""

    async def nothing() -> list[SchemaDifference]:
        return []

    log = await AttackedLog.written(fresh_store, namespace)
    with server.superuser(fresh_database) as mighty:
        log.suffer(TAKEN, mighty)
        differences = await fresh_store.events.schema_differences()
        assert any("events_namespace_id_position_key" in each.problem and each.guards_log for each in differences)
        monkeypatch.setattr(fresh_store.events, "schema_differences", nothing)
        yield log


async def problems(log: AttackedLog) -> dict[int, str]:
    report = await verify_namespace(log.store, log.namespace)
    assert report.verdict == ("TAMPERED" if report.findings else "OK-CHAINED")
    return {finding.layer: finding.problem for finding in report.findings}


async def test_a_second_event_at_a_position_is_found(log: AttackedLog) -> None:
    """trust A-20."""
    assert await problems(log) == {3: "its position, 7, is that of another event too"}


async def test_a_second_event_at_the_end_of_a_page_is_found(log: AttackedLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """trust A-20: the page that ends with the first of the two is the last that is read."""
    monkeypatch.setattr(read_ahead, "_EVENTS", 7)
    assert (await problems(log))[3] == "the counter is at 7, there are 8 events"


@pytest.mark.parametrize("forgotten", ["check_position", "check_bounds"])
async def test_without_the_positions_it_is_not_found(
    log: AttackedLog, monkeypatch: pytest.MonkeyPatch, forgotten: str
) -> None:
    """Negative control: one of the checks finds it, and without both nothing does."""
    monkeypatch.setattr(Auditor, forgotten, lambda *_: None)
    assert 3 in await problems(log)
    other = {"check_position": "check_bounds", "check_bounds": "check_position"}[forgotten]
    monkeypatch.setattr(Auditor, other, lambda *_: None)
    assert not await problems(log)
