"""The lineage lists everything that an entry reached, through any number of summaries, and a replay without it.

Source: trust P-17, M-5.
"""

import random
from collections.abc import Callable
from itertools import pairwise

import pytest
from msgspec.structs import replace

from ledger.errors import EntryNotFound, SessionNotFound
from ledger.events import CompactionCompleted, CompactionRequested, ContextRendered, RecordedEvent
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from projections.log.lineage import LINEAGE, Lineage, origin, reach
from tests.support.ledgers import ledger_over
from tests.support.planted_marks import CONFIGS, MARK, live, marked, passes_on


async def a_session(config: str, seed: int, *, turns: int = 30) -> tuple[MemoryLedger, dict[str, str]]:
    """Return a ledger in memory whose session ``s`` was lived under *config*, and the marks of its entries."""
    ledger = ledger_over(InMemoryStore(), namespace="planted", config=CONFIGS[config])
    return ledger, await live(ledger, random.Random(seed), turns=turns)


async def events_of(ledger: MemoryLedger) -> list[RecordedEvent]:
    return [
        decode(event) for event in await ledger._handle.services.store.events.read_stream(Stream.of("planted", "s"))
    ]


async def planted(ledger: MemoryLedger, events: list[RecordedEvent]) -> tuple[dict[str, set], dict[int, set]]:
    """Return the marks in each summary's text, by id, and in each recorded context's, by version."""
    summaries = {
        event.payload.summary_id: set(MARK.findall(event.payload.text))
        for event in events
        if isinstance(event.payload, CompactionCompleted) and event.payload.summary_id
    }
    contexts = {}
    for event in events:
        if isinstance(event.payload, ContextRendered):
            text = await ledger.get_context_for_llm("s", version=event.payload.rendered_version)
            contexts[event.version] = set(MARK.findall(text))
    return summaries, contexts


def missed(lineage: Lineage, events: list[RecordedEvent], marks: dict[str, str], truth: tuple[dict, dict]) -> list[str]:
    """Return the planted derivations that the lineage does not list."""
    summaries, contexts = truth
    left_out = []
    versions = {event.payload.entry_id: event.version for event in events if event.type == "entry.added"}
    for name, mark in marks.items():
        found = reach(lineage, [versions[name]])
        answers = {summary.summary_id for summary in found.summaries}
        shown = {context.version for context in found.contexts}
        left_out += [
            f"{name} in {item}" for item, inside in summaries.items() if mark in inside and item not in answers
        ]
        left_out += [f"{name} in {item}" for item, inside in contexts.items() if mark in inside and item not in shown]
    return left_out


@pytest.mark.parametrize("config", CONFIGS)
async def test_all_that_an_entry_reached_is_listed(config: str, seed: int) -> None:
    ledger, marks = await a_session(config, seed)
    events = await events_of(ledger)
    truth = await planted(ledger, events)
    assert sum(map(len, truth[0].values())) > 10, "the model passed nothing on"
    assert sum(map(len, truth[1].values())) > 10, "no context was recorded"
    assert missed(LINEAGE.fold(events), events, marks, truth) == []
    for name in marks:
        answers = await ledger.derived("s", name)
        assert {summary.summary_id for summary in answers.summaries} >= {
            item for item, inside in truth[0].items() if marks[name] in inside
        }


def without_folds(event: RecordedEvent) -> RecordedEvent:
    if isinstance(event.payload, CompactionCompleted):
        return replace(event, payload=replace(event.payload, folds=()))
    return event


def without_tasks(event: RecordedEvent) -> RecordedEvent:
    if isinstance(event.payload, CompactionRequested):
        return replace(event, payload=replace(event.payload, strategy="token_threshold"))
    return event


def without_summaries(event: RecordedEvent) -> RecordedEvent:
    if isinstance(event.payload, ContextRendered):
        stored = tuple(item for item in event.payload.items if not isinstance(item, str))
        return replace(event, payload=replace(event.payload, items=stored))
    return event


@pytest.mark.parametrize(
    ("config", "drop"),
    [("folds", without_folds), ("names_the_task", without_tasks), ("token_threshold", without_summaries)],
)
async def test_a_dropped_link_is_noticed(
    config: str, drop: Callable[[RecordedEvent], RecordedEvent], seed: int
) -> None:
    """The control: one kind of link is not followed."""
    ledger, marks = await a_session(config, seed)
    events = await events_of(ledger)
    truth = await planted(ledger, events)
    assert missed(LINEAGE.fold(map(drop, events)), events, marks, truth) != []


