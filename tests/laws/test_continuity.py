"""Law: a session that was restored, forked or imported goes on as if nothing had happened, through the public API.

`test_going_on` says the same of the pure core. Source: strategies LAW-28, R-000-15, R-CMP-12; http W-70.
"""

import asyncio
import secrets
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from random import Random
from typing import Any, Final

import pytest

from ledger.application.writing import restore
from ledger.events import RecordedEvent
from ledger.ports import Store
from ledger.session import views
from ledger.session.state import SessionState
from ledger.stores.in_memory import InMemoryStore
from projections.strategies.base import Hints
from projections.window import Window, runs_beside_recalled
from projections.words import searchable_text
from tests.support import detours, lives
from tests.support.detours import DETOURS, Detour
from tests.support.examples import seeds, seeds_to_fail


async def check(seed: int, store: Store, *, ways: Sequence[Detour] = DETOURS, window: str | None = None) -> None:
    """Assert that a session shows and asks the same after a detour as one that took none, now and later."""
    dice = Random(seed)
    new_config = partial(lives.config_of, dice, window)
    config, detour = new_config(), dice.choice(ways)
    before = lives.history(dice, dice.randint(1, 14), new_config=new_config)
    between = lives.history(dice, dice.randint(0, 5), first=1_000, new_config=new_config)
    names = [f"continuity-{seed}-{secrets.token_hex(4)}-{way}" for way in ("plain", "other")]
    plain, other = (lives.begin(store, name, config) for name in names)
    for life in (plain, other):
        await lives.live(life, before)
    other = await detour(other, between)
    where = f"seed {seed}, {detour.__name__}, {config}"
    assert await lives.shown(other) == await lives.shown(plain), f"{where}: at once"
    for life in (plain, other):
        life.asked.hashes.clear()
    for number, step in enumerate(lives.history(dice, dice.randint(0, 8), first=2_000)):
        for life in (plain, other):
            await lives.take(life, step)
        assert await lives.shown(other) == await lives.shown(plain), f"{where}: after step {number}, {step}"
        assert other.asked.hashes == plain.asked.hashes, f"{where}: after step {number}, {step}"


#: Histories that go on side by side, each in namespaces of its own.
_AT_ONCE: Final = 8


async def check_all(tried: Iterator[int], store: Store, **how: Any) -> None:
    while some := list(islice(tried, _AT_ONCE)):
        await asyncio.gather(*(check(seed, store, **how) for seed in some))


async def test_a_session_goes_on__LAW_28(store: Store) -> None:
    with seeds(100) as tried:
        await check_all(tried, store)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
async def test_a_session_goes_on_in_many_histories__LAW_28(store: Store) -> None:
    with seeds(2_000) as tried:
        await check_all(tried, store)


@pytest.mark.sample(2)  # on the store in memory
async def test_what_a_search_brings_back_is_the_same__LAW_28(store: Store) -> None:
    """R-REC-4: the window `recall` shows the same entries and the same gaps."""
    with seeds(40) as tried:
        await check_all(tried, store, window="recall")


async def test_a_restored_summary_stands_where_it_stood_beside_what_is_recalled__LAW_28(store: Store) -> None:
    """It stood at the oldest active entry, so after those that it covers, which a search had brought back."""
    await check(3_612_533_708, store, ways=DETOURS, window="recall")


@pytest.mark.parametrize(
    "seed",
    [
        738_862_640,  # a system message that had ended an answer was removed
        738_863_172,  # a block was due under a new config when its entries had left the window
        3_020_366_852,  # calls of the life before waited when it was restored; in memory only one in 30,000 shows it
        14_685_211,  # a block stands beside a summary whose entries a search brings back
    ],
)
async def test_what_left_the_window_before_a_restore_stays_as_it_was__LAW_28(seed: int, store: Store) -> None:
    await check(seed, store)


async def any_of(tried: Iterable[int], **how: Any) -> None:
    for seed in tried:
        await check(seed, InMemoryStore(), **how)


async def test_the_law_rejects_a_restore_that_looks_up_entries_in_the_old_life__LAW_28(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Negative control: what it did before, when calls and contexts came back as messages."""
    monkeypatch.setattr(SessionState, "as_ended", lambda self: self)
    with pytest.raises(AssertionError):
        await any_of(seeds_to_fail(60), ways=[detours.by_expiry])


async def test_the_law_rejects_a_restore_that_forgets_what_was_covered__LAW_28(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""

    async def nothing(*args: object) -> None:
        return None

    monkeypatch.setattr(restore, "_anew", nothing)
    with pytest.raises(AssertionError):
        await any_of(seeds_to_fail(150), ways=[detours.by_restore_after_an_end], window="recall")


async def test_the_law_rejects_gaps_between_versions__LAW_28(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: what a window marked before, wherever another event lay between two entries."""

    def between_versions(state: SessionState, window: Window, hints: Hints) -> frozenset[int]:
        return frozenset(last + 1 for _, last in runs_beside_recalled(window, 1))

    monkeypatch.setattr(views, "_gaps", between_versions)
    with pytest.raises(AssertionError):
        await any_of(seeds_to_fail(100), ways=[detours.by_restore_after_a_clear], window="recall")


async def test_the_law_rejects_a_search_in_a_life_that_has_expired__LAW_28(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    real = searchable_text.changes

    def forgets_nothing(event: RecordedEvent, *more: Any) -> Any:
        return [change for change in real(event, *more) if event.type != "session.opened" or _inherits(change)]

    def _inherits(change: object) -> bool:
        return isinstance(change, searchable_text.Inherit)

    monkeypatch.setattr(searchable_text, "changes", forgets_nothing)
    with pytest.raises(AssertionError):
        await any_of(seeds_to_fail(150), ways=[detours.by_expiry], window="recall")


async def test_the_law_rejects_an_edit_that_leaves_only_the_text__LAW_28(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: what an edit of a call did before, until the call was added again; few histories show it."""
    real = searchable_text.pieces_again

    def text_alone(event: RecordedEvent, earlier: Any) -> Any:
        return real(event, {version: each for version, each in earlier.items() if each.type != "entry.added"})

    monkeypatch.setattr(searchable_text, "pieces_again", text_alone)
    with pytest.raises(AssertionError):
        await any_of([581_003_765], ways=[detours.by_restore_after_an_end], window="recall")
