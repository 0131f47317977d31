"""One stored event for each type and schema version, added once, never edited, loaded for ever (style §2).

A file holds the canonical JSON of a payload in which every field has another value than its default.
"""

import json
import re
import shutil
from pathlib import Path
from uuid import UUID

import msgspec
import pytest
from hypothesis import Phase, settings
from hypothesis import given as law
from hypothesis import strategies as st

from ledger.errors import LogCorrupted, UnknownEvent
from ledger.events import (
    EVENT_TYPES,
    CompactionCompleted,
    DataChanged,
    EntryAdded,
    EntryRemoved,
    Event,
    MemoryAdded,
    OpaqueEvent,
    RecordCreated,
    RecordedEvent,
    StoredEvent,
    SummaryViewCreated,
    codec,
)
from ledger.events.canonical import canonical_json
from ledger.events.codec import NO_CONTENT, SALT_BYTES, SALTED, SEALED, decode, decode_payload, encode, stored_json
from ledger.events.content_split import divided, fits
from ledger.events.upcasts import STEPS, UpcastFailed, upcast
from ledger.history import fold_results
from ledger.history.fold_results import fold_digest
from ledger.session.evolve import SESSION
from projections.log.history import HISTORY
from projections.log.timeline import describe
from tests.golden.histories import histories, results, stated_anew
from tests.golden.new_files import write_missing
from tests.support.arbitrary_events import EVENTS
from tests.support.specification import given

FILES = sorted(Path(__file__).parent.glob("*.json"))
SALT = bytes(range(SALT_BYTES))
NEWEST = [path for path in FILES if f".v{EVENT_TYPES[path.name.partition('.v')[0]].schema_version}." in path.name]
OLDER = sorted(set(FILES) - set(NEWEST))


def named(path: Path) -> tuple[str, int, bytes]:
    """Return type, schema version and payload of a golden file."""
    type_, schema_version = re.fullmatch(r"([a-z_.]+)\.v(\d+)\.json", path.name).groups()
    return type_, int(schema_version), path.read_bytes().rstrip(b"\n")


def stored(
    type_: str, schema_version: int, structure: bytes, content: bytes | None = None, codec: int = NO_CONTENT
) -> StoredEvent:
    place = (UUID(int=1), UUID(int=2), 7, 9, UUID(int=3), type_, schema_version, codec, 11, 13, "agent")
    return StoredEvent(*place, None, b"", structure, content)


def parts_of(type_: str, payload: bytes) -> tuple[int, bytes, bytes | None]:
    """Return what is stored of the JSON of a golden file."""
    structure, content = divided(type_, json.loads(payload))
    return (NO_CONTENT, structure, None) if content is None else (SALTED, structure, SALT + content)


def recorded(payload: Event | OpaqueEvent, version: int) -> RecordedEvent:
    return RecordedEvent(version, version, UUID(int=version), 0, 0, "", payload)


def test_every_type_and_schema_version_has_a_file() -> None:
    there = {named(path)[:2] for path in FILES}
    assert there == {
        (name, version) for name, cls in EVENT_TYPES.items() for version in range(1, cls.schema_version + 1)
    }, "write the file of a new type or schema version with `python -m tests.golden.histories`"


def test_a_missing_file_is_written_with_every_field_set(tmp_path: Path) -> None:
    written = write_missing(tmp_path)
    assert {path.name for path in written} == {path.name for path in NEWEST}
    for path in written:
        event = decode_payload(*named(path))
        assert all(getattr(event, field.name) != field.default for field in msgspec.structs.fields(event))
        assert encode(event, SALT) == parts_of(event.type, named(path)[2])


def test_a_file_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / NEWEST[0].name).write_text("{}\n")
    assert NEWEST[0].name not in {path.name for path in write_missing(tmp_path)}
    assert (tmp_path / NEWEST[0].name).read_text() == "{}\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_loads_to_its_class_and_an_event_of_today_encodes_to_the_same_bytes(path: Path) -> None:
    type_, schema_version, payload = named(path)
    event = decode_payload(type_, schema_version, payload)
    assert type(event) is EVENT_TYPES[type_]
    if schema_version == event.schema_version:
        codec, structure, content = encode(event, SALT)
        assert (codec, structure, content) == parts_of(type_, payload)
        whole = stored_json(stored(type_, schema_version, structure, content, codec))
        assert json.loads(whole) == json.loads(payload)


