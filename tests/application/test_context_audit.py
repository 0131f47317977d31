"""A recorded context is an event like any other, changes nothing, and proves what a model was shown. style §2."""

import asyncio
import random

import pytest
from msgspec.structs import replace

from ledger.application.reading.context_audit import seen
from ledger.application.reading.contexts import shown_again
from ledger.errors import IdempotencyMismatch, SessionNotFound
from ledger.events import ContextRendered, RecordedEvent
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.llm.compaction.compaction_result import CompactionResult
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.session.evolve import SESSION, end_of_batch
from ledger.session.state import SessionState
from ledger.stores.in_memory import InMemoryStore
from projections.log.lineage import LINEAGE
from tests.support.ledgers import ledger_over
from tests.support.planted_marks import CONFIGS, live, marked


async def history(ledger: MemoryLedger, namespace: str) -> list[RecordedEvent]:
    return [
        decode(event) for event in await ledger._handle.services.store.events.read_stream(Stream.of(namespace, "s"))
    ]


async def test_what_was_handed_over_is_recorded_and_proved(store: Store, namespace: str) -> None:
    ledger = ledger_over(store, namespace=namespace)
    await ledger.add_user_message("s", "How do I add auth?")
    handed = await ledger.get_context("s", record=True)
    text = await ledger.get_context_for_llm("s", record=True)
    assert handed.recorded is not None
    assert (handed.version, handed.recorded.version) == (2, 3)
    assert handed.text == text
    await ledger.add_assistant_message("s", "With a library.")
    proved = await ledger.seen("s")
    assert (proved.verdict, proved.version, proved.text, proved.recorded.version) == ("proved", 3, text, 4)
    assert proved.recorded.event_id != handed.recorded.event_id
    first = await ledger.seen("s", version=3)
    assert (first.verdict, first.version, first.recorded.version) == ("proved", 3, 4), "rendered at exactly this one"
    assert (await ledger.seen("s", version=2)).recorded.version == 3
    before = await ledger.seen("s", version=1)
    assert (before.verdict, before.version, before.recorded) == ("not_recorded", 1, None)
    stored = (await history(ledger, namespace))[2]
    assert handed.recorded.hash == (await store.events.read_stream(Stream.of(namespace, "s")))[2].hash.hex()
    assert isinstance(stored.payload, ContextRendered)
    assert (stored.payload.items, stored.payload.rendered_version) == (((2, 2),), 2)
    assert (await ledger.verify("s")).ok


async def test_a_new_process_reads_what_it_lacks_of_the_turn_that_was_shown(store: Store, namespace: str) -> None:
    config = {"window": {"type": "rolling", "size": 1, "unit": "entry"}, "compactions": [], "tokenizer": "approximate"}
    writer = ledger_over(store, namespace=namespace, config=config)
    for _ in range(3):
        await writer.add_entries("s", [{"role": "assistant", "content": "step"}] * 100)
        await writer.settle()
    await writer.add_user_message("s", "done?")
    shown = await writer.get_context("s", record=True, idempotency_key="k")
    assert shown.budget.current_turn == shown.tokens == shown.budget.tokens > 0
    assert (await ledger_over(store, namespace=namespace).seen("s")).verdict == "proved"
    again = await ledger_over(store, namespace=namespace).get_context("s", record=True, idempotency_key="k")
    assert again.recorded.replayed
    assert again.budget == shown.budget


async def test_a_moment_shows_what_had_been_recorded_by_then(store: Store, namespace: str) -> None:
    ledger = ledger_over(store, namespace=namespace)
    await ledger.add_user_message("s", "one")
    await ledger.get_context("s", record=True)
    await asyncio.sleep(0.01)
    await ledger.add_user_message("s", "two")
    events = await history(ledger, namespace)
    assert (await ledger.seen("s", at=events[1].recorded_at)).verdict in {"not_recorded", "proved"}
    assert (await ledger.seen("s", at=events[2].recorded_at)).recorded.version == 3
    assert (await ledger.seen("s", at=events[3].recorded_at)).recorded.version == 3


@pytest.mark.parametrize("config", CONFIGS)
async def test_every_context_that_was_ever_recorded_is_proved(config: str, seed: int) -> None:
    ledger = ledger_over(InMemoryStore(), namespace="planted", config=CONFIGS[config])
    await live(ledger, random.Random(seed), turns=25)
    events = await history(ledger, "planted")
    contexts = [event for event in events if isinstance(event.payload, ContextRendered)]
    lineage = LINEAGE.fold(events)
    for event in contexts:
        again = await shown_again(ledger._handle, Stream.of("planted", "s"), event.payload)
        answers = seen(again, event, lineage)
        assert answers.verdict == "proved"
        assert "\n".join(line.text for line in answers.lines) == answers.text
        then = await ledger.get_context("s", version=event.payload.rendered_version)
        assert again.window == replace(then.window, dropped=again.window.dropped)
        assert again.budget == then.budget


