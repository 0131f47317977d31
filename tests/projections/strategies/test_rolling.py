"""The rolling memory of seed 001 against strategies §8."""

import pytest

from ledger.errors import NotEnoughEntries
from ledger.events import CompactionCompleted, CompactionDiscarded, CompactionFailed, CompactionRequested
from ledger.session.commands import ChangeConfig, ClearSession, RemoveEntry
from ledger.session.evolve import SESSION, end_of_batch
from ledger.session.views import stats_of, window_of
from projections.memory_config import config
from projections.strategies.rolling import shown_items
from projections.values import ranges
from tests.support.driver import Driven, Scripted, exact
from tests.support.specification import given

UNITS = ("interaction", "entry")


class Rolling(Driven):
    """A rolling session whose items, of either unit, are all alike: an entry, or a pair of them."""

    def __init__(self, size: int, stored: int, unit: str = "entry", summarizer: Scripted | None = None, **more) -> None:
        super().__init__(
            {"profile": "rolling_interactions", "size": size, "max_summaries": stored, "unit": unit, **more}, summarizer
        )
        self.unit, self.n = unit, 0

    def grow(self, items: int, *, at_once: bool = False) -> "Rolling":
        for _ in range(1 if at_once else items):
            count = items if at_once else 1
            notation = "u a " * count if self.unit == "interaction" else "u " * count
            self.n += count
            self.add(f"[{notation}]")
        return self

    def item(self, entry_id: str) -> int:
        number = int(entry_id[1:])
        return number if self.unit == "entry" else (number + 1) // 2

    @property
    def shown(self) -> list[int]:
        return sorted({self.item(entry.entry_id) for entry in window_of(self.state).entries})

    @property
    def block_ranges(self) -> list[tuple[int, int]]:
        """The items each live summary stands for, oldest first."""
        live = sorted(window_of(self.state).summaries, key=lambda summary: summary.version)
        return [(summary.block.first_item, summary.block.last_item) for summary in live]

    @property
    def due(self) -> dict[int, tuple[int, int]]:
        """Of each block asked for: the number of items there were, and its items."""
        asked = [event.payload.block for event in self.events if isinstance(event.payload, CompactionRequested)]
        counts = self.entries_at(CompactionRequested)
        return {
            self.item(f"e{count}"): (item.first_item, item.last_item) for count, item in zip(counts, asked, strict=True)
        }

    @property
    def fallen_due(self) -> int:
        return end_of_batch(self.state).progress_of("rolling_blocks").number


