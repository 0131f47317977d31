"""A state whose content is partly absent reads as one that has it all, and costs no more than what is read.

Source: style §4. Random histories; a failure names its seed.
"""

import random
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from ledger.events import (
    CompactionCompleted,
    EntryEdited,
    EntryRemoved,
    Event,
    RecordedEvent,
    SessionCleared,
)
from ledger.history import snapshots
from ledger.session.evolve import SESSION, evolve
from ledger.session.state import SessionState
from ledger.session.views import metrics_of, plan_automatic, stats_of, window_of
from projections import entry_page
from projections.entries import Entry
from projections.entry_page import EntryPage, PagesMissing
from projections.memory_config import config
from projections.paged_entries import PagedEntries
from projections.strategies import interactions
from projections.strategies.interactions import all_interactions, newest_first
from projections.tool_pairs import group_interactions
from projections.values import ranges
from projections.window import ActiveEntries
from tests.support import histories
from tests.support.driver import Driven
from tests.support.notation import entry
from tests.support.small_pages import small_pages

T = TypeVar("T")

ALL = [{"window": {"type": kind, **fields}} for kind, several in histories.WINDOWS.items() for fields in several] + [
    {"compactions": [{"type": kind, **fields}]} for kind, several in histories.COMPACTIONS.items() for fields in several
]
CONFIGS = [config.load(settings) for settings in ALL]


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of a few entries, so that short histories have many."""
    small_pages(monkeypatch)
    monkeypatch.setattr(interactions, "_FIRST_TAKEN", 1)


def happened(dice: random.Random, steps: int) -> Driven:
    """Return a session of random events, more than decisions allow: units are split, and roles change."""
    session = Driven({"profile": "none"})
    for _ in range(steps):
        active = list(session.state.window.entries)
        session.record([step(dice, active, f"w{dice.randrange(10**9)}", len(session.added) + 1)])
    return session


def step(dice: random.Random, active: list[Entry], write_id: str, number: int) -> Event:
    kind = dice.choices(["add", "edit", "remove", "compact", "clear"], [60, 3, 2, 2, 0.3])[0]
    if kind == "clear":
        return SessionCleared(write_id=write_id)
    if kind == "add" or not active:
        tag = dice.choice("uuuaaaccrrsxpq")
        item = f"{tag}{dice.randint(1, 2) if tag in 'cr' else ''}"
        by_name = {"tool_call_id": None} if dice.random() < 0.3 else {}
        return entry(item, number, write_id=write_id, tokens=dice.randrange(60), **by_name)
    chosen = dice.choice(active)
    if kind == "edit":
        again = [item for item in active if item.edited_version]
        chosen = dice.choice(again) if again and dice.random() < 0.5 else chosen
        return EntryEdited(
            write_id=write_id,
            entry_id=chosen.entry_id,
            entry_version=chosen.version,
            content=dice.choice(["new", "error: new"]),
            tokens=dice.randrange(60),
            tokens_before=chosen.tokens,
            tokenizer="caller",
            role=dice.choice([None, None, "user", "assistant", "system"]) if chosen.kind == "message" else None,
        )
    if kind == "remove":
        return EntryRemoved(
            write_id=write_id, entry_id=chosen.entry_id, entry_version=chosen.version, tokens=chosen.tokens
        )
    some = active[: dice.randrange(len(active)) + 1]
    covered = some if dice.random() < 0.7 else [item for item in some if dice.random() < 0.6] or some
    return CompactionCompleted(
        write_id=write_id,
        compaction_id=write_id,
        key="k",
        strategy="imported",
        effect=dice.choice(["replace", "erase"]),
        covered=ranges.ranges_of(item.version for item in covered),
        tokens_before=10,
        summary_id=write_id,
        text="summary",
        tokens_after=3,
        tokenizer="caller",
        method="imported",
        first_version=covered[0].version,
    )


def thin(state: SessionState, dice: random.Random) -> SessionState:
    """Return *state* without the content of some pages."""
    entries = state.window.entries
    some = tuple(EntryPage(None, page.facts) if dice.random() < 0.8 else page for page in entries.pages)
    return replace(state, window=replace(state.window, entries=PagedEntries.of(some, entries.tail)))


def on_demand(events: list[RecordedEvent], read: Callable[[], T]) -> T:
    """Return the result of *read*; the content that it needs comes from *events*."""
    by_version = {event.version: event for event in events}
    for _ in range(1_000):
        try:
            return read()
        except PagesMissing as missing:
            for page in missing.pages:
                page.fill(by_version)
    raise AssertionError("content that was filled in is missing again")


def check_all(check: Callable[[int], None], count: int) -> None:
    for _ in range(count):
        check(random.randrange(10**9))


def check_reads(seed: int) -> None:
    """Check that every strategy gives the same with absent pages, and as if it looked at everything."""
    dice = random.Random(seed)
    session = happened(dice, dice.randrange(90))
    for settings in CONFIGS:
        state = replace(session.state, config=settings)
        hints = histories.hints_for(settings.window, histories.recallable(session))
        expected: list[Any] = [window_of(state, hints), stats_of(state), metrics_of(state, "user_prompt")]
        expected += [plan_automatic(state, compaction) for compaction in settings.compactions]
        partial = thin(state, dice)

        def read(partial: SessionState = partial, hints: Any = hints, settings: Any = settings) -> list[Any]:
            found: list[Any] = [window_of(partial, hints), stats_of(partial), metrics_of(partial, "user_prompt")]
            return found + [plan_automatic(partial, compaction) for compaction in settings.compactions]

        assert on_demand(session.events, read) == expected, f"seed {seed}: {settings}"
        with pytest.MonkeyPatch.context() as whole:
            whole.setattr("projections.strategies.interactions._may_fire", lambda *_: True)
            for strategy in ("max_tokens", "recall"):
                whole.setattr(f"projections.strategies.{strategy}.newest_first", everything)
            assert read(state) == expected, f"seed {seed}: {settings}"
    assert list(newest_first(session.state)) == list(everything(session.state)), f"seed {seed}"


def everything(state: Any) -> Iterator[Any]:
    return reversed(all_interactions(state))


def check_folds(seed: int) -> None:
    """Check that a fold gives the same when content is absent, and so does a snapshot."""
    dice = random.Random(seed)
    session = happened(dice, dice.randrange(120))
    state = SESSION.initial
    for event in session.events:
        state = on_demand(session.events, lambda event=event, state=state: evolve(state, event))  # type: ignore[misc]  # mypy infers no such lambda
        if dice.random() < 0.3:
            state = thin(state, dice)
        if dice.random() < 0.1:
            needed, hydrate = snapshots.load(snapshots.dehydrate(state))
            state = hydrate(each for each in session.events if ranges.contains(needed, each.version))
    assert on_demand(session.events, lambda: state == session.state), f"seed {seed}"
    facts = on_demand(session.events, lambda: state.window.entries.owned().facts)
    assert sum(part.count for part in facts) == len(session.state.window.entries), f"seed {seed}"


@pytest.mark.parametrize("check", [check_reads, check_folds])
def test_absent_content_changes_nothing(check: Callable[[int], None]) -> None:
    check_all(check, 40)


@pytest.mark.slow
@pytest.mark.parametrize("check", [check_reads, check_folds])
def test_absent_content_changes_nothing_in_many_histories(check: Callable[[int], None]) -> None:
    check_all(check, 1_500)


WRONG: dict[str, tuple[str, Any, Callable[[int], None]]] = {
    "a late result starts where its interaction does": (
        "projections.strategies.interactions._begin",
        lambda state, newest: next((at for at, entry in enumerate(newest) if entry.starts_interaction), None),
        check_reads,
    ),
    "a split unit changes nothing": (
        "projections.window.ActiveEntries.pairs_as_added",
        lambda entries: True,
        check_reads,
    ),
    "a tool's results never fire": (
        "projections.window._ran",
        lambda ran, result: ran,
        check_reads,
    ),
    "an edit says nothing of the role": (
        "projections.entry_page._entry",
        lambda events, version, edit, real=entry_page._entry: real(
            events, version, edit and (edit[0], events[edit[0]].payload.role or events[version].payload.role)
        ),
        check_folds,
    ),
}


@pytest.mark.full
@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_is_noticed(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative controls of the checks above."""
    name, wrong, check = WRONG[mistake]
    monkeypatch.setattr(name, wrong)
    with pytest.raises(AssertionError):
        check_all(check, 4_000)  # it ends at the first that is noticed


