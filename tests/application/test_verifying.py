"""Verifying through the library: what is proved, and that damage is reported with its place. Source: trust §12."""

from typing import Any

import pytest
from msgspec.structs import replace

from ledger.errors import SessionNotFound
from ledger.events import ContentFacts, EntryAdded, OpaqueEvent, StoredEvent
from ledger.events.ids import namespace_id
from ledger.memory import MemoryLedger
from ledger.ports import event_encoding
from ledger.ports.event_encoding import append_request
from ledger.stores.in_memory.event_store import InMemoryEventStore
from tests.application.conftest import talk
from tests.support.unchecked_events import encode_unchecked


async def test_of_an_empty_namespace_nothing_is_proved(anywhere: MemoryLedger) -> None:
    """trust K-7."""
    report = await anywhere.verify()
    assert (report.verdict, report.checked, report.ok) == ("EMPTY", 0, True)


async def test_every_event_is_checked(anywhere: MemoryLedger) -> None:
    await talk(anywhere, 3)
    await talk(anywhere, 2, session="t")
    await anywhere.clear_session("t")
    assert [(await anywhere.verify(name)).checked for name in ("s", "t", None)] == [4, 4, 8]
    seen: list[tuple[int, int]] = []
    assert (await anywhere.verify(progress=lambda done, total: seen.append((done, total)))).ok
    assert seen == [(8, 8)]


@pytest.mark.parametrize("caches", [False, True])
async def test_an_unknown_session_proves_nothing(anywhere: MemoryLedger, caches: bool) -> None:
    await talk(anywhere, 1)
    await anywhere.list_sessions()  # so that there is an index to compare
    with pytest.raises(SessionNotFound):
        await anywhere.verify("nobody", caches=caches)


def changed(event: StoredEvent) -> StoredEvent:
    assert event.content is not None
    return replace(event, content=event.content[:-1] + b" ")


DAMAGE = {
    "a content": (changed, 1, "content"),
    "a structure": (lambda event: replace(event, structure=event.structure + b" "), 1, "hash"),
    "an actor": (lambda event: replace(event, actor="somebody else"), 1, "hash"),
    "a time": (lambda event: replace(event, occurred_us=event.occurred_us + 1), 1, "hash"),
    "a type": (lambda event: replace(event, type="entry.removed"), 1, "hash"),
    "a version": (lambda event: replace(event, version=9), 1, "version 3 is missing"),
    "a position": (lambda event: replace(event, position=9), 3, "position 3 is missing"),
    "a content removed": (lambda event: replace(event, content=None), 1, "content is missing"),
}


@pytest.mark.parametrize("name", DAMAGE)
async def test_damage_is_reported_with_its_session_version_and_layer(ledger: MemoryLedger, name: str) -> None:
    damage, layer, words = DAMAGE[name]
    await talk(ledger, 3)
    await talk(ledger, 1, session="t")
    events = ledger._handle.services.store.events
    assert isinstance(events, InMemoryEventStore)
    namespace = events._namespaces[namespace_id(ledger._handle.namespace)]
    broken = damage(namespace.log[2])
    namespace.log[2] = broken
    next(events for events in namespace.streams.values() if len(events) == 4)[2] = broken
    report = await ledger.verify()
    assert report.verdict == "TAMPERED"
    first = next(finding for finding in report.findings if finding.layer == layer)
    assert (first.session_id, first.namespace) == ("s", ledger._handle.namespace)
    assert words in first.problem
    assert (await ledger.verify("t")).ok, "the other session is as it was"


UNREADABLE: dict[str, dict[str, Any]] = {
    "a field of another type": {"role": 5},
    "a word that is none of its words": {"kind": "telegram"},
}


@pytest.mark.parametrize("name", UNREADABLE)
async def test_an_event_that_no_fold_can_read_is_named(
    anywhere: MemoryLedger, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """trust V-6: its hash is right, and whoever reads the session gets an error."""
    services = anywhere._handle.services
    stream = anywhere._handle.stream("s", None)
    said = EntryAdded(
        write_id="w", entry_id="e", kind="message", role="user", content="a", tokens=1, tokenizer="approximate"
    )
    await talk(anywhere, 1)
    await talk(anywhere, 1, session="t")
    broken = replace(said, **UNREADABLE[name])
    with monkeypatch.context() as careless:
        careless.setattr(event_encoding, "encode", encode_unchecked)
        request = append_request(stream, [broken], expected_version=None, clock=services.clock, actor="a")
    [receipt] = (await services.store.events.append(request)).receipts
    assert (await anywhere.verify("t")).ok, "the other session can be read"
    for report in (await anywhere.verify(), await anywhere.verify("s"), await anywhere.verify(caches=True)):
        assert (report.verdict, report.ok) == ("CANNOT VERIFY", False)
        [finding] = report.findings
        assert (finding.session_id, finding.version, finding.layer) == ("s", receipt.version, 1)
        assert finding.problem == "its payload cannot be read as entry.added of schema 2"


async def test_an_event_whose_facts_are_not_those_of_its_content_is_named(anywhere: MemoryLedger) -> None:
    """R-GEN-1: folds go by them, whatever the content says."""
    services = anywhere._handle.services
    await talk(anywhere, 1)
    fields = {"role": "assistant", "tokens": 1, "tokenizer": "approximate", "metadata": {"end_turn": False}}
    said = EntryAdded(write_id="w", entry_id="e", kind="message", content="a", **fields)
    right = replace(said, entry_id="f", facts=ContentFacts(turn_goes_on=True))
    stream = anywhere._handle.stream("s", None)
    request = append_request(stream, [right, said], expected_version=None, clock=services.clock, actor="a")
    [_, receipt] = (await services.store.events.append(request)).receipts
    for report in (await anywhere.verify(), await anywhere.verify("s")):
        assert (report.verdict, report.ok) == ("TAMPERED", False)
        [finding] = report.findings
        assert (finding.session_id, finding.version, finding.layer) == ("s", receipt.version, 1)
        assert finding.problem == "it says of its content what is not so (facts)"


async def test_an_auditor_that_reads_only_the_item_passes_it__control(
    anywhere: MemoryLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control of the test above."""
    monkeypatch.setattr("ledger.verification.auditor.decode_payload", lambda *stored: OpaqueEvent("any", 1, {}))
    with pytest.raises(AssertionError, match="OK-CHAINED"):
        await test_an_event_that_no_fold_can_read_is_named(anywhere, monkeypatch, "a field of another type")
