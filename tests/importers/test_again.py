"""What an older version read otherwise can be read again: as new events, and nothing is rewritten."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from ledger.errors import SessionExists
from ledger.formats.export.importing import Imported
from ledger.formats.importers import TranscriptFile, openai_chat
from ledger.formats.importers.elements import claude_branch, claude_lines
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from tests.support.agent_logs import SESSION, boundary, claude, summary, uuid
from tests.support.driver import SetClock
from tests.support.importer_samples import CASES, SAMPLES
from tests.support.ledgers import ledger_over

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "parts": [{"type": "text", "text": "Where is it?"}]},
    {"role": "assistant", "parts": [{"type": "text", "text": "In the hall."}]},
    {"role": "user", "content": "Thanks."},
]
OLD = ["Be brief.", "[empty message]", "[empty message]", "Thanks."]
TEXTS = ["Be brief.", "Where is it?", "In the hall.", "Thanks."]


async def imported(ledger: MemoryLedger, lines: Sequence[Any], *, name: str = "chat", again: bool = False) -> Imported:
    raw = [json.dumps(line).encode() + b"\n" for line in lines]
    return await ledger.import_conversations(TranscriptFile(lambda: iter(raw), name=name), again=again)


async def texts(ledger: MemoryLedger, session: str = "chat", **at: Any) -> list[str]:
    return [str(each["content"]) for each in (await ledger.get_context(session, **at)).messages]


@pytest.fixture
def older(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Read messages as an older version did, which knew no `parts`, until it is undone."""
    monkeypatch.setattr(openai_chat, "has_parts", lambda message: False)
    return monkeypatch


async def test_without_again_the_old_reading_stays__IN_22(
    older: pytest.MonkeyPatch,
) -> None:
    ledger = ledger_over(InMemoryStore())
    await imported(ledger, CHAT)
    assert await texts(ledger) == OLD
    older.undo()
    with pytest.raises(SessionExists):
        await imported(ledger, CHAT)
    assert await texts(ledger) == OLD


async def test_a_session_is_read_again_as_new_events__IN_22(
    store: Store, namespace: str, older: pytest.MonkeyPatch
) -> None:
    ledger = ledger_over(store, namespace=namespace)
    await imported(ledger, CHAT)
    before = await ledger.get_events("chat")
    older.undo()
    done = await imported(ledger, CHAT, again=True)
    assert (done.reread, done.session_ids, done.entries, done.skipped) == (("chat",), ("chat",), 4, 0)
    assert await texts(ledger) == TEXTS
    assert await texts(ledger, version=before[-1].version) == OLD
    after = await ledger.get_events("chat")
    assert after[: len(before)] == before
    assert [event.type for event in after[len(before) :]] == ["session.cleared", *["entry.added"] * 4]

    plain = await imported(ledger, CHAT)
    assert (plain.entries, plain.skipped, plain.reread) == (0, 4, ())
    same = await imported(ledger, CHAT, again=True)
    assert (same.entries, same.skipped, same.reread) == (0, 4, ())
    grown = await imported(ledger, [*CHAT, {"role": "user", "content": "Bye."}])
    assert (grown.entries, grown.skipped) == (1, 4)
    assert await texts(ledger) == [*TEXTS, "Bye."]
    assert (await ledger.verify("chat")).ok
    assert await ledger.matches_replay("chat")
    await ledger.restore("chat", before[-1].version)
    assert await texts(ledger) == OLD, "a restore undoes it"


async def test_a_grown_file_is_read_again_whole__IN_22(older: pytest.MonkeyPatch) -> None:
    ledger = ledger_over(InMemoryStore())
    await imported(ledger, CHAT)
    older.undo()
    done = await imported(ledger, [*CHAT, {"role": "user", "content": "Bye."}], again=True)
    assert (done.entries, done.reread) == (5, ("chat",))
    assert await texts(ledger) == [*TEXTS, "Bye."]


async def test_a_file_that_is_read_as_before_only_gets_the_rest__IN_22() -> None:
    ledger = ledger_over(InMemoryStore())
    await imported(ledger, CHAT[:2])
    done = await imported(ledger, CHAT, again=True)
    assert (done.entries, done.skipped, done.reread) == (2, 2, ())
    shorter = await imported(ledger, CHAT[:3], again=True)
    assert (shorter.entries, shorter.skipped, shorter.reread) == (0, 3, ())
    assert await texts(ledger) == TEXTS


