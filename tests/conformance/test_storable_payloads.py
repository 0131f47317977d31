"""No event is appended that nobody could read again, whatever class it has. Source: trust N-14."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from ledger.errors import InvalidInput, LogCorrupted
from ledger.events import EVENT_TYPES, DataChanged, EntryAdded, Event, SessionOpened
from ledger.events.clock import SystemClock
from ledger.events.codec import decode, decode_payload
from ledger.events.ids import Stream
from ledger.events.limits import CONTENT_BYTES, PAYLOAD_BYTES
from ledger.ports import Store, event_encoding
from ledger.ports.event_encoding import append_request
from tests.golden.histories import FOLDER
from tests.support.unchecked_events import encode_unchecked

CLOCK = SystemClock()
#: One of each kind of JSON: a field that takes all of them holds any JSON.
KINDS: tuple[Any, ...] = (5, "x", [], {"a": object()}, None, True, 0.5)


def golden(name: str) -> Event:
    """Return an event of a type that has a value in each of its fields."""
    newest = EVENT_TYPES[name].schema_version
    event = decode_payload(name, newest, (FOLDER / f"{name}.v{newest}.json").read_bytes())
    assert isinstance(event, EVENT_TYPES[name])
    return event


def wrong_values(kind: Any) -> Iterator[Any]:
    for value in KINDS:
        try:
            msgspec.convert(value, kind)
        except (msgspec.ValidationError, TypeError):
            yield value


def wrongly_typed(event: msgspec.Struct) -> Iterator[tuple[str, Any]]:
    """Yield *event* with each value of another type in each field, and in each field of its first parts."""
    for field in msgspec.structs.fields(event):
        own = getattr(event, field.name)
        for value in wrong_values(field.type):
            yield field.name, replace(event, **{field.name: value})
        if isinstance(own, msgspec.Struct):
            for name, part in wrongly_typed(own):
                yield f"{field.name}.{name}", replace(event, **{field.name: part})
        if isinstance(own, tuple) and own and isinstance(own[0], msgspec.Struct):
            for name, part in wrongly_typed(own[0]):
                yield f"{field.name}[0].{name}", replace(event, **{field.name: (part, *own[1:])})


async def refusal(store: Store, stream: Stream, event: Event) -> InvalidInput | None:
    """Return how the append of *event* is refused; None if it was stored."""
    try:
        await store.events.append(append_request(stream, [event], expected_version=None, clock=CLOCK, actor="a"))
    except InvalidInput as refused:
        return refused
    return None


@pytest.mark.parametrize("name", EVENT_TYPES)
async def test_a_field_of_another_type_is_refused_and_named__N_14(store: Store, stream: Stream, name: str) -> None:
    cases = list(wrongly_typed(golden(name)))
    assert cases
    for field, event in cases:
        refused = await refusal(store, stream, event)
        assert refused is not None, (field, event)
        assert refused.code == "wrong_type"
        assert refused.field.startswith(field.partition("[")[0].partition(".")[0]), (refused.field, field)
        assert name in str(refused)
    assert (await store.events.head(stream))[0] == 0
    good = replace(golden(name), forked_from=None) if name == SessionOpened.type else golden(name)
    assert await refusal(store, stream, good) is None, "control: it is the field"


def texts_of(event: msgspec.Struct) -> Iterator[str]:
    """Yield the names of the fields that hold text."""
    yield from (field.name for field in msgspec.structs.fields(event) if isinstance(getattr(event, field.name), str))


@pytest.mark.parametrize("name", EVENT_TYPES)
async def test_a_text_that_nothing_can_hold_is_refused_and_named__N_14(store: Store, stream: Stream, name: str) -> None:
    event = golden(name)
    fields = [field for field in texts_of(event) if not wrong_for_text(event, field)]
    assert fields
    for text, code in (
        ("a\0b", "nul_not_allowed"),
        ("\ud800", "invalid_unicode"),
        ("x" * (CONTENT_BYTES + 1), "content_too_large"),
    ):
        for field in fields:
            refused = await refusal(store, stream, replace(event, **{field: text}))
            assert refused is not None, (field, code)
            assert (refused.code, refused.field) == (code, field)
    assert (await store.events.head(stream))[0] == 0


def wrong_for_text(event: msgspec.Struct, field: str) -> bool:
    """Tell whether a field takes only some words."""
    kinds = {each.name: each.type for each in msgspec.structs.fields(event)}
    return "x" in list(wrong_values(kinds[field]))


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ({"a": {"b": ["a\0"]}}, "nul_not_allowed"),
        ({"a\0": 1}, "nul_not_allowed"),
        ({"a": "\udfff"}, "invalid_unicode"),
        ({"a": float("nan")}, "wrong_type"),
        ({1: "a"}, "wrong_type"),
        ({"a": object()}, "wrong_type"),
        ({"a": "x" * PAYLOAD_BYTES}, "payload_too_large"),
    ],
)
async def test_json_that_nothing_can_hold_is_refused_and_named__N_14(
    store: Store, stream: Stream, value: Any, code: str
) -> None:
    refused = await refusal(store, stream, DataChanged(write_id="w", set=value))
    assert refused is not None
    assert refused.code == code
    assert refused.field == ("" if code == "payload_too_large" else "set")
    assert (await store.events.head(stream))[0] == 0


async def test_what_looks_like_a_fault_and_is_none_is_stored(store: Store, stream: Stream) -> None:
    """The characters of an escape, and JSON with a text that no content may be as long as."""
    events = [
        replace(golden("entry.added"), content=r"\u0000", data={"a": r"\\u0000", "b": "ü" * CONTENT_BYTES}),
        replace(golden("entry.added"), entry_id="longest", content="ü" * (CONTENT_BYTES // 2)),
    ]
    for event in events:
        assert await refusal(store, stream, event) is None
    assert [decode(each).payload for each in await store.events.read_stream(stream)] == events


async def test_of_several_events_none_is_stored(store: Store, stream: Stream) -> None:
    good = SessionOpened(write_id="w", namespace=stream.namespace, user_id="", session_id="s", config={})
    with pytest.raises(InvalidInput, match=re.escape("role: entry.added cannot be stored: Expected `str`, got `int`")):
        append_request(
            stream,
            [good, replace(golden("entry.added"), role=5)],
            expected_version=0,
            clock=CLOCK,
            actor="a",
        )


async def test_an_append_that_only_encodes_stores_what_cannot_be_read__control(
    store: Store, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: the type checks of reading come too late."""
    monkeypatch.setattr(event_encoding, "encode", encode_unchecked)
    broken = replace(golden("entry.added"), role=5)
    assert isinstance(broken, EntryAdded)
    assert await refusal(store, stream, broken) is None
    with pytest.raises(LogCorrupted, match="does not parse"):
        decode((await store.events.read_stream(stream))[0])
