"""Whatever an import accepts verifies and can be read; a file that is well chained, and would not, is refused.

Source: trust E-12, I-68, I-69.
"""

import copy
import random
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ledger.errors import ImportRefused, InvalidInput
from ledger.formats.export import file_reader
from ledger.formats.export.histories import Histories
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.support.crafted_files import Crafted, another, events_of, file_of
from tests.support.examples import some

CONFIG = {"compactions": [{"type": "token_threshold"}]}
JUNK: tuple[Any, ...] = ("", "a\0b", -1, -5_000, 2**62, "x" * 3_000_000, None, [], {}, "SYSTEM", 0, [[5, 2]], True)


def ledger_for(store: InMemoryStore, namespace: str) -> Any:
    return MemoryLedger.open(namespace=namespace, store=store, config=CONFIG, summarizer=lambda prompt: "In short.")


async def a_long_session(session_id: str = "s") -> list[bytes]:
    """Return the file of a session with all kinds of events, in two lives."""
    async with ledger_for(InMemoryStore(), "a") as ledger:
        await ledger.add_user_message(session_id, "What is in the log?")
        await ledger.add_tool_call(session_id, "search", {"q": "log"}, tool_call_id="c1")
        await ledger.add_tool_result(session_id, "search", "events", tool_call_id="c1")
        for number in range(14):
            await ledger.add_user_message(session_id, f"message {number} " + "word " * 20, metadata={"m": number})
        entries = await ledger.get_active_entries(session_id)
        await ledger.edit_entry(session_id, entries[3].entry_id, "edited")
        await ledger.remove_entry(session_id, entries[4].entry_id)
        await ledger.set_data(session_id, {"k": [1]})
        await ledger.set_expiry(session_id, 10**6)
        await ledger.compress(session_id, force=True)
        await ledger.get_context(session_id, record=True)
        await ledger.update_config(session_id, {"profile": "rolling"})
        await ledger.add_assistant_message(session_id, "last")
        await ledger.update_config(session_id, {"profile": "rolling", "size": 4}, replace=True, rebuild=True)
        await ledger.settle()
        await ledger.clear_session(session_id, end=True)
        await ledger.add_user_message(session_id, "a new life")
        return [line async for line in ledger.export_file(session_id)]


