"""Commands become events, or are refused: adding, editing, removing, clearing (strategies §1, §7)."""

import pytest
from msgspec.structs import replace

from ledger.errors import DuplicateEntry, EntryNotFound
from ledger.events import EntryAdded, EntryEdited, EntryRemoved, SessionCleared, SessionOpened
from ledger.session.commands import AddEntries, ChangeConfig, ClearSession, EditEntry, OpenSession, RemoveEntry
from ledger.session.decide import decide
from ledger.session.evolve import SESSION
from ledger.session.state import SessionState
from ledger.session.views import stats_of, window_of
from projections.log.history import HISTORY
from projections.memory_config import config
from projections.stats import SessionStats
from projections.tool_pairs import group_interactions
from tests.support.driver import Driven
from tests.support.notation import entry
from tests.support.specification import given


def edit(entry_id: str, content: str = "new", tokens: int = 3, **fields) -> EditEntry:
    return EditEntry(write_id="edit", entry_id=entry_id, content=content, tokens=tokens, tokenizer="caller", **fields)


def contents(session) -> list[str]:
    return [entry.content for entry in session.state.window.entries]


def opening() -> OpenSession:
    return OpenSession(
        write_id="open", namespace="space", user_id="", session_id="session", config=config.load({"maxEntries": 7})
    )


def test_a_session_is_opened_once() -> None:
    session = given()
    assert session.state.opened
    session.when(opening()).then()


def test_an_entry_is_one_event_and_a_batch_has_one_write_id() -> None:
    """R-GEN-2."""
    session = given(None, "[u c1] r1")
    added = [event for event in session.events if isinstance(event.payload, EntryAdded)]
    assert [event.version for event in added] == [2, 3, 4]
    assert added[0].payload.write_id == added[1].payload.write_id != added[2].payload.write_id


def test_an_edit_changes_text_and_tokens_and_never_the_place() -> None:
    """R-GEN-4."""
    session = given(None, "u a u").when(edit("e2")).then(EntryEdited)
    assert contents(session) == ["u 1", "new", "u 3"]
    assert session.state.window.tokens == 10 + 3 + 10
    changed = session.state.window.entries[1]
    assert (changed.version, changed.edited_version, changed.tokenizer) == (3, 5, "caller")
    assert session.events[-1].payload.tokens_before == 10


def test_an_edit_that_changes_nothing_is_no_event() -> None:
    given(None, "u a").when(edit("e2", "a 2")).then()


def test_an_edit_of_the_role_alone_is_an_event() -> None:
    session = given(None, "u a").when(edit("e1", "u 1", role="system")).then(EntryEdited)
    assert session.state.window.entries[0].pinned
    assert session.state.window.pinned == (2,)


def test_only_an_active_entry_can_be_edited_or_removed() -> None:
    """R-GEN-4."""
    session = Driven({"max_entries": 4, "recent_window": 1, "min_entries_to_compress": 1}).add("u a u a u a")
    session.do(RemoveEntry("w", "e6"))
    for removed in ("e1", "e6", "e99"):
        session.when(edit(removed)).refuses(EntryNotFound)
        session.when(RemoveEntry("w", removed)).refuses(EntryNotFound)
    assert session.refused.entry_id == "e99"


def test_a_removed_entry_leaves_the_window_and_stays_in_history() -> None:
    """R-GEN-4."""
    session = given(None, "u a u").when(RemoveEntry("w", "e2")).then(EntryRemoved)
    assert contents(session) == ["u 1", "u 3"]
    assert session.events[-1].payload.tokens == 10
    stats = stats_of(session.state)
    assert (stats.total_entries, stats.active_entries, stats.removed_entries, stats.active_tokens) == (3, 2, 1, 20)
    assert [past.status for past in HISTORY.fold(session.events).entries] == ["active", "removed", "active"]


def test_history_keeps_the_text_an_entry_has_now() -> None:
    session = given(None, "u a").when(edit("e1")).then(EntryEdited)
    past = HISTORY.fold(session.events).entries[0]
    assert (past.content, past.status) == ("new", "active")
    assert session.events[1].payload.content == "u 1", "the log keeps the old text"


def test_an_edited_call_is_still_answered_by_its_result() -> None:
    session = given(None, "u c1").when(edit("e2")).then(EntryEdited)
    session.add("r1 a")
    (interaction,) = group_interactions(session.state.window.entries)
    assert interaction.closed
    assert not session.state.items.waiting


def test_the_result_of_a_removed_call_is_a_unit_of_its_own() -> None:
    """R-GEN-9."""
    session = given(None, "u c1").when(RemoveEntry("w", "e2")).then(EntryRemoved)
    assert not session.state.items.waiting
    session.add("r1 a")
    assert group_interactions(session.state.window.entries)[0].closed


