"""Compactions that nobody else does. Source: R-CMP-10, http W-45, trust M-2, P-14."""

import asyncio

import pytest

from ledger.ports import Store
from ledger.summarizers.openai import OpenAISummarizer
from tests.support.ledgers import ledger_over
from tests.support.model_endpoint import Endpoint, says
from tests.support.model_scene import SMALL, TRIGGER, completed, messages, outcomes, said, talk
from tests.support.worker_scene import work


async def never(prompt: str) -> str:
    await asyncio.Event().wait()
    return ""


async def test_a_worker_ends_the_compaction_of_a_dead_process_after_the_lease(
    store: Store, namespace: str, endpoint: Endpoint, model: OpenAISummarizer
) -> None:
    endpoint.answers(says("The only summary."))
    dead = ledger_over(store, namespace=namespace, config=SMALL)
    dead.set_summarizer(None, never)
    await talk(dead)
    assert await outcomes(dead) == ["requested"]
    assert await work(store, namespace, model, compaction_lease_s=0.0001) == 1
    assert await outcomes(dead) == ["requested", "failed abandoned", "requested", "completed"]
    assert (await completed(dead)).text == "The only summary."
    assert await said(dead) == messages(TRIGGER, TRIGGER)
    await dead._handle.services.compactor.close(grace_s=0)


async def test_a_worker_leaves_a_compaction_alone_within_its_lease(store: Store, namespace: str) -> None:
    alive = ledger_over(store, namespace=namespace, config=SMALL)
    alive.set_summarizer(None, never)
    await talk(alive)
    assert await work(store, namespace) == 0
    assert await outcomes(alive) == ["requested"]
    await alive._handle.services.compactor.close(grace_s=0)


async def test_a_worker_starts_a_due_compaction_that_was_not_started(
    store: Store, namespace: str, endpoint: Endpoint, model: OpenAISummarizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint.answers(says("The only summary."))
    dead = ledger_over(store, namespace=namespace, config=SMALL)
    monkeypatch.setattr(dead._handle.services.compactor, "evaluate", _nothing)
    await talk(dead)
    assert await work(store, namespace, model) == 0, "the writer may still start it"
    monkeypatch.setattr("ledger.jobs.due.UNSTARTED_S", 0.0)
    await talk(dead, 1, first=TRIGGER + 1)
    assert await work(store, namespace, model) == 1
    assert await outcomes(dead) == ["requested", "completed"]


async def test_with_summarization_off_a_worker_compacts_nothing(store: Store, namespace: str) -> None:
    dead = ledger_over(store, namespace=namespace, config=SMALL)
    dead.set_summarizer(None, never)
    await talk(dead)
    off = work(store, namespace, compaction_lease_s=0.0001, enable_working_memory_summarization=False)
    assert await off == 0
    await dead._handle.services.compactor.close(grace_s=0)


async def _nothing(*args: object, **options: object) -> None:
    """Begin no compaction."""


async def test_a_worker_goes_on_with_the_rebuild_of_a_dead_process_after_the_lease(
    store: Store, namespace: str, endpoint: Endpoint, model: OpenAISummarizer
) -> None:
    """R-RBD-5."""
    endpoint.answers(says("The only summary."))
    dead = ledger_over(store, namespace=namespace, config={"profile": "none"})
    await talk(dead)
    dead.set_summarizer(None, never)
    await dead.update_config("s", SMALL, rebuild=True)
    assert await work(store, namespace, model, compaction_lease_s=0.0001) == 1
    assert (await dead.get_rebuild("s")).status == "completed"
    assert await outcomes(dead) == ["requested", "completed"]
    for task in dead._handle.services.compactor.rebuilder.tasks():
        task.cancel()
    await dead._handle.services.compactor.close(grace_s=0)
