"""Events over the limits of an entry are stored beside it, and come back equal. Source: adapters AD-5, GA-1, LF-5."""

import random
from typing import Any

import pytest

from tests.adapters.google_adk import NOT_INSTALLED

pytest.importorskip("google.adk.sessions", reason=NOT_INSTALLED)

from google.adk.events import Event
from google.genai import types

from ledger.adapters.google_adk import LedgerSessionService
from ledger.errors import InvalidInput, LogCorrupted
from ledger.events import KeptSet
from ledger.events.limits import CONTENT_BYTES
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.adapters.google_adk.events import S, got, said
from tests.support.ledgers import ledger_over

#: The bytes of an image of 7 MiB in base64.
IMAGE = random.Random(1).randbytes(7 * 2**20 // 4 * 3)
TEXT = "word 日本語 " * (3 * 2**20 // 15)


def with_image(**fields: Any) -> Event:
    content = types.Content(role="user", parts=[types.Part.from_bytes(data=IMAGE, mime_type="image/png")])
    return Event(invocation_id="i", author="user", content=content, **fields)


async def test_large_events_come_back_equal_now_in_the_past_and_in_a_fork__LF_5(
    service: LedgerSessionService, opened: MemoryLedger
) -> None:
    session = await service.create_session(**S)
    await service.append_event(session, with_image())
    version = service.version_of(session)
    for event in (said(TEXT), with_image(), said("small")):
        await service.append_event(session, event)
    assert (await got(service)).events == session.events
    past = await service.get_session_at(**S, version=version)
    assert past is not None
    assert past.events == session.events[:1]
    fork = await service.fork_session(**S, new_session_id="f")
    assert fork.events == session.events
    names = service.names(**S)
    events = await opened.get_events(**names)
    stored = [event.payload.content for event in events if isinstance(event.payload, KeptSet)]
    assert stored.count(IMAGE) == 1, "equal bytes are stored once"
    entries = await opened.get_active_entries(**names)
    assert entries[1].content.startswith(TEXT[:100_000])
    assert entries[1].content.endswith(" more characters)")
    assert (await opened.verify()).ok


async def test_an_event_over_the_limit_of_a_write_is_refused__LF_5(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ledger.session.attachments.BESIDE_BYTES", CONTENT_BYTES)
    service = LedgerSessionService(ledger=ledger_over(InMemoryStore()))
    session = await service.create_session(**S)
    with pytest.raises(InvalidInput, match=r"event: must have at most 1 MiB .* write fewer items"):
        await service.append_event(session, with_image())
    assert (await got(service)).events == []


async def test_an_event_whose_values_are_not_stored_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: a service that stores only the entry."""

    async def keeps_nothing(*given: Any) -> list[Any]:
        return []

    monkeypatch.setattr("ledger.adapters.google_adk.adk_writes.keep_once", keeps_nothing)
    service = LedgerSessionService(ledger=ledger_over(InMemoryStore()))
    session = await service.create_session(**S)
    await service.append_event(session, with_image())
    with pytest.raises(LogCorrupted, match="lacks a stored value"):
        await got(service)
