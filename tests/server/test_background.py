"""The service works in the background itself, unless it is told not to. Source: http W-48."""

import asyncio

import pytest

from ledger.server.service import Service
from ledger.server.service_settings import load_service_settings
from ledger.server.serving import background
from ledger.settings import Settings
from ledger.stores.in_memory import InMemoryStore
from tests.support.worker_scene import Scene


async def test_a_service_promotes_memories_by_itself(namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_LEDGER_WORKER_POLL_S", "0.01")
    store, settings = InMemoryStore(), Settings()
    scene = Scene(store, namespace)
    await scene.say("hello")
    await scene.note("m1", "Mia lives in Oslo")
    async with (
        Service.open(settings, load_service_settings(), store=store) as service,
        background(service) as worker,
    ):
        assert worker is not None
        for _ in range(500):
            if await scene.records():
                break
            await asyncio.sleep(0.01)
    assert await scene.texts() == ["Mia lives in Oslo"]


async def test_a_service_without_a_worker_does_no_background_work(namespace: str) -> None:
    store, settings = InMemoryStore(), Settings()
    async with (
        Service.open(settings, load_service_settings(worker=False), store=store) as service,
        background(service) as worker,
    ):
        assert worker is None
