"""An endpoint, and ledgers that summarize with it."""

from collections.abc import AsyncIterator, Iterator

import pytest

from ledger.llm.summarizers.openai_summarizer import OpenAISummarizer
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from tests.support.model_endpoint import Endpoint, serving
from tests.support.model_scene import SMALL, model_at


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving() as running:
        yield running


@pytest.fixture
async def model(endpoint: Endpoint) -> AsyncIterator[OpenAISummarizer]:
    async with model_at(endpoint) as summarizer:
        yield summarizer


@pytest.fixture
async def small(model: OpenAISummarizer, namespace: str) -> AsyncIterator[MemoryLedger]:
    """A ledger in memory whose sessions compact at their sixth entry."""
    store = InMemoryStore()
    async with MemoryLedger.open(namespace=namespace, store=store, config=SMALL, summarizer=model) as opened:
        yield opened


@pytest.fixture
async def on_store(store: Store, model: OpenAISummarizer, namespace: str) -> AsyncIterator[MemoryLedger]:
    """The same on each store."""
    async with MemoryLedger.open(namespace=namespace, store=store, config=SMALL, summarizer=model) as opened:
        yield opened


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a ledger that is closed wait for nothing."""
    monkeypatch.setattr("ledger.application.services.CLOSE_GRACE_S", 0.05)
