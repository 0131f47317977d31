"""Golden histories: what every fold makes of them is known, ``python -m tests.golden.histories`` states it anew.

    for new in write_missing():
        print(f"wrote {new.name}")
A history is a file of events as they are stored, one a line, written once and never edited; the last one has an event
of each type and schema version that 0.1 has. A fold that gives other results makes stored states invalid: see
`ledger.history.fold_results`. A type that comes later has a history of its own, which leaves the others as they are.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import msgspec

from ledger.events import RecordedEvent, SessionOpened
from ledger.events.codec import decode_payload
from ledger.history import fold_results
from ledger.history.snapshots import dehydrate
from ledger.session.evolve import SESSION
from projections.log import backlog
from projections.memory_config import config
from projections.paged_entries import PagedEntries
from projections.records import records, summary_views
from projections.values.persistent_list import PersistentList
from projections.words import searchable_text
from tests.golden.new_files import write_missing

FOLDER: Final = Path(__file__).parent
HISTORIES: Final = sorted((FOLDER / "histories").glob("*.jsonl"))
TYPES_OF_0_1: Final = FOLDER / "histories" / "types_of_0_1.jsonl"
_EVERY: Final = 10


def read(path: Path) -> Iterator[RecordedEvent]:
    """Yield the events of a history."""
    for version, line in enumerate(path.read_text().splitlines(), 1):
        stored = json.loads(line)
        payload = decode_payload(stored["type"], stored["schema_version"], json.dumps(stored["payload"]).encode())
        yield RecordedEvent(version, version, UUID(int=version), stored["at"], stored["at"], "agent", payload)


def histories() -> list[list[RecordedEvent]]:
    """Return every golden history."""
    return [list(read(path)) for path in HISTORIES]


def added(folder: Path = FOLDER) -> dict[str, list[RecordedEvent]]:
    """Return a history for each type and schema version that came after `TYPES_OF_0_1`, by the name of its file."""
    first = list(read(TYPES_OF_0_1))
    known = {(event.payload.type, version) for event, version in zip(first, _schemas(TYPES_OF_0_1), strict=True)}
    opened = next(event for event in first if isinstance(event.payload, SessionOpened))
    found: dict[str, list[RecordedEvent]] = {}
    for path in sorted(folder.glob("*.json")):
        type_, _, schema_version = path.stem.rpartition(".v")
        if (type_, int(schema_version)) not in known:
            payload = decode_payload(type_, int(schema_version), path.read_bytes())
            found[path.stem] = [
                RecordedEvent(version, version, UUID(int=version), version, version, "agent", each)
                for version, each in enumerate((opened.payload, payload), 1)
            ]
    return found


def stated_anew(stated: Mapping[str, Any], folder: Path = FOLDER) -> dict[str, Any]:
    """Return what is to be *stated* now: what was, unless a fold gives another result.

    A type that came later has a list of results of its own; the first is not part of `fold_results.fold_digest`.
    """
    later: dict[str, dict[str, list[str]]] = {}
    for name, history in added(folder).items():
        before = stated.get("added", {}).get(name, {})
        later[name] = {
            fold: earlier if (earlier := before.get(fold, []))[-1:] == [digest] else [*earlier, digest]
            for fold, digest in results([history]).items()
        }
    return results(histories()) | ({"added": later} if later else {})


def results(all_events: list[list[RecordedEvent]]) -> dict[str, str]:
    """Return the digest of what each fold makes of the histories, by its name."""
    return {
        "session": _digest(each for events in all_events for each in _states(events)),
        "backlog": _digest(backlog.BACKLOG.fold(events) for events in all_events),
        "search": _digest(each for events in all_events for each in _found(events)),
        "records": _digest(records.fold(events) for events in all_events),
        "summary_views": _digest(summary_views.VIEWS.fold(events) for events in all_events),
    }


def _found(events: list[RecordedEvent]) -> Iterator[object]:
    earlier = {event.version: event for event in events}
    for event in events:
        yield searchable_text.changes(event, searchable_text.pieces_again(event, earlier))


def _states(events: list[RecordedEvent]) -> Iterator[object]:
    state = SESSION.initial
    for event in events:
        state = SESSION.evolve(state, event)
        if state.version % _EVERY == 0 or event is events[-1]:
            yield dehydrate(state), state


def _digest(values: Iterable[object]) -> str:
    digest = sha256()
    for value in values:
        digest.update(msgspec.json.encode(value, enc_hook=_plain, order="sorted"))
    return digest.hexdigest()


def _plain(value: Any) -> object:
    return list(value) if isinstance(value, PagedEntries | PersistentList) else config.dump(value)


def _schemas(path: Path) -> list[int]:
    return [json.loads(line)["schema_version"] for line in path.read_text().splitlines()]


if __name__ == "__main__":
    for new in write_missing():
        print(f"wrote {new.name}")
    known = json.loads(fold_results.FILE.read_text())
    fold_results.FILE.write_text(json.dumps(stated_anew(known), indent=2) + "\n")