@pytest.mark.parametrize("written", ["add", "edit", "remove", "clear", "end", "state"])
async def test_a_session_that_somebody_wrote_to_is_refused__IN_22(written: str, older: pytest.MonkeyPatch) -> None:
    ledger = ledger_over(InMemoryStore())
    await imported(ledger, CHAT)
    entry = (await ledger.get_transcript("chat"))[0].entry_id
    if written == "add":
        await ledger.add_user_message("chat", "Mine.")
    elif written == "edit":
        await ledger.edit_entry("chat", entry, "Mine.")
    elif written == "remove":
        await ledger.remove_entry("chat", entry)
    elif written == "state":
        state = await ledger.export_session("chat")
        await ledger.import_session("chat", {**state, "entries": state["entries"][:1]})
    else:
        await ledger.clear_session("chat", end=written == "end")
    before = await ledger.get_events("chat")
    same = await imported(ledger, CHAT, again=True)
    assert same.entries == 0, "it is read as it is stored, whatever was written beside"
    older.undo()
    with pytest.raises(SessionExists, match="somebody wrote to it"):
        await imported(ledger, CHAT, again=True)
    assert await ledger.get_events("chat") == before


async def test_what_was_written_beside_the_window_stays__IN_22(older: pytest.MonkeyPatch) -> None:
    ledger = ledger_over(InMemoryStore())
    await imported(ledger, CHAT)
    await ledger.set_data("chat", {"mine": 1})
    await ledger.update_config("chat", {"window": {"type": "full"}})
    older.undo()
    await imported(ledger, CHAT, again=True)
    assert await texts(ledger) == TEXTS
    assert await ledger.get_data("chat") == {"mine": 1}


async def test_a_crash_in_the_middle_leaves_the_old_reading__IN_22(
    store: Store, namespace: str, older: pytest.MonkeyPatch
) -> None:
    ledger = ledger_over(store, namespace=namespace)
    long = [*CHAT, *({"role": "user", "content": f"message {number}"} for number in range(1_200))]
    await imported(ledger, long)
    before = await ledger.get_events("chat")
    older.undo()
    raw = [json.dumps(line).encode() + b"\n" for line in long]
    passes = 0

    def lines() -> Iterator[bytes]:
        nonlocal passes
        passes += 1
        yield from raw[:900]
        if passes == 3:  # two to look, one to write
            raise RuntimeError("crashed")
        yield from raw[900:]

    with pytest.raises(RuntimeError, match="crashed"):
        await ledger.import_conversations(TranscriptFile(lines, name="chat"), again=True)
    assert await ledger.get_events("chat") == before
    done = await imported(ledger, long, again=True)
    assert done.reread == ("chat",)
    assert (await texts(ledger))[:4] == TEXTS


