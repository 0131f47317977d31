"""The clock goes back by an hour while a session is written, as after a wrong time was set right (trust I-84).

Order comes from versions, so nothing else may change: windows, compactions, lists, search, records, proofs, expiry.
"""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from ledger.events import EntryAdded
from ledger.events.clock import SystemClock
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from tests.support.ledgers import ledger_over

START = datetime(2026, 5, 1, 12, tzinfo=UTC)
CONFIG = {"profile": "rolling", "size": 3, "maxSummaries": 2}
SAID = [f"message {number}" for number in range(9)]


class MovedClock:
    """A clock that goes on by a second at each look, and is set back on demand; its ids are real."""

    def __init__(self) -> None:
        self.moment = START

    def now(self) -> datetime:
        self.moment += timedelta(seconds=1)
        return self.moment

    def event_id(self) -> UUID:
        return SystemClock().event_id()

    def ulid(self) -> str:
        return SystemClock().ulid()

    def back(self, **by: float) -> None:
        self.moment -= timedelta(**by)


def opened(store: Store, clock: MovedClock) -> MemoryLedger:
    ledger = ledger_over(store, clock=clock, config=CONFIG)
    ledger.set_summarizer(None, lambda prompt: "a summary")
    return ledger


async def written(clock: MovedClock, *, hours: int) -> tuple[Store, MemoryLedger]:
    """Return a ledger with nine messages and three records; the clock goes back by *hours* after each third."""
    store = InMemoryStore(clock)
    ledger = opened(store, clock)
    for number, text in enumerate(SAID):
        if number % 3 == 2:
            clock.back(hours=hours)
        await ledger.add_user_message("s", text)
        await ledger.settle("s")
        if number % 3 == 0:
            await ledger.long_term.create([{"id": "r", "text": f"fact {number}", "user_id": "u"}])
    return store, ledger


async def shown(ledger: MemoryLedger) -> tuple[object, ...]:
    context = await ledger.get_context("s")
    found = sorted(hit.text for hit in await ledger.search("message", top_k=50))
    memory = (await ledger.long_term.get("r")).text
    return [entry.content for entry in context.entries], len(context.summaries), found, memory, context.tokens


async def test_what_is_shown_is_that_of_a_clock_that_goes_on() -> None:
    back, on = MovedClock(), MovedClock()
    (_, one), (_, other) = await written(back, hours=1), await written(on, hours=0)
    assert await shown(one) == await shown(other)
    assert (await one.verify()).verdict == "OK-CHAINED"
    await one.rebuild_projections()
    assert await shown(one) == await shown(other)


async def test_a_process_that_began_anew_reads_the_same() -> None:
    clock = MovedClock()
    store, ledger = await written(clock, hours=1)
    clock.back(hours=2)
    assert await shown(opened(store, clock)) == await shown(ledger)
    before = (await ledger.get_state("s")).version
    added = await opened(store, clock).add_user_message("s", "the last")
    assert (await ledger.get_context("s")).messages[-1]["content"] == "the last"
    assert added.version == before + 1


async def test_the_past_never_loses_what_it_had() -> None:
    """As of a later moment a session is never younger than as of an earlier one."""
    _, ledger = await written(MovedClock(), hours=1)
    moments = [START - timedelta(hours=4) + timedelta(minutes=each) for each in range(0, 60 * 5, 7)]
    versions = [
        (await ledger.get_context("s", at=moment)).version if moment > START - timedelta(hours=3) else 0
        for moment in moments
    ]
    assert versions == sorted(versions)
    assert versions[-1] == (await ledger.get_state("s")).version


async def test_a_lifetime_is_not_shorter() -> None:
    clock = MovedClock()
    _, ledger = await written(clock, hours=1)
    await ledger.set_expiry("s", 600)
    clock.back(hours=1)
    assert (await ledger.get_state("s")).is_live(clock.now())
    clock.back(hours=-1)
    await ledger.add_user_message("s", "still there")
    assert (await ledger.get_state("s")).is_live(clock.now())
    clock.back(minutes=-11)
    assert (await ledger.get_state("s")).has_expired(clock.now()), "it ends at its time"


async def test_a_reader_that_orders_by_time_is_noticed() -> None:
    """Negative control: events in the order of their times."""
    store, _ = await written(MovedClock(), hours=1)
    events = await store.events.read_stream(Stream.of("default", "s"))
    by_time = sorted(map(decode, events), key=lambda event: event.recorded_us)
    texts = [event.payload.content for event in by_time if isinstance(event.payload, EntryAdded)]
    assert texts != SAID
    assert [decode(event).payload.content for event in events if event.type == EntryAdded.type] == SAID  # type: ignore[union-attr]
