"""Laws of the rolling memory: its fold against its closed form, and batches against single items."""

from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.session.evolve import end_of_batch
from ledger.session.state import SessionState
from projections.strategies import rolling_blocks
from projections.strategies.rolling import Rolling, shown_items
from projections.strategies.rolling_blocks import Blocks, RollingBlocks
from tests.support.driver import Driven
from tests.support.examples import up_to

MOST = 400
Span = tuple[int, int]


@cache
def states() -> list[SessionState]:
    """Return the state after n entries, for each n below `MOST`; each entry is an item."""
    session = Driven({"profile": "none"})
    return [end_of_batch(session.state), *(end_of_batch(session.append("u").state) for _ in range(1, MOST))]


def blocks_up_to(n: int, size: int, stored: int) -> list[Span]:
    """Return the retained blocks at *n* items, in closed form. Source: R-001-3."""
    count = max(0, (n - 1) // size)
    return [((k - 1) * size + 2, k * size + 1) for k in range(max(1, count - stored + 1), count + 1)] if stored else []


def spans(blocks: Blocks) -> list[Span]:
    return [(due.block.first_item, due.block.last_item) for due in blocks.retained]


def check_closed_form(size: int, stored: int, advance: Any = rolling_blocks.advance) -> None:
    """Assert that the fold of R-001-2 gives R-001-3 at every n, and that blocks and window form one run."""
    config = RollingBlocks(size=size, max_summaries=stored, unit="entry")
    blocks: Blocks | None = None
    for n, state in enumerate(states()):
        before = blocks.number if blocks else 0
        blocks = advance(config, blocks, state.items, state.window)
        window = (max(1, n - size + 1), n)
        assert spans(blocks) == blocks_up_to(n, size, stored)
        assert (blocks.number - before) == (n > size and (n - 1) % size == 0)
        assert window[1] - window[0] + 1 <= size
        assert len(blocks.retained) <= stored
        if blocks.number > before and stored:
            assert spans(blocks)[-1] == window, "a block is the window at its trigger"
        run = [*spans(blocks), window]
        assert all(later[0] <= sooner[1] + 1 for sooner, later in pairwise(run))
        assert run[-1][1] == n


@pytest.mark.parametrize("summaries", range(6))
def test_the_fold_is_the_closed_form_for_every_size_and_number_of_summaries__LAW_15(summaries: int) -> None:
    """R-001-2, R-001-3."""
    for size in range(1, 40):
        check_closed_form(size, summaries)


def test_the_window_is_the_last_items_for_every_size__LAW_15() -> None:
    """R-001-4: at most W of them."""
    for size in range(1, 40):
        config = Rolling(size=size, unit="entry")
        for n in (1, size - 1, size, size + 1, 2 * size, 2 * size + 1, 399):
            shown = [entry.entry_id for items in shown_items(config, states()[n]) for entry in items]
            assert shown == [f"e{item}" for item in range(max(1, n - size + 1), n + 1)]


def test_rejects_a_block_at_each_item_after_the_first_window__LAW_15() -> None:
    """Negative control: step 3 of seed 001 read literally."""

    def advance(config: RollingBlocks, blocks: Blocks | None, *rest: Any) -> Blocks:
        every = config.model_copy(update={"size": 1}) if blocks and blocks.number else config
        return rolling_blocks.advance(every, blocks, *rest)

    check_closed_form(3, 2)
    with pytest.raises(AssertionError):
        check_closed_form(3, 2, advance)


def rolled(size: int, stored: int, unit: str, batches: list[int]) -> tuple[Any, list[tuple[Span, str]]]:
    """Return what blocks and live summaries there are when items came in *batches*, by places of entries."""
    session = Driven({"profile": "rolling_interactions", "size": size, "max_summaries": stored, "unit": unit})
    for count in batches:
        session.add("[" + ("u9 a9 " if unit == "interaction" else "u9 ") * count + "]")
    blocks = end_of_batch(session.state).progress_of("rolling_blocks") or Blocks()
    live = sorted(end_of_batch(session.state).summaries.live, key=lambda summary: summary.first_version)
    due = [
        (span, session.places(due_block.covered))
        for span, due_block in zip(spans(blocks), blocks.retained, strict=True)
    ]
    return (blocks.seen, blocks.edge, blocks.number, due), [
        ((record.block.first_item, record.block.last_item), session.places(record.covered))
        for record in live
        if record.block
    ]


@up_to(60)
@given(
    st.integers(1, 6),
    st.integers(0, 4),
    st.sampled_from(["interaction", "entry"]),
    st.lists(st.integers(1, 12), max_size=8),
)
def test_batches_of_several_items_give_the_blocks_of_single_items__LAW_16(
    size: int, summaries: int, unit: str, batches: list[int]
) -> None:
    """R-001-2: a batch is taken item by item."""
    assert rolled(size, summaries, unit, batches) == rolled(size, summaries, unit, [1] * sum(batches))