async def test_each_line_and_message_is_traced_to_its_entry_or_summary(seed: int) -> None:
    ledger = ledger_over(InMemoryStore(), namespace="planted", config=CONFIGS["folds"])
    marks = await live(ledger, random.Random(seed), turns=25)
    await ledger.add_user_message("s", "something to show, should all else have been cleared")
    await ledger.get_context("s", record=True)
    answers = await ledger.seen("s")
    by_mark = {mark: name for name, mark in marks.items()}
    entries = {entry.entry_id: entry.version for entry in await ledger.get_active_entries("s")}
    shown = [line for line in answers.lines if line.source is not None and line.source.kind == "entry"]
    assert shown
    for line in shown:
        mark = line.text.partition("⟦")[2].partition("⟧")[0]
        if mark:
            assert by_mark[f"⟦{mark}⟧"] == line.source.id
        assert entries[line.source.id] == line.source.version
    for message in answers.messages:
        for source in message.sources:
            if source.kind == "summary":
                whole = {marks[name] for name in marks if name not in entries}
                assert source.entries
                assert all(mark in whole for mark in message.message["content"].split() if mark in by_mark)


async def test_a_summary_is_traced_through_those_it_folds(seed: int) -> None:
    ledger = ledger_over(InMemoryStore(), namespace="planted", config=CONFIGS["folds"])
    ledger.set_summarizer(None, lambda prompt: "short")
    for number in range(1, 40):
        await ledger.add_user_message("s", marked(number))
        await ledger.settle("s")
    answers = await ledger.seen("s")
    (summary,) = {
        line.source.id: line.source for line in answers.lines if line.source and line.source.kind == "summary"
    }.values()
    active = [entry.version for entry in await ledger.get_active_entries("s")]
    added = [event.version for event in await history(ledger, "planted") if event.type == "entry.added"]
    stands_for = [version for version in added if any(first <= version <= last for first, last in summary.entries)]
    assert stands_for == [version for version in added if version not in active]
    assert len(summary.via) > 2


async def test_a_recording_that_does_not_fit_the_log_differs(store: Store, namespace: str) -> None:
    """The control of ``proved``: another text, another item, another order."""
    ledger = ledger_over(store, namespace=namespace)
    for text in ("one", "two", "three"):
        await ledger.add_user_message("s", text)
    await ledger.get_context("s", record=True)
    events = await history(ledger, namespace)
    payload = events[-1].payload
    stream = Stream.of(namespace, "s")
    for forged in (
        {"text_digest": "0" * 64},
        {"messages_digest": "0" * 64},
        {"items": ((2, 3),)},
        {"items": ((4, 4), (2, 3))},
        {"items": ("nobody", (2, 4), (7, 2**62))[:1]},
        {"rendered_version": 3},
    ):
        event = replace(events[-1], payload=replace(payload, **forged))
        again = await shown_again(ledger._handle, stream, event.payload)
        assert seen(again, event, LINEAGE.fold(events)).verdict == "differs", forged
    huge = replace(payload, items=((2, 2**62),))
    assert (await shown_again(ledger._handle, stream, huge)).text == (await ledger.get_context_for_llm("s"))


def unmarked(state: SessionState) -> SessionState:
    """Return *state* without what every event moves on."""
    return replace(end_of_batch(state), version=0, writes=0, write_id="")


@pytest.mark.parametrize("config", CONFIGS)
async def test_that_somebody_looked_changes_no_state(config: str, seed: int) -> None:
    """A law: between any two batches a recording may be put, and no fold tells it."""
    ledger = ledger_over(InMemoryStore(), namespace="planted", config=CONFIGS[config])
    await live(ledger, random.Random(seed), turns=15)
    events = await history(ledger, "planted")
    looked = next(event.payload for event in events if isinstance(event.payload, ContextRendered))
    state = SESSION.initial
    for event in events:
        between = state.write_id != event.payload.write_id
        read = replace(event, version=event.version, payload=replace(looked, write_id=f"look-{event.version}"))
        beside = SESSION.evolve(state, read) if between and state.opened else state
        assert unmarked(beside) == unmarked(state)
        assert beside.updated_us == state.updated_us
        state = SESSION.evolve(state, event)
        assert unmarked(SESSION.evolve(beside, event)) == unmarked(state)


