"""`verify` names events that lie in no life of their session: no writer writes them. Source: trust §6."""

from collections.abc import Callable
from typing import Any

import pytest

from ledger.events import (
    DataChanged,
    EntriesReturned,
    EntryAdded,
    EntryRemoved,
    Event,
    ExpirySet,
    ReturnedEntry,
    SessionCleared,
    SessionOpened,
)
from ledger.events.clock import SystemClock
from ledger.events.ids import Stream
from ledger.memory import MemoryLedger
from ledger.ports.event_encoding import append_request
from ledger.session.legal_lives import Lives
from ledger.stores.in_memory import InMemoryStore
from ledger.verification import VerifyReport, verify_namespace, verify_session
from tests.support.ledgers import ledger_over

NAMESPACE = "lives"
STREAM = Stream.of(NAMESPACE, "s")
OPENED = SessionOpened(write_id="w", namespace=NAMESPACE, user_id="", session_id="s", config={})
ADDED = EntryAdded(write_id="w", entry_id="e", kind="message", role="user", content="x", tokens=1, tokenizer="t")
ENDED = SessionCleared(write_id="w", ended=True)
EXPIRES = ExpirySet(write_id="w", ttl_seconds=1)


def removed(version: int) -> EntryRemoved:
    return EntryRemoved(write_id="w", entry_id="e", entry_version=version, tokens=1)


def returned(version: int) -> EntriesReturned:
    entry = {"entry_id": "e", "kind": "message", "role": "user", "content": "x", "tokens": 1, "tokenizer": "t"}
    return EntriesReturned(
        write_id="w", entries=(ReturnedEntry(version=version, write_id="w", recorded_us=0, **entry),)
    )


#: What is stored → the versions that are named, and a word of the finding.
HISTORIES: dict[str, tuple[list[Event], list[int], str]] = {
    "an entry before the opening": ([ADDED, OPENED], [1], "not open"),
    "an entry between two lives": ([OPENED, ADDED, ENDED, ADDED, ADDED, OPENED], [4], "not open"),
    "data after the end": ([OPENED, ENDED, DataChanged(write_id="w", set={"k": 1})], [3], "not open"),
    "a second end": ([OPENED, ENDED, ENDED], [3], "not open"),
    "a second opening": ([OPENED, ADDED, OPENED], [3], "could not expire"),
    "a second opening after the lifetime was of an older life": (
        [OPENED, EXPIRES, ENDED, OPENED, OPENED],
        [5],
        "could not expire",
    ),
    "a removal from before a clear": ([OPENED, ADDED, SessionCleared(write_id="w"), removed(2)], [4], "entry 2"),
    "a removal of what comes later": ([OPENED, removed(3), ADDED], [2], "entry 3"),
    "a return from before a clear": ([OPENED, ADDED, SessionCleared(write_id="w"), returned(2)], [4], "entry 2"),
    "a return of what comes later": ([OPENED, returned(3), ADDED], [2], "entry 3"),
    "a life after another": ([OPENED, ADDED, ENDED, OPENED, ADDED, removed(5)], [], ""),
    "an opening after an expiry": ([OPENED, EXPIRES, ADDED, OPENED, ADDED], [], ""),
    "a lifetime set after the end": ([OPENED, ENDED, EXPIRES], [], ""),
}


async def reports(events: list[Event]) -> list[VerifyReport]:
    """Return what `verify` says of a namespace and of a session with *events*."""
    store = InMemoryStore()
    await store.events.append(append_request(STREAM, events, expected_version=0, clock=SystemClock(), actor=""))
    return [await verify_namespace(store, NAMESPACE), await verify_session(store, STREAM)]


@pytest.mark.parametrize("name", HISTORIES)
async def test_an_event_outside_of_every_life_is_named(name: str) -> None:
    events, versions, words = HISTORIES[name]
    for report in await reports(events):
        assert [finding.version for finding in report.findings] == versions
        assert all(words in finding.problem and finding.layer == 1 for finding in report.findings)
        assert report.verdict == ("TAMPERED" if versions else "OK-CHAINED")


async def test_without_the_check_none_of_them_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: they are chained like any others."""
    monkeypatch.setattr(Lives, "problem", lambda *_: None)
    for events, _, _ in HISTORIES.values():
        assert all(report.ok for report in await reports(events))


async def end(ledger: MemoryLedger) -> None:
    await ledger.clear_session("s", end=True)


async def fork_after_the_end(ledger: MemoryLedger) -> None:
    await end(ledger)
    await ledger.fork("s", "f")
    await ledger.add_user_message("f", "of the fork")


async def edit_in_a_fork(ledger: MemoryLedger) -> None:
    await ledger.fork("s", "f")
    await ledger.edit_entry("f", "mine", "edited")
    await ledger.remove_entry("f", "mine")


LEGAL: dict[str, Callable[[MemoryLedger], Any]] = {
    each.__name__.replace("_", " "): each for each in (end, fork_after_the_end, edit_in_a_fork)
}


@pytest.mark.parametrize("name", LEGAL)
async def test_what_writers_write_raises_no_alarm(name: str) -> None:
    store = InMemoryStore()
    ledger = ledger_over(store, namespace=NAMESPACE)
    await ledger.add_user_message("s", "old", entry_id="mine")
    await LEGAL[name](ledger)
    await ledger.add_user_message("s", "new")
    copy = ledger_over(store, namespace=f"{NAMESPACE} copied")
    for session in await ledger.list_sessions():
        lines = [line async for line in ledger.export_file(session.session_id)]
        await copy.import_file(lambda lines=lines: lines)
    for each in (ledger, copy):
        report = await each.verify()
        assert report.ok, report
