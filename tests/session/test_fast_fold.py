"""A fold in runs is the fold, event by event."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ledger.events import EntryAdded, ExpirySet
from ledger.session import fast_fold
from ledger.session.evolve import SESSION
from ledger.session.fast_fold import SESSION_IN_RUNS
from projections.entries import Entry
from projections.paged_entries import PagedEntries
from projections.values.packed_versions import Versions
from tests.support.examples import up_to
from tests.support.histories import STEPS, configs, happened, mixed
from tests.support.specification import Session

#: Mostly conversation, some of it in the wrong order: results that come late, or never.
ITEMS = (
    "u",
    "u",
    "u",
    "a",
    "a",
    "a",
    "a",
    "s",
    "x",
    "i",
    "p",
    "q",
    "c1",
    "r1",
    "c2",
    "r2",
    "r3",
    "[c1 c2 r2 r1]",
    "[u a]",
)


def conversation(dice: random.Random) -> Session:
    session = Session({"window": {"type": "full"}, "compactions": []})
    for _ in range(dice.randint(1, 5)):
        session.add(" ".join(dice.choices(ITEMS, k=dice.randint(1, 60))))
        if dice.random() < 0.3:
            session.record([ExpirySet(write_id=next(session.ids), ttl_seconds=dice.choice((None, 60)))])
        if dice.random() < 0.3:
            returning = [event.payload for event in session.events if isinstance(event.payload, EntryAdded)][-1]
            session.record([replace(returning, write_id=next(session.ids), extracted=True)])
    return session


def differences(seeds: range) -> list[int]:
    """Return the seeds of conversations that a fold in runs folds otherwise, whole or in two parts."""
    different = []
    for seed in seeds:
        dice = random.Random(seed)
        session = conversation(dice)
        cut = dice.randint(0, len(session.events))
        parts = SESSION_IN_RUNS.fold(session.events[cut:], SESSION_IN_RUNS.fold(session.events[:cut]))
        if not SESSION_IN_RUNS.fold(session.events) == parts == SESSION.fold(session.events):
            different.append(seed)
    return different


def test_conversations_fold_to_the_same_states_in_runs() -> None:
    first = random.SystemRandom().randrange(10**9)
    assert differences(range(first, first + 150)) == [], "seeds of conversations"


@up_to(100)
@given(raw=configs(), steps=STEPS, cut=st.floats(0, 1))
def test_any_history_folds_to_the_same_state_in_runs(raw: dict, steps: list, cut: float) -> None:
    events = happened(raw, steps, mixed).events
    place = round(cut * len(events))
    assert SESSION_IN_RUNS.fold(events) == SESSION.fold(events)
    assert SESSION_IN_RUNS.fold(events[place:], SESSION.fold(events[:place])) == SESSION.fold(events)


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("_OF_AN_ITEM", frozenset({"tool_call", "context", "step_result"})),
        ("replace", lambda struct, **changes: struct),
        ("_with_starts", lambda numbering, starts: numbering),
    ],
)
def test_a_fold_in_runs_that_breaks_a_rule_is_noticed(
    name: str, broken: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control."""
    monkeypatch.setattr(fast_fold, name, broken)
    assert differences(range(100))


@pytest.mark.parametrize("start", [0, 1, 31, 32, 33, 511, 512, 1_100])
@pytest.mark.parametrize("more", [0, 1, 32, 511, 1_100])
def test_a_list_extended_is_the_list_appended_to(start: int, more: int) -> None:
    versions = Versions.of(range(1, start + 1))
    entries = [
        Entry(version, f"e{version}", "w", "message", "user", "hi", 1, "approximate", 0)
        for version in range(1, start + more + 1)
    ]
    pages = PagedEntries(entries[:start])
    appended, appended_pages = versions, pages
    for entry in entries[start:]:
        appended, appended_pages = appended.append(entry.version), appended_pages.append(entry)
    assert versions.extend(range(start + 1, start + more + 1)) == appended
    extended = pages.extend(entries[start:])
    assert [page.count for page in extended.pages] == [page.count for page in appended_pages.pages]
    assert list(extended) == entries
    assert len(extended) == start + more
    assert list(pages) == entries[:start]