def badly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read what the assistant says as an older version did, which did not know its blocks."""

    def entries(content: Any, tools: dict[str, str]) -> list[dict[str, Any]]:
        return [{"kind": "message", "role": "assistant", "content": "[text]", "data": {"content": content}}]

    monkeypatch.setattr(claude_lines, "assistant_entries", entries)


def rewound() -> list[dict[str, Any]]:
    return [
        claude(1, None, "user", "One."),
        claude(2, 1, "assistant", "Two."),
        claude(3, 2, "user", "Three."),
        claude(4, 3, "assistant", "Four."),
        claude(5, 2, "user", "Another three."),
        claude(6, 5, "assistant", "Another four."),
    ]


async def test_entries_with_ids_of_their_source_and_forks_are_read_again__IN_22(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ledger = ledger_over(InMemoryStore())
    badly(monkeypatch)
    await imported(ledger, rewound())
    old = await texts(ledger, f"{SESSION}~1")
    assert old[1] == "[text]"
    monkeypatch.undo()
    assert (await imported(ledger, rewound())).entries == 0, "the ids are known, so the bad reading stays"
    done = await imported(ledger, rewound(), again=True)
    assert (done.reread, done.session_ids) == ((SESSION,), (SESSION, f"{SESSION}~1.2"))
    assert await texts(ledger, SESSION) == ["One.", "Two.", "Another three.", "Another four."]
    assert await texts(ledger, f"{SESSION}~1.2") == ["One.", "Two.", "Three.", "Four."]
    listed = {each.session_id for each in await ledger.list_sessions(status="live")}
    assert listed == {SESSION, f"{SESSION}~1.2"}
    ended = (await ledger.get_events(f"{SESSION}~1"))[-1]
    assert await texts(ledger, f"{SESSION}~1", version=ended.version - 1) == old

    grown = [*rewound(), claude(7, 6, "user", "Five.")]
    plain = await imported(ledger, grown)
    assert (plain.entries, plain.session_ids) == (1, done.session_ids)
    assert (await imported(ledger, grown, again=True)).reread == ()
    badly(monkeypatch)
    assert (await imported(ledger, grown, again=True)).session_ids == (SESSION, f"{SESSION}~1.3")


async def test_a_fork_that_somebody_wrote_to_stays_beside_the_new_one__IN_22(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = ledger_over(InMemoryStore())
    badly(monkeypatch)
    await imported(ledger, rewound())
    fork = f"{SESSION}~1"
    await ledger.add_user_message(fork, "Mine.")
    monkeypatch.undo()
    await imported(ledger, rewound(), again=True)
    assert (await texts(ledger, fork))[-1] == "Mine."
    assert await texts(ledger, f"{fork}.2") == ["One.", "Two.", "Three.", "Four."]


async def test_a_change_of_the_window_that_is_read_otherwise_is_seen__IN_22(monkeypatch: pytest.MonkeyPatch) -> None:
    """The entries are the same; only what a compaction kept was not read."""
    talk = [claude(n, n - 1 or None, "user" if n % 2 else "assistant", f"message {n}") for n in range(1, 5)]
    kept = {"preservedMessages": {"anchorUuid": uuid(6), "uuids": [uuid(3), uuid(4)]}}
    lines = [*talk, boundary(5, **kept), summary(6, 5, "a summary"), claude(7, 4, "user", "Where is it?")]
    ledger = ledger_over(InMemoryStore())
    monkeypatch.setattr(claude_branch, "left_by", lambda metadata, summary, order: ([], False, True))
    await imported(ledger, lines)
    assert len(await texts(ledger, SESSION)) == 2
    monkeypatch.undo()
    assert (await imported(ledger, lines, again=True)).reread == (SESSION,)
    assert (await texts(ledger, SESSION))[1:] == ["message 3", "message 4", "Where is it?"]
    assert (await imported(ledger, lines, again=True)).reread == ()


async def test_a_session_that_was_not_imported_is_refused__IN_22() -> None:
    ledger = ledger_over(InMemoryStore())
    await ledger.add_user_message("chat", "Mine.")
    with pytest.raises(SessionExists, match="already holds other events;"):
        await imported(ledger, CHAT, again=True)
    assert await texts(ledger) == ["Mine."]


async def test_a_session_that_expired_is_refused__IN_22(older: pytest.MonkeyPatch) -> None:
    clock = SetClock()
    ledger = ledger_over(InMemoryStore(clock=clock), clock=clock)
    await imported(ledger, CHAT)
    await ledger.set_expiry("chat", 1)
    clock.advance(seconds=2)
    older.undo()
    with pytest.raises(SessionExists):
        await imported(ledger, CHAT, again=True)


SAMPLES_OF_ALL = sorted(path.name for path in SAMPLES.iterdir() if path.suffix != ".md")


@pytest.mark.parametrize("file", SAMPLES_OF_ALL)
async def test_what_is_read_as_it_is_stored_is_not_added_again__IN_22(file: str) -> None:
    ledger = ledger_over(InMemoryStore())
    found = TranscriptFile(lambda: iter((SAMPLES / file).read_bytes().splitlines(keepends=True)), name="file")
    first = await ledger.import_conversations(found)
    done = await ledger.import_conversations(found, again=True)
    assert (done.entries, done.reread, done.skipped) == (0, (), first.entries)
    assert done.notes == first.notes


@pytest.mark.parametrize("file", [case.file for case in CASES if case.by_line] + ["claude_branched.jsonl"])
async def test_a_file_that_grew_line_by_line_is_read_as_it_is_stored__IN_22(file: str) -> None:
    ledger = ledger_over(InMemoryStore())
    lines = (SAMPLES / file).read_bytes().splitlines(keepends=True)

    def upto(count: int) -> TranscriptFile:
        return TranscriptFile(lambda: iter(lines[:count]), name="file")

    for count in range(1, len(lines) + 1):
        await ledger.import_conversations(upto(count))
    done = await ledger.import_conversations(upto(len(lines)), again=True)
    assert (done.entries, done.reread) == (0, ())