async def test_recording_neither_compacts_nor_spoils_a_compaction_under_way(store: Store, namespace: str) -> None:
    config = {"max_entries": 3, "recent_window": 1, "min_entries_to_compress": 2}
    ledger = ledger_over(store, namespace=namespace, config=config)
    answered, asked = asyncio.Event(), asyncio.Event()

    async def slowly(prompt: str) -> str:
        asked.set()
        await answered.wait()
        return "short"

    ledger.set_summarizer(None, slowly)
    done: list[CompactionResult] = []
    added: list[object] = []
    ledger.on("compressed", lambda session, result: done.append(result))
    ledger.on("entry:added", lambda session, entry: added.append(entry))
    for number in range(1, 5):
        await ledger.add_user_message("s", f"message {number} " * 20)
    await asked.wait()
    for _ in range(3):
        await ledger.get_context("s", record=True)
    answered.set()
    await ledger.settle("s")
    assert (len(done), len(added)) == (1, 4)
    types = [event.type for event in await history(ledger, namespace)]
    assert types[-5:] == ["compaction.requested", *["context.rendered"] * 3, "compaction.completed"]
    stats = await ledger.get_stats("s")
    assert (stats.total_entries, stats.summaries) == (4, 1)
    # over the limit again only by entries, never by looking
    assert "compaction.requested" not in types[-4:]


async def test_a_retry_is_not_recorded_again_and_gets_what_the_first_attempt_got(store: Store, namespace: str) -> None:
    """Trust R-6, P-6."""
    ledger = ledger_over(store, namespace=namespace)
    await ledger.add_user_message("s", "one")
    first = await ledger.get_context("s", record=True, idempotency_key="k")
    await ledger.add_user_message("s", "two")
    again = await ledger.get_context("s", record=True, idempotency_key="k")
    assert (again.text, again.messages, again.version) == (first.text, first.messages, first.version)
    assert again.recorded == replace(first.recorded, replayed=True)
    other = ledger_over(store, namespace=namespace)
    assert (await other.get_context("s", record=True, idempotency_key="k")).text == first.text
    with pytest.raises(IdempotencyMismatch):
        await ledger.get_context("s", record=True, idempotency_key="k", version=2)
    assert [event.type for event in await history(ledger, namespace)].count("context.rendered") == 1
    fresh = await ledger.get_context("s", record=True)
    assert fresh.text != first.text, "the control: without the key it is another look"


async def test_concurrent_readers_and_writers_each_get_their_own_recorded_context(store: Store, namespace: str) -> None:
    ledgers = [ledger_over(store, namespace=namespace) for _ in range(3)]
    await ledgers[0].add_user_message("s", "begin")

    async def write(ledger: MemoryLedger) -> None:
        for number in range(10):
            await ledger.add_user_message("s", f"message {number}")

    async def read(ledger: MemoryLedger) -> list[tuple[int, str]]:
        handed = [await ledger.get_context("s", record=True) for _ in range(10)]
        return [(context.recorded.version, context.text) for context in handed]

    _, first, other = await asyncio.gather(write(ledgers[0]), read(ledgers[1]), read(ledgers[2]))
    events = await history(ledgers[0], namespace)
    lineage = LINEAGE.fold(events)
    for version, text in (*first, *other):
        event = events[version - 1]
        answers = seen(await shown_again(ledgers[0]._handle, Stream.of(namespace, "s"), event.payload), event, lineage)
        assert (answers.verdict, answers.text) == ("proved", text)


async def test_nothing_is_recorded_unless_asked_for_and_never_of_an_unknown_session(
    store: Store, namespace: str
) -> None:
    ledger = ledger_over(store, namespace=namespace)
    with pytest.raises(SessionNotFound):
        await ledger.get_context("s", record=True)
    with pytest.raises(SessionNotFound):
        await ledger.seen("s")
    assert (await ledger.get_context("s")).recorded is None
    await ledger.add_user_message("s", "one")
    assert (await ledger.get_context("s")).recorded is None
    await ledger.get_context_for_llm("s", record=False)
    assert [event.type for event in await history(ledger, namespace)] == ["session.opened", "entry.added"]


async def test_what_a_search_brought_back_is_shown_again_although_it_is_not_asked_again() -> None:
    config = {"window": {"type": "recall", "max_tokens": 120}, "compactions": []}
    ledger = ledger_over(InMemoryStore(), namespace="planted", config=config)
    await ledger.add_user_message("s", "the key is under the mat")
    for number in range(40):
        await ledger.add_assistant_message("s", f"answer {number}")
        await ledger.add_user_message("s", f"question {number} about the weather")
    handed = await ledger.get_context("s", record=True, query="mat")
    answers = await ledger.seen("s")
    assert (answers.verdict, answers.text) == ("proved", handed.text)
    assert handed.window.recalled
    assert "under the mat" in answers.text
    assert answers.text != (await ledger.get_context("s", query="weather")).text, "the control"
