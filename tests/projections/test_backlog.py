"""What of a session is still to be done. Source: http W-48 … W-50."""

import random
from collections.abc import Sequence
from uuid import UUID

from msgspec.structs import replace

from ledger.events import (
    ConfigChanged,
    EntriesExtracted,
    EntriesIndexed,
    EntryAdded,
    EntryEdited,
    EntryRemoved,
    Event,
    ForkedFrom,
    ImportedFrom,
    MemoryAdded,
    MemoryEdited,
    MemoryFields,
    MemoryPromoted,
    MemoryRemoved,
    RecordedEvent,
    SessionCleared,
    SessionOpened,
    to_datetime,
)
from projections.log.backlog import BACKLOG, Backlog, first, without
from projections.values.ranges import ranges_of, versions


def after(*events: Event) -> Backlog:
    """Return the backlog after *events*, which have the versions 1, 2, …"""
    return BACKLOG.fold(recorded(events))


def recorded(events: Sequence[Event]) -> list[RecordedEvent]:
    return [
        RecordedEvent(version, version, UUID(int=version), 0, version, "", event)
        for version, event in enumerate(events, start=1)
    ]


OPENED = SessionOpened(write_id="w", namespace="n", user_id="", session_id="s", config={})
FIELDS = MemoryFields("Mia lives in Oslo")


def message_added(**fields: object) -> EntryAdded:
    given = {"kind": "message", "role": "user", "content": "hi", "tokens": 1, "tokenizer": "approximate", **fields}
    return EntryAdded(write_id="w", entry_id="e", **given)  # type: ignore[arg-type]


def noted(**fields: object) -> MemoryAdded:
    return MemoryAdded(write_id="w", memory_id="m", fields=FIELDS, **fields)  # type: ignore[arg-type]


def test_messages_wait_until_they_are_extracted_and_until_they_are_indexed() -> None:
    backlog = after(OPENED, message_added(), message_added(), message_added())
    assert (backlog.unextracted, backlog.unindexed, backlog.spoken_us) == (((2, 4),), ((2, 4),), 4)
    extracted = EntriesExtracted(write_id="w", covered=((2, 3),), strategy="discrete")
    indexed = EntriesIndexed(write_id="w", covered=((3, 3),))
    backlog = after(OPENED, message_added(), message_added(), message_added(), extracted, indexed)
    assert (backlog.unextracted, backlog.unindexed) == (((4, 4),), ((2, 2), (4, 4)))


def test_only_a_message_that_is_not_marked_done_waits() -> None:
    done = message_added(extracted=True, persisted_at=to_datetime(1))
    backlog = after(OPENED, message_added(kind="tool_call", tool_name="t", tool_call_id="c"), done)
    assert (backlog.unextracted, backlog.unindexed) == ((), ())


def test_a_message_that_was_withdrawn_does_not_wait_and_one_that_was_edited_does() -> None:
    removed = EntryRemoved(write_id="w", entry_id="e", entry_version=2, tokens=1)
    edited = EntryEdited(
        write_id="w", entry_id="e", entry_version=3, content="ho", tokens=1, tokens_before=1, tokenizer="approximate"
    )
    backlog = after(OPENED, message_added(), message_added(), removed)
    assert (backlog.unextracted, backlog.changed_version) == (((3, 3),), 4)
    assert after(OPENED, message_added(), message_added(), removed, edited).changed_version == 5


def test_a_memory_waits_even_if_it_was_removed_until_it_is_promoted() -> None:
    """http W-49."""
    removed = MemoryRemoved(write_id="w", memory_id="m", memory_version=2)
    assert after(OPENED, noted(), removed).unpromoted == (2,)
    promoted = MemoryPromoted(write_id="w", memory_id="m", memory_version=2, record_id="m")
    assert after(OPENED, noted(), removed, promoted).unpromoted == ()
    assert after(OPENED, noted(persisted_at=to_datetime(1))).unpromoted == ()


def test_a_clear_leaves_memories_alone_and_an_end_leaves_nothing() -> None:
    """http W-48."""
    cleared = after(OPENED, message_added(), noted(), SessionCleared(write_id="w"))
    assert (cleared.unextracted, cleared.unindexed, cleared.unpromoted) == ((), (), (3,))
    ended = after(OPENED, message_added(), noted(), SessionCleared(write_id="w", ended=True))
    assert (ended.unextracted, ended.unindexed, ended.unpromoted, ended.life) == ((), (), (), 0)
    assert after(
        OPENED, message_added(), SessionCleared(write_id="w", ended=True), OPENED, message_added()
    ).unextracted == ((5, 5),)


def test_a_result_counts_only_while_what_was_read_is_as_it_was() -> None:
    read = after(OPENED, message_added(), noted())
    assert after(OPENED, message_added(), noted(), message_added()).is_still(read, ((2, 2),))
    removed = EntryRemoved(write_id="w", entry_id="e", entry_version=2, tokens=1)
    assert not after(OPENED, message_added(), noted(), removed).is_still(read, ((2, 2),))
    extracted = EntriesExtracted(write_id="w", covered=((2, 2),), strategy="discrete")
    assert not after(OPENED, message_added(), noted(), extracted).is_still(read, ((2, 2),))
    cleared = after(OPENED, message_added(), noted(), SessionCleared(write_id="w"))
    assert not cleared.is_still(read, ((2, 2),))
    assert cleared.is_unpromoted_still(read, [3])
    edited = MemoryEdited(write_id="w", memory_id="m", memory_version=3, fields=FIELDS)
    assert not after(OPENED, message_added(), noted(), edited).is_unpromoted_still(read, [3])


def test_a_batch_is_evaluated_unless_it_was_imported_recorded_or_restored() -> None:
    """R-CMP-8."""
    origin = ImportedFrom(format="memory-ledger", session_id="s", version=3)
    copied = replace(OPENED, imported_from=origin)
    changed = ConfigChanged(write_id="w", config={})
    cleared = SessionCleared(write_id="w")
    for events, batch in (
        ([OPENED, message_added()], "w"),
        ([OPENED, message_added(past=True)], ""),
        ([OPENED, message_added(), message_added(past=True)], ""),
        ([OPENED, message_added(past=True), message_added()], "w"),
        ([OPENED, message_added(), changed], "w"),  # a PUT that sets the limit of its config
        ([OPENED, message_added(), replace(changed, write_id="later")], ""),
        ([OPENED, message_added(), cleared], ""),
        ([OPENED, cleared, message_added()], "w"),
        ([copied, message_added(), message_added()], ""),
        ([copied, message_added(), message_added(), message_added()], "w"),
        ([OPENED, message_added(), replace(OPENED, forked_from=ForkedFrom(session_id="t", version=2))], ""),
    ):
        assert after(*events).batch == batch, events


def test_ranges_are_cut_as_the_sets_they_stand_for(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(300):
        left, removed = ({item for item in range(1, 30) if chance.random() < 0.6} for _ in range(2))
        count = chance.randint(0, 12)
        stored = without(ranges_of(sorted(left)), ranges_of(sorted(removed)))
        assert sorted(versions(stored)) == sorted(left - removed)
        assert sorted(versions(first(ranges_of(sorted(left)), count))) == sorted(left)[:count]
