"""The law of going on: after export and import, a restore or a fork, memory goes on as if nothing had happened."""

from collections.abc import Callable
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from msgspec.structs import replace

from ledger.events import EntryAdded, ForkedFrom
from ledger.session import evolve as session_fold
from ledger.session import restore_decisions
from ledger.session.commands import ClearSession, OpenSession, RestoreState
from ledger.session.evolve import end_of_batch
from ledger.session.merge.merge_fields import body_of, context_text
from ledger.session.merge.merging import ids_to_look_up
from ledger.session.merge.put_command import IfMatch, PriorItems, PutSession, ReturningMessage, StoredItem, TokenCount
from ledger.session.state import SessionState
from ledger.session.views import window_of
from projections.entries import Entry
from projections.log.history import HISTORY
from projections.strategies import COMPACTIONS, WINDOWS
from projections.summaries import Summary
from tests.support.driver import Driven, Scripted
from tests.support.examples import up_to
from tests.support.histories import STEPS, Step, configs, exported, happened, mixed, restore, take

STATUS: dict[str, Any] = {
    "active": "active",
    "covered": "covered",
    "erased": "covered",
    "removed": "removed",
    "cleared": "cleared",
}
Detour = Callable[[Driven, list[Step]], Driven]
EXAMPLES = up_to(200)
SOME = STEPS.map(lambda steps: steps[:12])
each_window = pytest.mark.parametrize("kind", sorted(WINDOWS))
each_compaction = pytest.mark.parametrize("kind", sorted(COMPACTIONS))


def by_import(session: Driven, between: list[Step]) -> Driven:
    other = fresh(session)
    restore(other, exported(session))
    return other


def by_import_over_another_life(session: Driven, between: list[Step]) -> Driven:
    other = fresh(session)
    go_on(other, between)
    restore(other, exported(session))
    return other


def by_restore(session: Driven, between: list[Step]) -> Driven:
    past = session.state
    go_on(session, [step for step in between if step.kind != "import"])
    return restored(session, past)


def by_restore_after_a_clear(session: Driven, between: list[Step]) -> Driven:
    past = session.state
    session.do(ClearSession(next(session.ids)))
    go_on(session, [step for step in between if step.kind != "import"])
    return restored(session, past)


def by_fork(session: Driven, between: list[Step]) -> Driven:
    fork = OpenSession(
        write_id="fork",
        namespace="space",
        user_id="",
        session_id="fork",
        config=session.state.config,
        forked_from=ForkedFrom(session_id="session", version=len(session.events)),
        anew=True,
    )
    session.do(fork)
    return session


DETOURS = (by_import, by_import_over_another_life, by_restore, by_restore_after_a_clear, by_fork)
DETOUR = st.sampled_from(DETOURS)


def fresh(session: Driven) -> Driven:
    other = Driven({"profile": "none"}, session.summarizer)
    other.clock.ids = 1_000_000  # an imported summary keeps its id, which no later one may get
    other.state = replace(other.state, config=session.state.config)
    other.events[0] = replace(
        other.events[0], payload=replace(other.events[0].payload, config=session.events[0].payload.config)
    )
    return other


def restored(session: Driven, past: SessionState) -> Driven:
    body = body_of(past)
    returning = {
        entry.entry_id: ReturningMessage(batch, TokenCount(entry.tokens, entry.tokenizer, entry.fallback))
        for _, entries in groupby(past.window.entries, key=lambda entry: entry.write_id)
        for batch in [next(session.ids)]
        for entry in entries
    }
    put = PutSession(
        write_id=next(session.ids),
        body=replace(body, context=context_text(session.state)),
        evidence=IfMatch(),
        count=lambda role, text: TokenCount(0, "caller"),
        new_ids=(),
        prior=prior(session, ids_to_look_up(session.state, body)[0]),
        returning=returning,
    )
    session.do(RestoreState(put, past))
    return session


def go_on(session: Driven, steps: list[Step]) -> None:
    for step in steps:
        take(session, step)
        if step.kind == "add":
            session.settle()


def seen(item: Entry | Summary) -> tuple[Any, ...]:
    if isinstance(item, Entry):
        return item.entry_id, item.role, item.content, item.tokens
    block = item.block and (item.block.number, item.block.first_item, item.block.last_item)
    return item.key, item.text, item.tokens, block


def shown(session: Driven) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    state = end_of_batch(session.state)
    return [seen(item) for item in window_of(state).items], [seen(item) for item in state.summaries.live]


def dates(session: Driven) -> list[tuple[Any, ...]]:
    live = end_of_batch(session.state).summaries.live
    return [(summary.created_at, summary.starts_at, summary.ends_at) for summary in live]