@pytest.mark.parametrize("path", NEWEST, ids=lambda path: path.stem)
def test_a_golden_file_sets_every_field(path: Path) -> None:
    """A field that was left out could change its name unnoticed."""
    event = decode_payload(*named(path))
    assert all(getattr(event, field.name) != field.default for field in msgspec.structs.fields(event))
    assert describe(event)


@pytest.mark.parametrize("path", OLDER, ids=lambda path: path.stem)
def test_an_older_file_is_still_described_in_the_same_way(path: Path) -> None:
    type_, schema_version, payload = named(path)
    texts = json.loads(payload)
    assert texts.items() <= json.loads(canonical_json(decode_payload(type_, schema_version, payload))).items()


@pytest.mark.parametrize("path", NEWEST, ids=lambda path: path.stem)
def test_a_reader_with_a_renamed_or_missing_field_is_noticed(path: Path) -> None:
    """Negative control: what these files are there to catch."""
    type_, _, payload = named(path)
    cls = EVENT_TYPES[type_]
    fields = [(field.name, field.type) for field in msgspec.structs.fields(cls)]
    for at, (name, kind) in enumerate(fields):
        changed = [*fields[:at], (f"{name}_now", kind), *fields[at + 1 :]]
        for broken in (changed, fields[:at] + fields[at + 1 :]):
            reader = msgspec.defstruct("Broken", broken, kw_only=True, forbid_unknown_fields=True)
            with pytest.raises(msgspec.ValidationError):
                msgspec.json.decode(payload, type=reader)


def test_an_event_of_a_newer_release_is_stored_unchanged() -> None:
    """style §2."""
    for type_, schema_version in (("entry.pinned", 1), ("entry.added", 3), ("entry.added", 99)):
        event = decode(stored(type_, schema_version, b'{"by":"nobody yet","write_id":"w"}'))
        assert event.payload == OpaqueEvent(type_, schema_version, {"by": "nobody yet", "write_id": "w"})
        assert event.payload.write_id == "w"
        assert describe(event.payload) == f"written by a newer release (schema {schema_version})"


@pytest.mark.parametrize("projection", [SESSION, HISTORY], ids=lambda projection: projection.name)
def test_a_fold_that_meets_it_stops_and_names_it(projection) -> None:
    """style §2: it is never skipped."""
    session = given(None, "u a")
    newer = recorded(OpaqueEvent("entry.pinned", 3, {}), len(session.events) + 1)
    with pytest.raises(UnknownEvent) as stopped:
        projection.fold([*session.events, newer])
    assert (stopped.value.type, stopped.value.schema_version, stopped.value.version) == ("entry.pinned", 3, 4)
    assert "'entry.pinned' schema 3, written by a newer release; upgrade" in str(stopped.value)


def split_name(payload: dict) -> dict:
    first, _, last = payload.pop("name").partition(" ")
    return {**payload, "first": first, "last": last}


def count_letters(payload: dict) -> dict:
    return {**payload, "letters": len(payload["first"] + payload["last"])}


def test_an_old_payload_passes_all_steps_to_the_newest_schema() -> None:
    steps = {("person.met", 1): split_name, ("person.met", 2): count_letters}
    old = {"name": "Ada Lovelace"}
    assert upcast("person.met", 1, dict(old), to=3, steps=steps) == {"first": "Ada", "last": "Lovelace", "letters": 11}
    assert upcast("person.met", 1, dict(old), to=2, steps=steps) == {"first": "Ada", "last": "Lovelace"}
    assert upcast("person.met", 2, {"first": "Ada", "last": ""}, to=3, steps=steps)["letters"] == 3
    assert upcast("person.met", 3, {"any": 1}, to=3, steps=steps) == {"any": 1}