@pytest.mark.parametrize("config", ["overlays", "dense"])
async def test_what_an_entry_did_not_reach_is_not_listed(config: str, seed: int) -> None:
    """An answer that repeats every mark leaves nothing to guess: here the lineage lists what is there, and no more."""
    ledger, marks = await a_session(config, seed)
    events = await events_of(ledger)
    summaries, contexts = await planted(ledger, events)
    changed = {event.payload.entry_id for event in events if event.type == "entry.edited"}
    calls = {event.payload.entry_id for event in events if getattr(event.payload, "kind", "") == "tool_call"}
    for name in marks.keys() - changed - calls:
        answers = await ledger.derived("s", name)
        assert {summary.summary_id for summary in answers.summaries} == {
            item for item, inside in summaries.items() if marks[name] in inside
        }
        assert {context.version for context in answers.contexts} == {
            item for item, inside in contexts.items() if marks[name] in inside
        }


async def test_without_the_entry_all_is_as_if_it_had_never_been(seed: int) -> None:
    """trust P-17, undo: what is replayed without it equals a history that never had it."""
    config = CONFIGS["token_threshold"]
    poisoned = ledger_over(InMemoryStore(), namespace="planted", config=config)
    clean = ledger_over(InMemoryStore(), namespace="planted", config=config)
    bad = random.Random(seed).randrange(1, 10)
    for ledger, skipped in ((poisoned, None), (clean, bad)):
        ledger.set_summarizer(None, passes_on)
        for number in range(1, 30):
            if number != skipped:
                await ledger.add_user_message("s", marked(number), entry_id=f"e{number}")
                await ledger.settle("s")
    assert (await poisoned.derived("s", f"e{bad}")).summaries
    replayed = await poisoned.what_if("s", config, without=[f"e{bad}"], summarizer=passes_on, on_miss="call")
    expected = await clean.get_context("s")
    assert [entry.entry_id for entry in replayed.window.entries] == [entry.entry_id for entry in expected.entries]
    assert [summary.text for summary in replayed.window.summaries] == [summary.text for summary in expected.summaries]
    assert f"⟦{bad}⟧" not in "".join(summary.text for summary in replayed.window.summaries)
    stored = await poisoned.what_if("s", config, summarizer=passes_on, on_miss="call")
    assert [summary.text for summary in stored.window.summaries] != [summary.text for summary in expected.summaries], (
        "the control"
    )


async def test_the_path_to_a_summary_is_reported() -> None:
    ledger = ledger_over(InMemoryStore(), namespace="planted", config=CONFIGS["folds"])
    ledger.set_summarizer(None, passes_on)
    for number in range(1, 40):
        await ledger.add_user_message("s", marked(number), entry_id=f"e{number}")
        await ledger.settle("s")
    events = await events_of(ledger)
    folds = {event.payload.summary_id: event.payload.folds for event in events if event.type == "compaction.completed"}
    found = (await ledger.derived("s", "e1")).summaries
    assert len(found) == len(folds) > 3
    assert [(result.how, len(result.via)) for result in found] == [
        ("folds" if at else "covers", at) for at in range(len(found))
    ]
    for result in found:
        assert all(inner in folds[outer] for outer, inner in pairwise([result.summary_id, *result.via]))
        assert result.via == origin(LINEAGE.fold(events), result.summary_id).via
    assert [result.live for result in found] == [False] * (len(found) - 1) + [True]


def test_circular_nonsense_ends() -> None:
    def created(version: int, name: str, *folds: str) -> RecordedEvent:
        payload = CompactionCompleted(
            write_id=name,
            compaction_id=name,
            key="k",
            strategy="x",
            effect="replace",
            covered=((version, version),),
            tokens_before=1,
            folds=folds,
            summary_id=name,
        )
        return RecordedEvent(version, version, None, 0, 0, "", payload)  # type: ignore[arg-type]

    lineage = LINEAGE.fold([created(1, "a", "b"), created(2, "b", "a"), created(3, "c", "c")])
    assert origin(lineage, "a").covered == origin(lineage, "b").covered == ((1, 2),)
    assert origin(lineage, "c").via == ()
    assert origin(lineage, "nobody").covered == ()
    assert {summary.summary_id for summary in reach(lineage, [1]).summaries} == {"a", "b"}


async def test_an_entry_is_named_by_its_id_or_its_version_and_an_unknown_one_is_refused(
    store: Store, namespace: str
) -> None:
    ledger = ledger_over(store, namespace=namespace)
    with pytest.raises(SessionNotFound):
        await ledger.derived("s", "a")
    added = await ledger.add_user_message("s", "hello", entry_id="a")
    await ledger.remove_entry("s", "a")
    again = await ledger.add_user_message("s", "hello again", entry_id="a")
    await ledger.get_context("s", record=True)
    both = await ledger.derived("s", "a")
    assert both.versions == (added.version, again.version)
    assert [context.how for context in both.contexts] == ["shows"]
    first = await ledger.derived("s", added.version)
    assert (first.versions, first.contexts) == ((added.version,), ())
    for unknown in ("b", 1, 99):
        with pytest.raises(EntryNotFound, match="was never in"):
            await ledger.derived("s", unknown)