def prior(session: Driven, ids: list[str]) -> PriorItems:
    """Return what `prior_items` looks up: the newest entry of each id."""
    flags = session.state.working.flags
    payloads = {event.version: event.payload for event in session.events}
    found = {}
    for past in HISTORY.fold(session.events).entries:
        entry = past
        if entry.entry_id in ids:
            added = payloads[entry.version]
            assert isinstance(added, EntryAdded)
            added = replace(added, created_at=entry.created_at, persisted_at=flags.persisted_at(entry.version))
            value = entry.role, entry.content
            found[entry.entry_id] = StoredItem(
                entry.version, entry.entry_id, entry.write_id, value, status=STATUS[past.status], event=added
            )
    return PriorItems(messages=found)


def check(detour: Detour, config: dict[str, Any], before: list[Step], between: list[Step], after: list[Step]) -> None:
    plain = happened(config, before, mixed)
    if not is_exact(plain.state):
        reject()
    other = detour(happened(config, before, mixed), between)
    assert (shown(other), dates(other)) == (shown(plain), dates(plain))
    for session in (plain, other):
        session.summarizer = Scripted(mixed)
    for number, step in enumerate(after):
        for session in (plain, other):
            session.added = [0] * 1_000 * (number + 1)  # new entries get the same names and texts
            go_on(session, [step])
        assert shown(other) == shown(plain), f"after step {number}: {step}"
        assert asked(other) == asked(plain), f"after step {number}: {step}"


def is_exact(state: SessionState) -> bool:
    """Return False if a late result belongs to an item of which nothing else is left: then it joins the next item."""
    numberings = (state.items.interactions, state.items.messages)
    return all(not home or state.window.at(home) for numbering in numberings for _, home in numbering.strays)


def asked(session: Driven) -> list[str]:
    assert isinstance(session.summarizer, Scripted)
    return [request.request_hash for request in session.summarizer.asked]


@each_compaction
@EXAMPLES
@given(detour=DETOUR, data=st.data(), before=SOME, between=SOME, after=SOME)
def test_compactions_go_on__LAW_28(
    detour: Detour, kind: str, data: Any, before: list, between: list, after: list
) -> None:
    """R-CMP-12, R-000-15."""
    check(detour, data.draw(configs(compaction=kind)), before, between, after)


@each_window
@EXAMPLES
@given(detour=DETOUR, data=st.data(), before=SOME, between=SOME, after=SOME)
def test_windows_go_on__LAW_28(detour: Detour, kind: str, data: Any, before: list, between: list, after: list) -> None:
    check(detour, data.draw(configs(window=kind)), before, between, after)


BLOCKS = {
    "window": {"type": "rolling", "size": 2},
    "compactions": [{"type": "rolling_blocks", "size": 2, "max_summaries": 2}],
}
DENSE = {
    "compactions": [{"type": "summarizer", "interaction_threshold_qty": 3, "interaction_keep": 1, "cod_max_loops": 1}]
}
TURNS = [Step("add", f"[u{90 + number} a90]", day=number) for number in range(9)]


@pytest.mark.parametrize("detour", DETOURS[:-1], ids=lambda detour: detour.__name__)
def test_the_law_rejects_summaries_without_key_and_block__LAW_28(
    monkeypatch: pytest.MonkeyPatch, detour: Detour
) -> None:
    """Negative control: what an import did before."""
    check(detour, BLOCKS, TURNS, TURNS[:3], TURNS)
    check(detour, DENSE, TURNS, TURNS[:3], TURNS)
    real = restore_decisions.CompactionCompleted

    def anonymous(**fields: Any) -> Any:
        return real(**{**fields, "key": "imported", "block": None})

    monkeypatch.setattr(restore_decisions, "CompactionCompleted", anonymous)
    for config in (BLOCKS, DENSE):
        with pytest.raises(AssertionError):
            check(detour, config, TURNS, TURNS[:3], TURNS)


@pytest.mark.parametrize("detour", DETOURS[:-1], ids=lambda detour: detour.__name__)
def test_the_law_rejects_a_count_that_begins_anew__LAW_28(monkeypatch: pytest.MonkeyPatch, detour: Detour) -> None:
    """Negative control."""
    removed = [*TURNS, Step("remove", place=0.5), Step("remove", place=0.9)]
    check(detour, BLOCKS, removed, TURNS[:3], TURNS)
    monkeypatch.setattr(session_fold, "_continued", lambda state, continuation: ())
    with pytest.raises(AssertionError):
        check(detour, BLOCKS, removed, TURNS[:3], TURNS)
