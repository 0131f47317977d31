"""Negative controls: every fault of `broken_stores` is caught by a test of this suite, and by the right one."""

from collections.abc import Awaitable, Callable

import pytest

from ledger.errors import LedgerError
from ledger.events.ids import Stream
from ledger.ports import Store, with_events
from ledger.stores.decorators import EventStoreDecorator
from ledger.stores.in_memory import InMemoryStore
from tests.conformance import (
    test_appending,
    test_concurrent_writers,
    test_following,
    test_forks,
    test_ledger_writers,
    test_many_requests,
    test_new_items,
    test_reading,
    test_retries,
)
from tests.support import broken_stores

Check = Callable[[Store, str], Awaitable[object]]


def of_stream(check: Callable[[Store, Stream], Awaitable[object]]) -> Check:
    """Return a test that takes a stream as one that takes a namespace."""
    return lambda store, namespace: check(store, Stream.of(namespace, "session-1", "user-1"))


def of_two(check: Callable[[Store, Stream, Stream], Awaitable[object]]) -> Check:
    """Return a test that takes two streams as one that takes a namespace."""
    return lambda store, namespace: check(
        store, Stream.of(namespace, "session-1", "user-1"), Stream.of(namespace, "session-2")
    )


async def random_writers(store: Store, namespace: str) -> None:
    await test_concurrent_writers.check_random_writers(store, namespace, 1, seconds=0.5)


async def backwards_clock(store: Store, namespace: str) -> None:
    stream = Stream.of(namespace, "session-1")
    for event in test_reading.some_events(len(test_reading.BACKWARDS)):
        await test_reading.append(store, stream, event)
    await test_reading.check_as_of(store, stream)


def sound_store(check: Check) -> InMemoryStore:
    """Return a store without a fault, with the clock that *check* is about."""
    return InMemoryStore(test_reading.SteppingClock(iter(test_reading.BACKWARDS)) if check is backwards_clock else None)


CAUGHT_BY: list[tuple[type[EventStoreDecorator], Check]] = [
    (
        broken_stores.LooksUpOutsideTheLock,
        of_stream(test_retries.test_fifty_identical_requests_at_once_are_stored_once),
    ),
    (broken_stores.LooksUpOutsideTheLock, random_writers),
    (broken_stores.ForgetsRequests, of_stream(test_retries.test_a_retried_request_gets_its_first_receipts)),
    (broken_stores.ForgetsRequests, of_stream(test_retries.test_a_key_used_for_another_request_is_refused)),
    (broken_stores.ForgetsRequests, test_ledger_writers.test_a_retry_through_the_ledger_answers_as_the_first_time),
    (broken_stores.AnswersRetriesAnew, of_stream(test_retries.test_a_retried_request_gets_its_first_receipts)),
    (
        broken_stores.HasNoStreamLock,
        of_stream(test_concurrent_writers.test_of_two_writers_one_wins_and_the_other_writes_nothing),
    ),
    (broken_stores.HasNoStreamLock, of_stream(test_many_requests.test_of_requests_for_the_same_version_the_first_wins)),
    (broken_stores.HasNoStreamLock, random_writers),
    (broken_stores.IgnoresExpectedVersions, of_stream(test_appending.test_no_stream_is_refused_on_an_existing_stream)),
    (broken_stores.IgnoresKnownItems, of_stream(test_new_items.test_an_item_that_is_known_is_refused)),
    (broken_stores.IgnoresKnownItems, of_two(test_new_items.test_an_item_that_a_fork_shares_is_known)),
    (
        broken_stores.LooksForItemsOutsideTheLock,
        of_stream(test_new_items.test_of_writers_of_one_new_item_one_wins_and_the_others_write_nothing),
    ),
    (broken_stores.DropsTheLastEvent, of_stream(test_appending.test_receipts_name_the_place_of_each_event)),
    (broken_stores.DropsTheLastEvent, random_writers),
    (broken_stores.WritesStreamByStream, of_two(test_appending.test_one_stale_stream_refuses_the_whole_request)),
    (
        broken_stores.WritesStreamByStream,
        of_two(test_many_requests.test_append_all_writes_nothing_if_its_last_request_is_refused),
    ),
    (broken_stores.LeavesGapsInPositions, random_writers),
    (broken_stores.NumbersBeforeItCommits, test_following.test_a_follower_sees_every_append_of_a_store),
    (broken_stores.FailsTheWholeBatch, of_two(test_many_requests.test_a_refused_request_never_fails_its_neighbours)),
    (broken_stores.ReadsItsLowerBound, of_stream(test_reading.test_after_excludes_its_bound_and_until_includes_it)),
    (broken_stores.MixesNamespaces, of_stream(test_appending.test_namespaces_do_not_see_each_other)),
    (broken_stores.TrustsTheClock, backwards_clock),
    (
        broken_stores.FindsTypesWithoutItemOnly,
        of_two(test_reading.test_events_are_found_by_their_types_with_and_without_an_item),
    ),
    (broken_stores.CountsFromEveryLog, random_writers),
    (
        broken_stores.ForgetsWhereItForked,
        of_stream(test_forks.test_the_first_event_of_a_fork_follows_the_one_it_goes_on_from),
    ),
    (broken_stores.ForgetsWhereItForked, of_stream(test_forks.test_bounds_reach_across_the_fork_point)),
    (
        broken_stores.SharesWhatComesLater,
        of_stream(test_forks.test_items_are_found_up_to_the_fork_point_and_in_the_fork),
    ),
    (broken_stores.ForksOntoWhatIsThere, of_two(test_forks.test_a_fork_onto_a_stream_that_is_there_is_a_conflict)),
    (broken_stores.ForksFromNothing, of_two(test_forks.test_a_version_that_is_not_there_cannot_be_forked)),
]


@pytest.mark.parametrize(
    ("broken", "check"),
    [pytest.param(*pair, id=f"{number}-{pair[0].__name__}") for number, pair in enumerate(CAUGHT_BY)],
)
async def test_a_store_with_this_fault_is_rejected(
    broken: type[EventStoreDecorator], check: Check, namespace: str
) -> None:
    store = sound_store(check)
    with pytest.raises((AssertionError, pytest.fail.Exception, LedgerError)):
        await check(with_events(store, broken(store.events)), namespace)


@pytest.mark.parametrize(
    "check",
    [pytest.param(check, id=str(at)) for at, check in enumerate(dict.fromkeys(check for _, check in CAUGHT_BY))],
)
async def test_the_same_checks_accept_a_sound_store_behind_a_decorator(check: Check, namespace: str) -> None:
    store = sound_store(check)
    await check(with_events(store, EventStoreDecorator(store.events)), namespace)