@pytest.mark.parametrize("unit", UNITS)
def test_the_acceptance_criteria_hold_for_each_n_to_200__V_001_1_to_4(unit: str) -> None:
    session = Rolling(21, 3, unit)
    for n in range(1, 201):
        session.grow(1)
        newest = [(21 * number + 2, 21 * number + 22) for number in range((n - 1) // 21)]
        assert session.shown == list(range(max(1, n - 20), n + 1)), "V-001-1: at most 21 items, the newest"
        assert session.fallen_due == len(newest), "V-001-2: a block at every 22nd item"
        assert session.block_ranges == newest[-3:], "V-001-3: at most 3 summaries, the oldest dropped"
        assert len(session.summarizer.asked) == len(newest), "V-001-4: a block is summarised once"
    assert list(session.due) == list(range(22, 201, 21))


@pytest.mark.parametrize("unit", UNITS)
def test_eighty_five_items_give_three_summaries_and_a_full_window__V_001_4(unit: str) -> None:
    session = Rolling(21, 3, unit).grow(85)
    assert session.block_ranges == [(23, 43), (44, 64), (65, 85)]
    assert session.shown == list(range(65, 86))
    assert len(session.summarizer.asked) == 4
    assert SESSION.fold(session.events) == session.state
    assert len(session.summarizer.asked) == 4, "folding what was recorded asks no model"


def test_eighty_five_entries_keep_the_entries_that_a_summary_names__V_001_4() -> None:
    session = Rolling(21, 3).grow(85)
    live = session.state.summaries.live
    assert [session.places(summary.covered) for summary in live] == ["23-43", "44-64", "65-85"]
    assert [(summary.block.first_id, summary.block.last_id) for summary in live] == [
        ("e23", "e43"),
        ("e44", "e64"),
        ("e65", "e85"),
    ]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    ("size", "max_summaries", "n", "due", "retained", "window"),
    [
        pytest.param(21, 3, 21, 0, [], (1, 21), id="V-001-5"),
        pytest.param(21, 3, 22, 1, [(2, 22)], (2, 22), id="V-001-6"),
        pytest.param(21, 3, 42, 1, [(2, 22)], (22, 42), id="V-001-7"),
        pytest.param(21, 3, 43, 2, [(2, 22), (23, 43)], (23, 43), id="V-001-8"),
        pytest.param(21, 3, 84, 3, [(2, 22), (23, 43), (44, 64)], (64, 84), id="V-001-9"),
        pytest.param(21, 3, 106, 5, [(44, 64), (65, 85), (86, 106)], (86, 106), id="V-001-10"),
        pytest.param(21, 0, 85, 4, [], (65, 85), id="V-001-11"),
        pytest.param(21, 1, 85, 4, [(65, 85)], (65, 85), id="V-001-12"),
        pytest.param(1, 0, 4, 3, [], (4, 4), id="V-001-13"),
        pytest.param(1, 1, 4, 3, [(4, 4)], (4, 4), id="V-001-14"),
        pytest.param(1, 3, 6, 5, [(4, 4), (5, 5), (6, 6)], (6, 6), id="V-001-15"),
        pytest.param(2, 3, 9, 4, [(4, 5), (6, 7), (8, 9)], (8, 9), id="V-001-16"),
        pytest.param(2, 1, 9, 4, [(8, 9)], (8, 9), id="V-001-17"),
        pytest.param(3, 2, 12, 3, [(5, 7), (8, 10)], (10, 12), id="V-001-18"),
    ],
)
def test_blocks_due_retained_and_shown(unit: str, size, max_summaries, n, due, retained, window) -> None:
    """R-001-2, R-001-3."""
    session = Rolling(size, max_summaries, unit).grow(n)
    assert (session.fallen_due, session.block_ranges) == (due, retained)
    assert (session.shown[0], session.shown[-1]) == window
    assert len(session.summarizer.asked) == (due if max_summaries else 0)


@pytest.mark.parametrize(
    ("size", "max_summaries", "n", "due_at"),
    [
        pytest.param(1, 1, 4, [2, 3, 4], id="V-001-14"),
        pytest.param(2, 3, 9, [3, 5, 7, 9], id="V-001-16"),
        pytest.param(3, 2, 12, [4, 7, 10], id="V-001-18"),
    ],
)
def test_blocks_fall_due_at(size: int, max_summaries: int, n: int, due_at: list[int]) -> None:
    assert list(Rolling(size, max_summaries).grow(n).due) == due_at


def resized(session: Rolling, size: int) -> Rolling:
    session.do(ChangeConfig(next(session.ids), config.update(session.state.config, {"size": size})))
    return session


@pytest.mark.parametrize("unit", UNITS)
def test_a_smaller_size_acts_from_the_next_item__V_001_19(unit: str) -> None:
    session = resized(Rolling(21, 3, unit).grow(30), 5).grow(11)
    assert session.due == {22: (2, 22), 31: (23, 31), 36: (32, 36), 41: (37, 41)}


@pytest.mark.parametrize("unit", UNITS)
def test_a_larger_size_acts_from_the_next_item__V_001_20(unit: str) -> None:
    session = resized(Rolling(5, 3, unit).grow(13), 21).grow(40)
    assert session.due == {6: (2, 6), 11: (7, 11), 32: (12, 32), 53: (33, 53)}


def test_include_first_puts_item_1_into_the_first_block__V_001_21() -> None:
    """R-001-7."""
    session = Rolling(21, 3, include_first=True).grow(43)
    assert session.due == {22: (1, 22), 43: (23, 43)}
    assert session.block_ranges == [(1, 22), (23, 43)]
    assert [session.places(done.covered) for done in session.completed] == ["1-22", "23-43"]


def fails_for(first_id: str):
    def answer(request) -> str:
        if request.entries[0].entry_id == first_id:
            raise RuntimeError("the model is down")
        return exact(request)

    return answer


def test_a_block_that_keeps_failing_holds_up_no_other__V_001_22() -> None:
    """R-001-6."""
    session = Rolling(21, 3, summarizer=Scripted(fails_for("e2"))).grow(43)
    assert session.block_ranges == [(23, 43)]
    blocks = end_of_batch(session.state).progress_of("rolling_blocks").retained
    assert [(due.block.first_item, due.done) for due in blocks] == [(2, False), (23, True)]
    assert session.entries_at(CompactionFailed) == [22, 23, 25, 29, 37]


def test_the_failed_block_is_summarised_later_from_the_ledger__V_001_22() -> None:
    """R-001-6: it keeps its slot; summaries are ordered by range."""
    session = Rolling(21, 3, summarizer=Scripted(fails_for("e2"))).grow(43)
    session.summarizer = Scripted()
    session.grow(20)
    live = window_of(session.state).summaries
    assert [summary.block.first_item for summary in live] == [23, 2], "newest range first"
    assert [entry.entry_id for entry in session.summarizer.asked[0].entries] == [f"e{item}" for item in range(2, 23)]


def test_a_block_that_never_failed_goes_before_one_that_did() -> None:
    """R-001-6."""
    session = Rolling(2, 3, summarizer=Scripted(fails_for("e2"))).grow(4)
    assert [job.asked.block.number for job in session.jobs] == [1, 1]
    session.grow(1)
    assert session.jobs[-1].asked.block.number == 2


def test_tool_entries_belong_to_the_next_message__V_001_23() -> None:
    """R-001-1."""
    session = Rolling(21, 3).add("u c1 r1 a")
    numbering = end_of_batch(session.state).items.numbering("entry")
    items = [numbering.members(session.state.window, number, number) for number in (1, 2)]
    assert [[entry.entry_id for entry in item] for item in items] == [["e1"], ["e2", "e3", "e4"]]
    assert end_of_batch(session.state).items.count("entry") == 2


@pytest.mark.parametrize(
    ("notation", "items"),
    [
        ("u x a", [["e1"], ["e2", "e3"]]),
        ("u c1 a r1 u", [["e1"], ["e2", "e3", "e4", "e5"]]),
        ("u c1 p r1 u", [["e1"], ["e3"], ["e2", "e4", "e5"]]),
        ("u c1 u r1 a", [["e1"], ["e2", "e3", "e4"], ["e5"]]),
        ("u c1 c2 r1 a r2 a", [["e1"], ["e5"], ["e2", "e3", "e4", "e6", "e7"]]),
        ("p c1 r1 q", [["e1"], ["e2", "e3", "e4"]]),
        ("s u i a", [["e2"], ["e4"]]),
    ],
)
def test_an_incomplete_tool_unit_moves_on_and_pinned_entries_are_in_no_item(notation: str, items: list) -> None:
    """R-001-1, R-GEN-7, R-GEN-9."""
    session = Rolling(21, 3).add(notation)
    numbering = end_of_batch(session.state).items.numbering("entry")
    count = end_of_batch(session.state).items.count("entry")
    members = [numbering.members(session.state.window, number, number) for number in range(1, count + 1)]
    assert [[entry.entry_id for entry in item] for item in members] == items


def groups(session: Driven) -> list[list[str]]:
    state = end_of_batch(session.state)
    return [[entry.entry_id for entry in group] for group in shown_items(state.config.window, state)]


def test_the_beginning_of_an_answer_of_two_writes_is_shown_with_it() -> None:
    """R-GEN-10: what is said is an item before the call comes, and stays one."""
    session = Rolling(1, 3).add("u a c1 r1 u")
    assert groups(session) == [["e2", "e3", "e4", "e5"]]
    assert end_of_batch(session.state).items.count("entry") == 3


def test_an_open_last_interaction_is_one_of_the_items_shown() -> None:
    """R-001-4."""
    session = Rolling(2, 3, "interaction").add("u a u a u c1")
    assert groups(session) == [["e3", "e4"], ["e5", "e6"]]
    assert end_of_batch(session.state).items.count("interaction") == 2


def test_trailing_tool_and_context_entries_are_shown_beside_the_items() -> None:
    """R-001-4."""
    session = Rolling(2, 3).add("u a u c1 r1 x")
    assert groups(session) == [["e2"], ["e3"], ["e4", "e5", "e6"]]


def test_pinned_entries_and_live_summaries_are_shown_beside_the_items() -> None:
    """R-WIN-2."""
    session = Rolling(1, 5).add("i u a s u")
    window = window_of(session.state)
    assert {entry.entry_id for entry in window.entries} == {"e1", "e4", "e5"}
    assert len(window.summaries) == 2
    assert (window.tokens, window.dropped) == (30 + 10, 2)


@pytest.mark.parametrize("order", ["newest_first", "chronological"])
def test_the_model_gets_interactions_and_summaries_in_the_order_asked_for(order: str) -> None:
    """R-001-9; the entries of one item stand as they were said."""
    session = Rolling(2, 3, "interaction", order=order).add("i " + "u a " * 7)
    names = [getattr(item, "entry_id", None) or f"block {item.block.number}" for item in window_of(session.state).items]
    if order == "newest_first":
        assert names == ["e1", "e14", "e15", "e12", "e13", "block 3", "block 2", "block 1"]
    else:
        assert names == ["e1", "block 1", "block 2", "block 3", "e12", "e13", "e14", "e15"]


def test_a_block_hides_nothing() -> None:
    """R-001-5, R-CMP-2: an overlay; the summary may be longer than what it stands for."""
    session = Rolling(2, 3, summarizer=Scripted("the " * 500)).grow(9)
    stats = stats_of(session.state)
    assert (stats.active_entries, stats.compressed_entries, stats.summaries) == (9, 0, 3)
    assert (stats.active_tokens, stats.total_tokens) == (90, 90 + 3 * 500)


def test_several_blocks_that_fall_due_at_once_follow_each_other() -> None:
    """R-001-6; a block outside the retained ones is never asked for."""
    session = Rolling(21, 3).grow(85, at_once=True)
    assert [job.asked.block.number for job in session.jobs] == [2, 3, 4]
    assert session.block_ranges == [(23, 43), (44, 64), (65, 85)]


def test_a_block_that_was_evicted_while_its_summary_was_written_is_discarded() -> None:
    """R-001-6."""
    session = Rolling(2, 1)
    job = session.append("u u u").request(session.plan())
    late = session.append("u u").answer(job)
    assert (type(late), late.reason) == (CompactionDiscarded, "evicted")
    assert not session.state.summaries.live


def test_a_failed_block_is_tried_again_after_ever_more_entries() -> None:
    """R-001-6, R-CMP-9: counted per block."""
    session = Rolling(2, 9, summarizer=Scripted(fails_for("e2"))).grow(12)
    failures = {(failed.block, failed.count) for failed in session.state.compactions.failures}
    assert failures == {(1, 4)}
    assert session.entries_at(CompactionFailed) == [3, 4, 6, 10]
    assert session.block_ranges == [(4, 5), (6, 7), (8, 9), (10, 11)]


def test_removed_entries_are_left_out_of_the_prompt() -> None:
    """R-001-7."""
    session = Rolling(3, 3).grow(2)
    session.do(RemoveEntry(next(session.ids), "e2"))
    session.grow(2)
    assert [entry.entry_id for entry in session.jobs[0].request.entries] == ["e3", "e4"]
    assert session.block_ranges == [(2, 4)], "the item counts, whatever clients remove"


def test_a_block_without_entries_needs_no_call() -> None:
    """R-001-7."""
    session = Rolling(1, 3, "interaction").add("u a u")
    session.do(RemoveEntry(next(session.ids), "e3"))
    session.add("u")
    (done,) = session.completed
    assert (done.block.first_item, done.block.last_item, done.covered, done.summary_id) == (2, 2, (), None)
    assert not session.summarizer.asked
    assert not session.state.summaries.live


def test_items_count_from_one_after_a_clear() -> None:
    """R-001-1, LAW-2."""
    session = Rolling(2, 3).grow(8)
    session.do(ClearSession(next(session.ids)))
    assert (session.block_ranges, session.shown, session.state.progress) == ([], [], ())
    session.grow(3)
    assert session.jobs[-1].asked.block.first_item == 2
    assert session.block_ranges == [(2, 3)]


def test_shrinking_the_window_leaves_items_in_neither_until_the_next_one() -> None:
    """R-001-10."""
    session = resized(Rolling(21, 3).grow(30), 5)
    assert session.shown == [26, 27, 28, 29, 30]
    assert session.block_ranges == [(2, 22)]
    session.grow(1)
    assert session.block_ranges == [(2, 22), (23, 31)]


def test_fewer_summaries_stay_as_soon_as_the_config_changes() -> None:
    """R-CFG-9, LAW-24: retention."""
    session = Rolling(2, 3).grow(9)
    session.do(ChangeConfig(next(session.ids), config.update(session.state.config, {"max_summaries": 1})))
    assert session.block_ranges == [(8, 9)]


def test_another_unit_begins_to_count_anew_and_keeps_no_block() -> None:
    session = Rolling(2, 3).grow(9)
    session.do(ChangeConfig(next(session.ids), config.update(session.state.config, {"unit": "interaction"})))
    assert not session.block_ranges
    assert end_of_batch(session.state).config.window.unit == "interaction"


def test_asked_by_a_caller_the_oldest_due_block_is_summarised_or_none_is_due() -> None:
    """R-001-6, R-000-5."""
    session = Rolling(2, 3, summarizer=Scripted(fails_for("e2"))).grow(4)
    session.summarizer = Scripted()
    assert session.compress().block.number == 1
    with pytest.raises(NotEnoughEntries) as refused:
        session.compress()
    assert (refused.value.eligible, refused.value.needed) == (1, 2)
    assert "force" not in str(refused.value), "force makes no block smaller"


def test_the_prompt_asks_for_what_a_rolling_summary_keeps() -> None:
    """R-SUM-8."""
    session = Rolling(2, 3).grow(3)
    system, user = session.summarizer.asked[0].messages
    assert all(word in system.text for word in ("concise", "specific", "goals", "decisions", "facts", "names", "data"))
    assert user.text == "User: u 2\nUser: u 3"
    assert session.summarizer.asked[0].target_tokens is None


def test_the_numbering_of_a_long_session_stays_as_small_as_its_window() -> None:
    """style §2: the state is bounded by the active entries."""
    settings = {
        "window": {"type": "rolling", "size": 3, "unit": "entry"},
        "compactions": [
            {"type": "rolling_blocks", "size": 3, "unit": "entry"},
            {"type": "token_threshold", "max_entries": 10, "recent_window": 5, "min_entries_to_compress": 1},
        ],
    }
    session = Driven(settings).add("u a " * 200)
    items = end_of_batch(session.state).items
    assert items.count("entry") == 400
    assert len(items.messages.starts) <= 16
    assert window_of(session.state).summaries
    assert [entry.entry_id for entry in window_of(session.state).entries[:1]] == ["e400"]


def test_a_block_reaches_back_to_entries_that_have_left_the_window() -> None:
    """R-001-6: retried from the ledger."""
    settings = {
        "compactions": [
            {"type": "rolling_blocks", "size": 3, "unit": "entry"},
            {"type": "token_threshold", "max_entries": 4, "recent_window": 1, "min_entries_to_compress": 1},
        ]
    }
    session = Driven(settings, Scripted(fails_for("e2"))).add("u u u u u u u")
    first = session.jobs[0]
    assert (first.asked.block.number, session.state.window.within(first.asked.covered)) == (1, ())
    session.summarizer = Scripted()
    session.add("u u u u")
    (done,) = [done for done in session.completed if done.block and done.block.number == 1]
    (retried,) = [job for job in session.jobs if job.asked.compaction_id == done.compaction_id]
    assert [entry.entry_id for entry in retried.request.entries] == ["e2", "e3", "e4"]


def test_an_empty_session_has_no_items() -> None:
    """LAW-2: n = 0, e = 1."""
    state = end_of_batch(given({"profile": "rolling_interactions"}).state)
    blocks = state.progress_of("rolling_blocks")
    assert (blocks.seen, blocks.edge, blocks.number, blocks.retained) == (0, 1, 0, ())
    assert window_of(state).items == ()


def test_each_completion_names_its_block() -> None:
    session = Rolling(3, 2).grow(12)
    assert [done.block.number for done in session.completed] == [1, 2, 3]
    assert session.entries_at(CompactionCompleted) == [4, 7, 10]


@pytest.mark.parametrize("unit", UNITS)
def test_items_that_have_left_the_window_are_not_shown_as_others(unit: str) -> None:
    """R-001-4: a session that was compacted, then rolls on, and one whose oldest messages were withdrawn."""
    session = Driven({"recent_window": 2, "min_entries_to_compress": 1}, Scripted(exact)).add("u a " * 12)
    session.compress(force=True)
    new = config.load({"profile": "rolling_interactions", "size": 5, "unit": unit})
    session.do(ChangeConfig(next(session.ids), new))
    assert [entry.entry_id for entry in window_of(session.state).entries] == ["e23", "e24"][
        :: 1 if unit != "entry" else -1
    ]
    rolling = Rolling(3, 3, unit).grow(5)
    for number in range(1, 5 if unit == "entry" else 9):
        rolling.do(RemoveEntry(next(rolling.ids), f"e{number}"))
    assert rolling.shown == [5]
    assert len(window_of(rolling.state).entries) == (1 if unit == "entry" else 2)


@pytest.mark.parametrize("unit", UNITS)
def test_a_block_after_a_compaction_has_only_its_own_items(unit: str) -> None:
    """R-001-1: items are counted from the last clear, whatever other strategies covered."""
    session = Driven({"recent_window": 2, "min_entries_to_compress": 1}, Scripted(exact)).add("[u a] " * 20)
    session.compress(force=True)
    session.do(
        ChangeConfig(next(session.ids), config.load({"profile": "rolling_interactions", "size": 5, "unit": unit}))
    )
    session.add("[u a] " * 10)
    covered = [version for done in session.completed if done.block for version in ranges.versions(done.covered)]
    assert covered
    assert len(covered) == len(set(covered))