def arranged(events: list[Crafted], foreign: list[Crafted]) -> Iterator[tuple[str, list[Crafted]]]:
    """Yield files with events that are missing, repeated, moved, cut off, or of another session."""
    for at, event in enumerate(events):
        name, before, after = f"{at} {event['type']}", events[:at], events[at + 1 :]
        yield f"without {name}", [*before, *after]
        yield f"twice {name}", [*before, event, another(event, 1), *after]
        yield f"same id twice {name}", [*before, event, event, *after]
        yield f"again at the end {name}", [*events, another(event, 1)]
        yield f"moved to the end {name}", [*before, *after, event]
        yield f"moved one on {name}", [*before, *after[:1], event, *after[1:]]
        yield f"cut after {name}", [*before, event]
    for event in foreign:
        own = {**another(event, 2), "stream_id": events[0]["stream_id"]}
        for at in (1, len(events) // 2, len(events)):
            yield f"foreign {event['type']} at {at}", [*events[:at], own, *events[at:]]


def changed(events: list[Crafted], dice: random.Random) -> tuple[str, list[Crafted]]:
    """Return a file in which a field of one payload is something else."""
    at = dice.randrange(len(events))
    path = dice.choice(list(_paths(events[at]["payload"])))
    junk = dice.choice(JUNK)
    payload = copy.deepcopy(events[at]["payload"])
    inner = payload
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = junk
    name = f"{at} {events[at]['type']} {path} = {str(junk)[:20]!a}"
    return name, [*events[:at], {**events[at], "payload": payload}, *events[at + 1 :]]


def _paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _paths(inner, (*at, key))


async def fault_of(lines: list[bytes]) -> str | None:
    """Return what is wrong with a session after the import of *lines*; None if the file was refused, or all is well."""
    async with ledger_for(InMemoryStore(), "b") as ledger:
        try:
            await ledger.import_file(lambda: lines)
        except (ImportRefused, InvalidInput):
            assert await ledger.list_sessions() == [], "a refused file leaves nothing"
            return None
        report = await ledger.verify()
        if not report.ok:
            return f"{report.verdict}: {report.findings[0].problem}"
        if (await ledger.get_state("s")).compactions.in_flight:
            return "a compaction runs that nobody will end"
        for read in (ledger.get_context, ledger.get_history, ledger.get_transcript, ledger.timeline):
            await read("s")
        await ledger.what_if("s", {"profile": "rolling"})
        await ledger.add_user_message("s", "more")
        await ledger.settle()
        stats = await ledger.get_stats("s")
        negative = [name for name in ("total_tokens", "active_tokens", "total_entries") if getattr(stats, name) < 0]
        if negative:
            return f"{negative} are negative"
        again = [line async for line in ledger.export_file("s")]
        async with ledger_for(InMemoryStore(), "c") as other:
            await other.import_file(lambda: again)
        report = await ledger.verify(caches=True)
        return None if report.ok else f"{report.verdict}: {report.findings[0].problem}"


async def test_a_file_of_crafted_events_that_is_accepted_verifies__I_68() -> None:
    lines = await a_long_session()
    events, foreign = events_of(lines), events_of(await a_long_session("t"))
    assert await fault_of(file_of(lines, events)) is None
    arrangements = list(arranged(events, foreign))
    tried = some(arrangements)
    faults = {name: fault for name, crafted in tried if (fault := await fault_of(file_of(lines, crafted))) is not None}
    assert faults == {}
    assert len(arrangements) > 200


async def _try_changes(count: int) -> None:
    files, seed = (await a_long_session(), await a_rebuilt_session()), secrets.randbits(32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    for _ in range(count):
        lines = dice.choice(files)
        name, crafted = changed(events_of(lines), dice)
        try:
            file = file_of(lines, crafted)
        except (ImportRefused, AttributeError, TypeError):
            continue  # it cannot even be written as a line
        assert await fault_of(file) is None, (seed, name)


async def test_a_file_with_a_changed_field_is_refused_or_is_a_session_as_any_other__I_69() -> None:
    await _try_changes(100)


@pytest.mark.slow
async def test_2000_files_with_a_changed_field__I_69() -> None:
    await _try_changes(2_000)


def _with_entries(change: dict[str, Any]) -> Callable[[Any], Any]:
    return lambda payload: {**payload, "entries": [{**entry, **change} for entry in payload["entries"]]}


CASES: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "a NUL": ("entry.added", lambda payload: {**payload, "content": "a\0b"}, "nul_not_allowed"),
    "negative tokens": ("entry.added", lambda payload: {**payload, "tokens": -1}, "number_out_of_range"),
    "3 MB": ("entry.added", lambda payload: {**payload, "content": "x" * 3_000_000}, "content_too_large"),
    "a blank message": ("entry.added", lambda payload: {**payload, "content": " "}, "empty_content"),
    "a role": ("entry.added", lambda payload: {**payload, "role": "SYSTEM"}, "unknown_role"),
    "large metadata": (
        "entry.added",
        lambda payload: {**payload, "metadata": {"a": "x" * 20_000}},
        "metadata_too_large",
    ),
    "an edit": ("entry.edited", lambda payload: {**payload, "tokens_before": 10**6}, "bad_history"),
    "another name": ("session.opened", lambda payload: {**payload, "session_id": "t"}, "bad_history"),
    "a config": ("config.changed", lambda payload: {**payload, "config": {}}, "bad_payload"),
    "the config of a rebuild": ("rebuild.completed", lambda payload: {**payload, "config": {}}, "bad_payload"),
    "a requested config": ("rebuild.requested", lambda payload: {**payload, "config": {}}, "bad_payload"),
    "a time": ("entries.returned", _with_entries({"recorded_us": 2**62}), "number_out_of_range"),
    "a role that returns": ("entries.returned", _with_entries({"role": "SYSTEM"}), "unknown_role"),
    "a range": ("compaction.completed", lambda payload: {**payload, "covered": [[5, 2]]}, "bad_ranges"),
    "an outcome": ("compaction.completed", lambda payload: {**payload, "compaction_id": "other"}, "bad_history"),
}


@pytest.mark.parametrize("case", CASES)
async def test_an_import_checks_what_a_request_would__I_69(case: str) -> None:
    type_, change, code = CASES[case]
    lines = await a_long_session()
    events = events_of(lines)
    at = next(at for at, event in enumerate(events) if event["type"] == type_)
    events[at] = {**events[at], "payload": change(events[at]["payload"])}
    with pytest.raises(ImportRefused) as refused:
        file_reader.check(file_of(lines, events))
    assert (refused.value.code, refused.value.line) == (code, at + 2)


#: What a rebuild brings back with another value than the log has.
RETURNED: dict[str, Any] = {
    "content": "Transfer all of it.",
    "role": "assistant",
    "tokens": 1,
    "entry_id": "another",
    "kind": "context",
    "data": {"blocks": [{"type": "text", "text": "Transfer all of it."}]},
    "metadata": {"m": "other"},
    "tool_name": "shell",
    "arguments": {"q": "other"},
    "claimed_at": "2020-01-01T00:00:00Z",
    "edited_version": 3,
    "version": 2,
}


async def a_rebuilt_session() -> list[bytes]:
    """Return the file of a session in which a rebuild brought back what compactions had covered, some of it edited."""
    async with ledger_for(InMemoryStore(), "a") as ledger:
        await ledger.add_tool_call("s", "search", {"q": "log"}, tool_call_id="c1")
        await ledger.add_tool_result("s", "search", "events", tool_call_id="c1")
        for number in range(14):
            await ledger.add_user_message("s", f"message {number} " + "word " * 20, metadata={"m": number})
        entries = await ledger.get_active_entries("s")
        for entry in entries[2:4]:
            await ledger.edit_entry("s", entry.entry_id, "edited")
        await ledger.compress("s", force=True)
        await ledger.update_config("s", {"window": {"type": "full"}, "compactions": []}, replace=True, rebuild=True)
        await ledger.settle()
        return [line async for line in ledger.export_file("s")]


@pytest.mark.parametrize("field", RETURNED)
async def test_a_rebuild_in_a_file_brings_back_what_the_log_has__I_68(field: str) -> None:
    lines = await a_rebuilt_session()
    events = events_of(lines)
    assert await fault_of(file_of(lines, events)) is None
    (at,) = [at for at, event in enumerate(events) if event["type"] == "entries.returned"]
    back = events[at]["payload"]["entries"]
    assert len(back) > 5
    for place in (0, 2, 3, len(back) - 1):
        crafted = copy.deepcopy(events)
        crafted[at]["payload"]["entries"][place][field] = RETURNED[field]
        if crafted == events:
            continue
        with pytest.raises(ImportRefused) as refused:
            file_reader.check(file_of(lines, crafted))
        assert (refused.value.code, refused.value.line) == ("bad_history", at + 2)


BAD_REBUILDS: dict[str, tuple[str, tuple[Any, ...], Any, str]] = {
    "a config that was asked for": ("rebuild.requested", ("config", "window"), "SYSTEM", "bad_payload"),
    "a config that applies": ("rebuild.completed", ("config", "limit"), "SYSTEM", "bad_payload"),
    "no config": ("rebuild.completed", ("config",), {}, "bad_payload"),
    "a time": ("entries.returned", ("entries", 0, "recorded_us"), 2**62, "number_out_of_range"),
}


@pytest.mark.parametrize("case", BAD_REBUILDS)
async def test_an_import_checks_a_rebuild_as_a_request_would_be__I_69(case: str) -> None:
    type_, path, value, code = BAD_REBUILDS[case]
    lines = await a_rebuilt_session()
    events = events_of(lines)
    (at,) = [at for at, event in enumerate(events) if event["type"] == type_]
    inner = events[at]["payload"]
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    with pytest.raises(ImportRefused) as refused:
        file_reader.check(file_of(lines, events))
    assert (refused.value.code, refused.value.line) == (code, at + 2)


async def test_events_of_a_rebuild_that_are_missing_moved_or_repeated__I_68() -> None:
    lines = await a_rebuilt_session()
    tried = [(name, crafted) for name, crafted in arranged(events_of(lines), []) if "rebuild" in name or "ret" in name]
    faults = {name: fault for name, crafted in tried if (fault := await fault_of(file_of(lines, crafted))) is not None}
    assert faults == {}
    assert len(tried) > 15


async def test_a_rebuilt_session_is_copied_and_copied_again() -> None:
    lines = await a_rebuilt_session()
    async with ledger_for(InMemoryStore(), "b") as ledger:
        await ledger.import_file(lambda: lines)
        again = [line async for line in ledger.export_file("s")]
        assert await fault_of(again) is None


async def test_a_compaction_that_ran_when_its_session_was_exported_is_abandoned_in_the_copy() -> None:
    lines = await a_long_session()
    events = events_of(lines)
    at = next(at for at, event in enumerate(events) if event["type"] == "compaction.requested")
    async with ledger_for(InMemoryStore(), "b") as ledger:
        await ledger.import_file(lambda: file_of(lines, events[: at + 1]))
        last = (await ledger.get_log("s", after_version=at)).events[-1]
        assert (last.type, last.payload["reason"]) == ("compaction.failed", "abandoned")
        again = await ledger.import_file(lambda: file_of(lines, events[: at + 1]))
        assert (again.entries, again.skipped) == (0, 17)


async def test_a_reader_that_follows_no_history_accepts_what_does_not_verify__control(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = await a_long_session()
    events = events_of(lines)
    twice = file_of(lines, [events[0], another(events[0], 1), *events[1:]])
    assert await fault_of(twice) is None
    monkeypatch.setattr(Histories, "problem", lambda self, event, payload: None)
    fault = await fault_of(twice)
    assert fault is not None
    assert "TAMPERED" in fault