def test_a_clear_leaves_an_empty_window_and_the_config() -> None:
    """R-000-14, LAW-2."""
    settings = {"max_entries": 4, "recent_window": 1, "min_entries_to_compress": 1}
    session = Driven(settings).add("u a u a u a").when(ClearSession("w")).then(SessionCleared)
    stats = stats_of(session.state)
    assert window_of(session.state).items == ()
    assert replace(stats, version=0, writes=0, created_at=None, updated_at=None) == SessionStats()
    assert session.state.config == config.load(settings)
    assert session.state.opened
    assert len(HISTORY.fold(session.events).entries) == 6


def test_clearing_what_is_empty_is_no_event() -> None:
    """R-000-14; also for an unknown session."""
    given().when(ClearSession("w")).then()
    given(None, "u").when(ClearSession("w")).then(SessionCleared).when(ClearSession("w")).then()
    assert decide(SessionState(), ClearSession("w")) == []
    assert decide(SessionState(), ClearSession("w", end=True)) == []


def test_a_session_whose_last_entry_was_removed_can_be_cleared() -> None:
    session = given(None, "u").when(RemoveEntry("w", "e1")).then(EntryRemoved)
    session.when(ClearSession("w")).then(SessionCleared)


def test_an_end_ends_the_life_and_an_opening_begins_a_new_one() -> None:
    session = given(None, "u").when(ClearSession("w", end=True)).then(SessionCleared)
    assert not session.state.opened
    session.when(opening()).then(SessionOpened)
    assert session.state.opened
    assert session.state.config.compactions[0].max_entries == 7
    assert session.state.cleared_version == session.state.version == len(session.events)
    assert [past.status for past in HISTORY.fold(session.events).entries] == ["cleared"]


def test_an_empty_session_can_be_ended() -> None:
    given().when(ClearSession("w", end=True)).then(SessionCleared)


def test_unknown_sessions_have_zero_stats_and_an_empty_window() -> None:
    """R-000-16."""
    assert stats_of(SESSION.initial) == SessionStats()
    assert window_of(SESSION.initial).items == ()


def known(session, entry_id: str):
    return (session.state.window.newest(entry_id),)


def test_an_entry_that_is_known_with_equal_content_is_not_added_again() -> None:
    session = given(None, "u")
    again = entry("u", 1, write_id="w2")
    session.when(AddEntries((again,), known(session, "e1"))).then()
    session.when(AddEntries((again, entry("a", 2)), known(session, "e1"))).then(EntryAdded)


def test_the_same_id_twice_in_a_batch_counts_once() -> None:
    twice = entry("u", 1)
    given().when(AddEntries((twice, twice))).then(EntryAdded)
    given().when(AddEntries((twice, replace(twice, content="other")))).refuses(DuplicateEntry)


@pytest.mark.parametrize(
    "change",
    [
        {"content": "other"},
        {"role": "assistant"},
        {"kind": "step_prompt"},
        {"tool_name": "t"},
        {"tool_call_id": "t"},
        {"arguments": {}},
        {"data": {}},
    ],
)
def test_an_entry_id_that_is_taken_by_other_content_is_refused(change: dict) -> None:
    session = given(None, "u")
    other = replace(entry("u", 1), **change)
    session.when(AddEntries((other,), known(session, "e1"))).refuses(DuplicateEntry)
    assert session.refused.entry_id == "e1"


@pytest.mark.parametrize("change", [{"tokens": 99}, {"tokenizer": "approximate"}, {"write_id": "w9"}, {"metadata": {}}])
def test_what_is_not_content_does_not_make_an_entry_another(change: dict) -> None:
    session = given(None, "u")
    session.when(AddEntries((replace(entry("u", 1), **change),), known(session, "e1"))).then()


def test_nothing_of_a_batch_is_added_if_one_entry_is_refused() -> None:
    session = given(None, "u")
    taken = replace(entry("u", 1), content="other")
    session.when(AddEntries((entry("a", 2), taken), known(session, "e1"))).refuses(DuplicateEntry)
    assert contents(session) == ["u 1"]


def test_a_config_change_is_no_event_if_it_changes_nothing() -> None:
    session = given({"maxEntries": 5})
    session.when(ChangeConfig("w", config.load({"max_entries": 5}))).then()


def test_an_id_means_the_newest_entry_with_it() -> None:
    """An id may be used again after its entry was removed."""
    session = given(None, "u").when(RemoveEntry("w", "e1")).then(EntryRemoved)
    session.when(AddEntries((replace(entry("u", 1), content="again"),))).then(EntryAdded)
    session.when(edit("e1")).then(EntryEdited)
    assert contents(session) == ["new"]
