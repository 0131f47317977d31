"""The conversation all these tests have: small enough to compact at its sixth entry, which covers the first five."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ledger.events import CompactionCompleted, CompactionDiscarded, CompactionFailed, CompactionRequested, RecordedEvent
from ledger.llm.summarizers.openai_summarizer import OpenAISummarizer
from ledger.memory import MemoryLedger
from tests.support.model_endpoint import Endpoint

SMALL = {"profile": "memory_manager", "maxEntries": 5, "recentWindow": 1, "minEntriesToCompress": 2}
TRIGGER = 6
LONG = "many words " * 40

#: A folder without certificates: to load those of the system takes 50 ms for each client, and the endpoint has no TLS.
_NO_CERTIFICATES = {"SSL_CERT_FILE": "", "SSL_CERT_DIR": str(Path(__file__).parent)}

_COMPACTION = (CompactionRequested, CompactionCompleted, CompactionFailed, CompactionDiscarded)


async def talk(ledger: MemoryLedger, count: int = TRIGGER, *, session: str = "s", first: int = 1) -> None:
    """Add user messages of 10 tokens each, and wait for nothing."""
    for number in range(first, first + count):
        await ledger.add_user_message(session, f"message {number}", tokens=10)


async def compactions(ledger: MemoryLedger, session: str = "s") -> list[RecordedEvent]:
    return [event for event in await ledger.get_events(session) if isinstance(event.payload, _COMPACTION)]


async def outcomes(ledger: MemoryLedger, session: str = "s") -> list[str]:
    """Return e.g. ``["requested", "failed empty"]``."""
    return [_in_words(event.payload) for event in await compactions(ledger, session)]


def _in_words(payload: Any) -> str:
    return f"{payload.type.split('.')[1]} {getattr(payload, 'reason', '')}".strip()


async def completed(ledger: MemoryLedger, session: str = "s") -> CompactionCompleted:
    """Return the one completed compaction."""
    (found,) = [
        event.payload for event in await compactions(ledger, session) if isinstance(event.payload, CompactionCompleted)
    ]
    return found


async def said(ledger: MemoryLedger, session: str = "s") -> list[str]:
    """Return what is in the window, without summaries."""
    return [entry.content for entry in await ledger.get_active_entries(session)]


def messages(first: int, last: int) -> list[str]:
    return [f"message {number}" for number in range(first, last + 1)]


@asynccontextmanager
async def model_at(endpoint: Endpoint, **options: Any) -> AsyncIterator[OpenAISummarizer]:
    """Yield the real client, which tries once unless *options* have another `max_retries`."""
    with patch.dict(os.environ, _NO_CERTIFICATES):
        summarizer = OpenAISummarizer(
            **{"model": "scripted-1", "base_url": endpoint.url, "api_key": "sk-test", "max_retries": 0, **options}
        )
    try:
        yield summarizer
    finally:
        await summarizer.close()
