"""What became of items: the same fold for entries and memories as the state of the session has."""

from uuid import UUID

from hypothesis import given

from ledger.events import MemoryAdded, MemoryEdited, MemoryFields, MemoryRemoved, RecordedEvent
from projections.log.history import HISTORY, PastEntry
from projections.log.item_versions import item_versions
from projections.working_memory import Memory
from tests.support.examples import up_to
from tests.support.histories import STEPS, Step, configs, happened


@up_to(200)
@given(config=configs(), steps=STEPS)
def test_the_last_version_of_each_entry_is_the_one_in_the_history(config: dict, steps: list[Step]) -> None:
    session = happened(config, steps)
    last = {version.item.version: version for version in item_versions(session.events)}
    past = {each.version: each for each in HISTORY.fold(session.events).entries}
    assert past.keys() == last.keys()
    for at, each in past.items():
        assert PastEntry.of(last[at].item, each.status, each.summary_ids) == each
    assert {at for at, version in last.items() if version.removed} >= {
        at for at, each in past.items() if each.status == "removed"
    }


def test_a_memory_has_a_version_for_each_change_and_stays_known_once_it_is_removed() -> None:
    first, second = MemoryFields("Mia lives in Oslo"), MemoryFields("Mia lives in Bergen")
    payloads = (
        MemoryAdded(write_id="w", memory_id="m", fields=first),
        MemoryEdited(write_id="w", memory_id="m", memory_version=1, fields=second),
        MemoryRemoved(write_id="w", memory_id="m", memory_version=1),
        MemoryRemoved(write_id="w", memory_id="unknown", memory_version=99),
    )
    events = [
        RecordedEvent(version, version, UUID(int=version), 0, version, "", payload)
        for version, payload in enumerate(payloads, start=1)
    ]
    found = [
        (version.item_id, version.item.fields, version.removed)
        for version in item_versions(events)
        if isinstance(version.item, Memory)
    ]
    assert found == [("m", first, False), ("m", second, False), ("m", second, True)]