def test_a_short_window_reads_few_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    session = Driven({"profile": "none"}).add("u a " * 1_500)
    for settings in CONFIGS:
        if settings.window.type in {"full", "sliding_window"}:
            continue  # they show or count all of it
        state = replace(session.state, config=settings)
        partial = replace(state, window=absent(state.window))
        on_demand(session.events, lambda state=partial: window_of(state))  # type: ignore[misc]  # mypy infers no such lambda
        first, *others = partial.window.entries.pages
        # a window may also show the beginning, which is one large page
        read = sum(page.count for page in others if page.entries is not None)
        limit = 3_000 if getattr(settings.window, "conditions", ()) else 200
        assert read <= limit, (
            f"{settings.window.type} reads {read} of 3,000 entries beside the first {first.count}, at most {limit} are "
            "allowed: use `newest_first`, slices of `state.window.entries` and `all_pinned()`"
        )


def absent(window: ActiveEntries) -> ActiveEntries:
    facts = window.entries.pages
    return replace(
        window, entries=PagedEntries.of(tuple(EntryPage(None, page.facts) for page in facts), window.entries.tail)
    )


def test_what_is_grouped_from_the_newest_back_is_grouped_as_a_whole() -> None:
    session = Driven({"profile": "none"}).add("u c1 a u r1 a u a")
    assert list(newest_first(session.state)) == list(reversed(group_interactions(session.state.window.entries)))
