"""Compactions that nobody else does. Source: R-CMP-10, http W-45, trust M-2, P-14."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import pytest

from ledger.application.recording.recorded_calls import record_call
from ledger.application.recording.seen_branches import SeenBranches
from ledger.events.ids import Stream
from ledger.formats.importers import documents, read
from ledger.formats.importers.opentelemetry.otlp_records import TelemetryRecord
from ledger.formats.importers.opentelemetry.reported_calls import ReportedCall, calls_of
from ledger.llm.summarizers.openai_summarizer import OpenAISummarizer
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.session.views import plan_automatic
from ledger.stores.in_memory import InMemoryStore
from tests.support.ledgers import ledger_over
from tests.support.model_endpoint import Endpoint, says
from tests.support.model_scene import SMALL, TRIGGER, completed, messages, outcomes, said, talk
from tests.support.model_spans import attributes_of_call
from tests.support.model_spans import said as span_said
from tests.support.worker_scene import work

Door: TypeAlias = Callable[[MemoryLedger, MemoryLedger], Awaitable[None]]


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
    monkeypatch.setattr("ledger.indexes.jobs.due.UNSTARTED_S", 0.0)
    await talk(dead, 1, first=TRIGGER + 1)
    assert await work(store, namespace, model) == 1
    assert await outcomes(dead) == ["requested", "completed"]


def call_of(session: str, *texts: str) -> ReportedCall:
    """Return a call of a model as OpenTelemetry reports it."""
    attributes = attributes_of_call(session, [span_said("user", text) for text in texts], [])
    (call,) = calls_of([TelemetryRecord(name="chat", trace_id="1", span_id="1", attributes=attributes)])
    return call


async def from_a_transcript(ledger: MemoryLedger, source: MemoryLedger) -> None:
    lines = [{"role": "user", "content": text} for text in await said(source)]
    await ledger.import_conversations(read(documents(json.dumps(lines).encode()), name="s"))


async def from_a_report(ledger: MemoryLedger, source: MemoryLedger) -> None:
    call = call_of("s", *await said(source))
    await record_call(ledger._handle, call, SeenBranches([call]))


async def from_a_file(ledger: MemoryLedger, source: MemoryLedger) -> None:
    lines = [line async for line in source.export_file("s")]
    await ledger.import_file(lambda: lines)


async def from_a_state(ledger: MemoryLedger, source: MemoryLedger) -> None:
    state = await source.export_session("s")
    await ledger.import_session(state)


async def from_what_the_document_saves(ledger: MemoryLedger, source: MemoryLedger) -> None:
    state = await source.export_session("s")
    await ledger.import_session("s", {name: state[name] for name in ("sessionId", "entries", "summaries")})


async def by_a_restore(ledger: MemoryLedger, source: MemoryLedger) -> None:
    await talk(ledger)
    version = (await ledger.get_state("s")).version
    await ledger.clear_session("s", end=True)
    await ledger.restore("s", version)


async def by_a_fork(ledger: MemoryLedger, source: MemoryLedger) -> None:
    await ledger.import_session("parent", await source.export_session("s"))
    await ledger.fork("parent", "s")


async def by_a_config(ledger: MemoryLedger, source: MemoryLedger) -> None:
    await ledger.update_config("s", {"profile": "none"}, replace=True)
    await talk(ledger)
    await ledger.update_config("s", SMALL, replace=True)


DOORS = [
    from_a_transcript,
    from_a_report,
    from_a_file,
    from_a_state,
    from_what_the_document_saves,
    by_a_restore,
    by_a_fork,
    by_a_config,
]


@pytest.mark.parametrize("door", DOORS)
async def test_a_worker_compacts_no_session_that_was_imported_or_recorded_until_somebody_writes__R_CMP_8(
    store: Store, namespace: str, endpoint: Endpoint, model: OpenAISummarizer, door: Door, monkeypatch
) -> None:
    """Nor one that was restored, forked or got another config: no compaction follows these."""
    monkeypatch.setattr("ledger.indexes.jobs.due.UNSTARTED_S", 0.0)
    source = ledger_over(InMemoryStore(), config={"profile": "none"})
    await talk(source)
    ledger = ledger_over(store, namespace=namespace, config=SMALL)
    monkeypatch.setattr(ledger._handle.services.compactor, "evaluate", _nothing)
    await door(ledger, source)
    entries = await said(ledger)
    state = await ledger.get_state("s")
    if door is not from_a_file:
        assert plan_automatic(state, state.config.compactions[0]) is not None, "it is due"
    assert await work(store, namespace, model) == 0
    assert (await outcomes(ledger), await said(ledger)) == ([], entries)
    if door is from_a_file:
        await ledger.update_config("s", SMALL, replace=True)
        assert await work(store, namespace, model) == 0, "a change of the config is no batch"
    endpoint.answers(says("The only summary."))
    await talk(ledger, 1, first=TRIGGER + 1)
    assert await work(store, namespace, model) == 1, "the process of the writer ended before it compacted"
    assert await outcomes(ledger) == ["requested", "completed"]


async def test_a_worker_ends_what_was_asked_for_and_compacts_no_more__R_CMP_10(
    store: Store, namespace: str, model: OpenAISummarizer
) -> None:
    ledger = ledger_over(store, namespace=namespace, config=SMALL)
    source = ledger_over(InMemoryStore(), config={"profile": "none"})
    await talk(source)
    await ledger.import_session(await source.export_session("s"))
    called = asyncio.Event()

    async def hangs(prompt: str) -> str:
        called.set()
        return await never(prompt)

    ledger.set_summarizer(None, hangs)
    asked = asyncio.create_task(ledger.compress("s"))
    await called.wait()
    assert await work(store, namespace, model, compaction_lease_s=0.0001) == 1
    assert await outcomes(ledger) == ["requested", "failed abandoned"]
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ("The only summary.", "wrote a summary of 4 tokens for 5 entries of 50 tokens, by llm"),
        ("", "failed: empty"),
    ],
)
async def test_each_compaction_of_a_worker_is_one_line_in_the_log(
    store: Store,
    namespace: str,
    endpoint: Endpoint,
    model: OpenAISummarizer,
    answer: str,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    endpoint.answers(says(answer))
    monkeypatch.setattr("ledger.indexes.jobs.due.UNSTARTED_S", 0.0)
    dead = ledger_over(store, namespace=namespace, config=SMALL)
    monkeypatch.setattr(dead._handle.services.compactor, "evaluate", _nothing)
    await talk(dead)
    with caplog.at_level(logging.INFO, "ledger"):
        await work(store, namespace, model)
    lines = [message for message in caplog.messages if message.startswith("the compaction ")]
    stream = Stream.of(namespace, "s")
    assert lines[0].startswith(f"the compaction token_threshold of stream {stream.stream_id} {line}")
    assert len(lines) == len(await outcomes(dead)) / 2
    assert not [message for message in lines if "message 1" in message], "no text of the session"


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


async def test_a_worker_goes_on_with_the_rebuild_of_an_imported_session_too(
    store: Store, namespace: str, endpoint: Endpoint, model: OpenAISummarizer
) -> None:
    """R-RBD-5: nobody wrote to it since, so that no compaction follows its newest batch."""
    endpoint.answers(says("The only summary."))
    source = ledger_over(InMemoryStore(), config={"profile": "none"})
    await talk(source)
    dead = ledger_over(store, namespace=namespace, config={"profile": "none"})
    await from_a_transcript(dead, source)
    dead.set_summarizer(None, never)
    await dead.update_config("s", SMALL, rebuild=True)
    assert await work(store, namespace, model, compaction_lease_s=0.0001) == 1
    assert (await dead.get_rebuild("s")).status == "completed"
    for task in dead._handle.services.compactor.rebuilder.tasks():
        task.cancel()
    await dead._handle.services.compactor.close(grace_s=0)
