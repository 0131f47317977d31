"""A model on loopback, and a session on each store."""

from collections.abc import AsyncIterator, Iterator

import pytest

from ledger.llm.summarizers.openai_summarizer import OpenAISummarizer
from ledger.ports import Store
from tests.support.model_endpoint import Endpoint, serving
from tests.support.model_scene import model_at
from tests.support.worker_scene import Scene


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving() as running:
        yield running


@pytest.fixture
async def model(endpoint: Endpoint) -> AsyncIterator[OpenAISummarizer]:
    async with model_at(endpoint) as summarizer:
        yield summarizer


@pytest.fixture
def scene(store: Store, namespace: str) -> Scene:
    return Scene(store, namespace)