def test_a_chain_with_a_missing_step_is_noticed() -> None:
    """Negative control."""
    with pytest.raises(UpcastFailed, match="schema 2"):
        upcast("person.met", 1, {"name": "Ada"}, to=3, steps={("person.met", 1): split_name})


def test_there_is_a_step_for_each_old_schema_and_no_other() -> None:
    old = {(name, version) for name, cls in EVENT_TYPES.items() for version in range(1, cls.schema_version)}
    assert set(STEPS) == old


@law(st.one_of(*EVENTS.values()))
def test_decoding_is_encoding_reversed(event: Event) -> None:
    codec, structure, content = encode(event, SALT)
    back = decode(stored(event.type, event.schema_version, structure, content, codec))
    assert (back.payload, type(back.payload)) == (event, type(event))
    assert (back.version, back.position, back.occurred_us, back.recorded_us, back.actor) == (7, 9, 11, 13, "agent")
    assert encode(back.payload, SALT) == (codec, structure, content)


@pytest.mark.parametrize("name", EVENTS)
def test_each_type_survives_the_codec(name: str) -> None:
    @law(EVENTS[name])
    def survives(event: Event) -> None:
        assert decode_payload(name, event.schema_version, canonical_json(event)) == event

    survives()


def test_a_codec_that_loses_a_field_is_noticed() -> None:
    """Negative control of the law above."""

    @settings(phases=[Phase.generate], database=None)
    @law(EVENTS["entry.added"])
    def survives_without_its_data(event: Event) -> None:
        plain = msgspec.to_builtins(event)
        plain.pop("data", None)
        assert msgspec.convert(plain, type(event)) == event

    with pytest.raises(AssertionError):
        survives_without_its_data()


def test_the_salt_hides_equal_texts_and_leaves_their_json() -> None:
    """trust H-18."""
    event = EVENT_TYPES["compaction.failed"](write_id="w", compaction_id="c", key="k", reason="error", detail="why")
    (_, structure, first), (_, same, other) = encode(event, SALT), encode(event, bytes(SALT_BYTES))
    assert structure == same
    assert first != other
    assert first[SALT_BYTES:] == other[SALT_BYTES:] == b'{"detail":"why"}'


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (
            stored("entry.added", 1, b"{}", None, SALTED),
            "event 7 (entry.added): its content is missing; run `memory-ledger verify`",
        ),
        (stored("rebuild.answered", 1, b'{"output":5}', SALT + b'{"output":{"text":"x"}}', SALTED), "do not fit"),
        (stored("entry.added", 1, b"{"), "event 7 (entry.added) does not parse"),
        (stored("entry.added", 1, b'{"write_id":"w"}'), "event 7 (entry.added) does not parse"),
        (stored("session.cleared", 1, b'{"write_id":"w","more":1}'), "event 7 (session.cleared) does not parse"),
        (stored("session.cleared", 1, b'{"write_id":1}'), "event 7 (session.cleared) does not parse"),
        (stored("session.cleared", 1, b"\xff"), "event 7 (session.cleared) does not parse"),
        (stored("session.cleared", 1, b""), "event 7 (session.cleared) does not parse"),
        (stored("session.cleared", 2, b"[]"), "event 7 (session.cleared) does not parse"),
        (stored("entry.added", 1, b"{}", b"x" * 40, SEALED), "content of codec 2 cannot be read without its key"),
        (
            stored("entry.added", 1, b"{}", b"x" * 40, 99),
            "event 7 (entry.added): this release knows no content of codec 99",
        ),
    ],
)
def test_an_unreadable_payload_names_the_event_and_what_to_do(event: StoredEvent, message: str) -> None:
    with pytest.raises(LogCorrupted) as corrupted:
        decode(event)
    assert message in str(corrupted.value)


def test_the_folds_make_of_the_golden_histories_what_is_stated() -> None:
    """A snapshot is valid as long as they do: a change on purpose raises the version of its fold."""
    stated = json.loads(fold_results.FILE.read_text())
    anew = stated_anew(stated)
    assert anew.get("added", {}).keys() == stated.get("added", {}).keys(), (
        "an event type or schema version was added, and what the folds make of it is not stated: "
        "run `python -m tests.golden.histories`; no fold needs another version for it"
    )
    assert anew == stated, (
        "a fold gives another result for events that it knew: raise its version, "
        "then run `python -m tests.golden.histories`"
    )


class Labelled(DataChanged, frozen=True):
    """A type that a later release adds; it comes first in the folder."""

    type = "a.label"


@pytest.fixture
def with_another_type(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of golden events in a later release."""
    monkeypatch.setitem(EVENT_TYPES, Labelled.type, Labelled)
    monkeypatch.setitem(codec._DECODERS, Labelled.type, msgspec.json.Decoder(Labelled))
    for path in FILES:
        shutil.copy(path, tmp_path)
    (tmp_path / "a.label.v1.json").write_bytes(canonical_json(Labelled(write_id="w", set={"label": "x"})))
    return tmp_path


def digest_of(stated: object, monkeypatch: pytest.MonkeyPatch, folder: Path) -> bytes:
    file = folder / "stated"
    file.write_text(json.dumps(stated))
    monkeypatch.setattr(fold_results, "FILE", file)
    return fold_digest.__wrapped__("session", 2)


def test_an_event_type_that_is_added_leaves_stored_states_valid_until_a_fold_makes_something_else_of_it(
    with_another_type: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = json.loads(fold_results.FILE.read_text())
    folds, name = before.keys() - {"added"}, "a.label.v1"
    more = stated_anew(before, with_another_type)
    assert {fold: more[fold] for fold in folds} == {fold: before[fold] for fold in folds}
    assert more["added"].keys() == {name, *before.get("added", {})}
    digests = more["added"][name]
    assert (digests.keys(), {len(each) for each in digests.values()}) == (folds, {1})
    assert stated_anew(more, with_another_type) == more
    valid = digest_of(before, monkeypatch, with_another_type)
    assert digest_of(more, monkeypatch, with_another_type) == valid

    monkeypatch.setattr("projections.working_memory._with_data", lambda state, version, payload: state)
    changed = stated_anew(more, with_another_type)["added"][name]
    assert len(changed["session"]) == 2
    assert changed["records"] == digests["records"]
    later = {**before, "added": {**before.get("added", {}), name: changed}}
    assert digest_of(later, monkeypatch, with_another_type) != valid


def test_a_fold_that_ignores_an_event_has_other_results() -> None:
    """Negative control: of each fold, for each type of event that it knows."""
    everything = histories()
    stated = results(everything)
    for left_out, changed in {
        EntryAdded: {"session", "backlog", "search"},
        EntryRemoved: {"session", "backlog", "search"},
        MemoryAdded: {"session", "search"},
        RecordCreated: {"records"},
        SummaryViewCreated: {"summary_views"},
        CompactionCompleted: {"session", "search"},
    }.items():
        fewer = [[event for event in each if not isinstance(event.payload, left_out)] for each in everything]
        found = results(fewer)
        assert changed <= {name for name in stated if found[name] != stated[name]}, left_out


def test_what_tells_whether_a_snapshot_is_valid_follows_from_version_and_results_alone() -> None:
    assert fold_digest("session", 2) == fold_digest("session", 2)
    assert fold_digest("session", 2) != fold_digest("session", 3)
    assert fold_digest("jobs", 1, "session", "backlog") != fold_digest("jobs", 1, "session")


def test_parts_that_hide_content_in_structure_do_not_fit() -> None:
    """trust D-3: also under a key that is there twice, of which readers take the last."""
    structure, content = b'{"entry_id":"e","write_id":"w"}', b'{"content":"x"}'
    assert fits("entry.edited", 2, structure, content)
    assert fits("entry.edited", 2, b'{"write_id": "w", "entry_id": "e"}', content), "spaces and order hide nothing"
    for hiding in (
        b'{"content":"y","entry_id":"e","write_id":"w"}',
        b'{"entry_id":"secret","entry_id":"e","write_id":"w"}',
    ):
        assert not fits("entry.edited", 2, hiding, content)
    assert not fits("entry.edited", 2, structure, b'{"content":"x","tokens":1}')
    assert not fits("entry.edited", 2, structure, b'{"content":"x","content":"x"}')
