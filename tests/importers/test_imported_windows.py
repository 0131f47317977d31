"""The window of an imported session is the window that its agent had. Source: adapters IN-4, IN-5."""

import json
from typing import Any

import pytest

from ledger.formats.export.importing import Imported
from ledger.formats.importers import TranscriptFile
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.support.agent_logs import SESSION, boundary, claude, item, rollout, summary, uuid
from tests.support.ledgers import ledger_over

Lines = list[dict[str, Any]]


def talk(count: int) -> Lines:
    return [
        claude(n, n - 1 if n > 1 else None, "user" if n % 2 else "assistant", f"message {n}")
        for n in range(1, count + 1)
    ]


async def imported(lines: Lines, ledger: MemoryLedger) -> Imported:
    raw = [json.dumps(line).encode() + b"\n" for line in lines]
    return await ledger.import_conversations(TranscriptFile(lambda: iter(raw), name=SESSION))


async def shown(lines: Lines, *, growing: bool = False) -> tuple[list[tuple[str, str]], Imported]:
    """Return role and text of each message of the window, without the heading of a summary, and the result."""
    ledger = ledger_over(InMemoryStore())
    for number in range(1, len(lines)) if growing else ():
        await imported(lines[:number], ledger)
    done = await imported(lines, ledger)
    found = (await ledger.get_context(done.session_ids[0])).messages
    return [(each["role"], str(each["content"]).rpartition("\n")[2]) for each in found], done


@pytest.mark.parametrize("growing", [False, True])
@pytest.mark.parametrize(
    "kept",
    [
        {"preservedSegment": {"headUuid": uuid(3), "anchorUuid": uuid(6), "tailUuid": uuid(4)}},
        {"preservedMessages": {"anchorUuid": uuid(6), "uuids": [uuid(3), uuid(4)]}},
        {"preservedMessages": {"anchorUuid": uuid(6), "uuids": [uuid(4)], "allUuids": [uuid(3), uuid(4)]}},
    ],
    ids=["segment", "messages", "all messages"],
)
async def test_messages_that_claude_code_kept_stay_beside_the_summary__IN_4(kept: Any, growing: bool) -> None:
    lines = [
        *talk(4),
        boundary(5, **kept),
        summary(6, 5, "a summary"),
        claude(7, 4, "user", "Where is it?"),
        claude(8, 7, "assistant", "There."),
    ]
    window, done = await shown(lines, growing=growing)
    assert [text for _, text in window] == ["a summary", "message 3", "message 4", "Where is it?", "There."]
    assert done.notes == ()


async def test_a_compaction_that_keeps_nothing_leaves_the_summary__IN_4() -> None:
    """The control: without the names of kept messages, all of them leave."""
    window, _ = await shown([*talk(4), boundary(5), summary(6, 5, "a summary"), claude(7, 6, "user", "Go on.")])
    assert [text for _, text in window] == ["a summary", "Go on."]


async def test_messages_kept_before_the_summary_are_shown_before_it__IN_4() -> None:
    kept = {"preservedSegment": {"headUuid": uuid(1), "anchorUuid": uuid(5), "tailUuid": uuid(2)}}
    lines = [*talk(4), boundary(5, **kept), summary(6, 2, "a summary"), claude(7, 6, "user", "Go on.")]
    window, _ = await shown(lines)
    assert [text for _, text in window] == ["message 1", "message 2", "a summary", "Go on."]


async def test_an_old_kept_message_is_shown_after_the_summary_that_it_follows__IN_4() -> None:
    kept = {"preservedMessages": {"anchorUuid": uuid(6), "uuids": [uuid(1)]}}
    lines = [*talk(4), boundary(5, **kept), summary(6, 5, "a summary"), claude(7, 1, "user", "Go on.")]
    window, _ = await shown(lines)
    assert [text for _, text in window] == ["a summary", "message 1", "Go on."]


async def test_a_kept_message_that_the_file_lacks_is_said_so__IN_4() -> None:
    kept = {"preservedMessages": {"anchorUuid": uuid(6), "uuids": [uuid(99), uuid(4)]}}
    window, done = await shown([*talk(4), boundary(5, **kept), summary(6, 5, "a summary")])
    assert [text for _, text in window] == ["a summary", "message 4"]
    assert [(note.kind, note.line) for note in done.notes] == [("window_not_known", 6)]


@pytest.mark.parametrize("parent", [4, 6])
async def test_a_rewind_to_kept_messages_leaves_them__IN_4(parent: int) -> None:
    """What follows the summary follows the messages that were kept beside it."""
    kept = {"preservedSegment": {"headUuid": uuid(3), "anchorUuid": uuid(6), "tailUuid": uuid(4)}}
    lines = [
        *talk(4),
        boundary(5, **kept),
        summary(6, 5, "a summary"),
        claude(7, 4, "user", "Where is it?"),
        claude(8, parent, "user", "Instead, this."),
    ]
    window, done = await shown(lines)
    assert [text for _, text in window] == ["a summary", "message 3", "message 4", "Instead, this."]
    assert [note.kind for note in done.notes] == ["rewind"]


async def test_a_prompt_that_follows_a_line_which_was_compacted_is_said_so__IN_4() -> None:
    """What a compaction took away does not come back, so what the agent sent is not known."""
    compacted = [*talk(4), boundary(5), summary(6, 5, "a summary")]
    lines = [*compacted, claude(7, 6, "user", "Where?"), claude(8, 2, "user", "x")]
    window, done = await shown(lines)
    assert [text for _, text in window] == ["a summary", "Where?", "x"]
    assert [(note.kind, note.line) for note in done.notes] == [("window_not_known", 8)]


async def test_results_of_a_kept_call_are_kept_with_it__IN_4() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "dill"}
    lines = [
        claude(1, None, "user", "Look."),
        claude(2, 1, "assistant", "", message={"role": "assistant", "id": "msg_2", "content": [call]}),
        claude(3, 2, "user", "", message={"role": "user", "content": [result]}),
        boundary(4, preservedMessages={"anchorUuid": uuid(5), "uuids": [uuid(2)]}),
        summary(5, 4, "a summary"),
    ]
    window, done = await shown(lines)
    assert [role for role, _ in window] == ["user", "assistant", "tool"]
    assert done.notes == ()


@pytest.mark.parametrize("parent", [None, "ffffffff-0000-4000-8000-000000000001"])
async def test_a_prompt_without_a_known_parent_is_no_rewind_and_is_reported__IN_4(parent: str | None) -> None:
    lines = [*talk(4), claude(5, parent, "user", "What did we order?"), claude(6, 5, "assistant", "Dill.")]
    window, done = await shown(lines)
    assert [text for _, text in window][:4] == [f"message {number}" for number in range(1, 5)]
    assert len(window) == 6
    assert [(note.kind, note.line, note.session_id) for note in done.notes] == [("window_not_known", 5, SESSION)]
    assert done.session_ids == (SESSION,)


async def test_a_note_is_in_the_session_and_is_told_again_by_a_second_import__IN_4() -> None:
    lines = [*talk(4), claude(5, None, "user", "What did we order?")]
    ledger = ledger_over(InMemoryStore())
    first, second = await imported(lines, ledger), await imported(lines, ledger)
    assert (second.entries, second.notes) == (0, first.notes)
    stored = [(e.metadata or {}).get("import_note") for e in (await ledger.get_history(SESSION)).entries]
    assert [note["kind"] for note in stored if note] == ["window_not_known"]


def said(*items: Any) -> list[tuple[str, Any]]:
    return [("response_item", each) for each in items]


BEFORE = said(
    item("user", "Never touch the well."),
    {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "call_1"},
    {"type": "function_call_output", "call_id": "call_1", "output": "fence.md"},
    item("assistant", "Repaired."),
)
AFTER = said(item("user", "Now paint it."), item("assistant", "Painted."))


@pytest.mark.parametrize("growing", [False, True])
async def test_after_a_codex_compaction_the_window_is_its_replacement_history__IN_5(growing: bool) -> None:
    history = [item("developer", "rules"), item("user", "Never touch the well."), item("user", "A summary.")]
    compacted = ("compacted", {"message": "A summary.", "replacement_history": history})
    window, done = await shown(rollout(*BEFORE, compacted, *AFTER), growing=growing)
    assert window == [
        ("system", "rules"),
        ("user", "Never touch the well."),
        ("user", "A summary."),
        ("user", "Now paint it."),
        ("assistant", "Painted."),
    ]
    assert done.notes == ()


async def test_a_second_codex_compaction_replaces_the_first__IN_5() -> None:
    one = ("compacted", {"message": "", "replacement_history": [item("developer", "old"), item("user", "one")]})
    two = ("compacted", {"message": "", "replacement_history": [item("developer", "new"), item("user", "two")]})
    window, _ = await shown(rollout(*BEFORE, one, *AFTER, two))
    assert window == [("system", "new"), ("user", "two")]


async def test_an_opaque_codex_item_stands_in_the_window_and_is_said_so__IN_5() -> None:
    opaque = {"type": "compaction", "encrypted_content": "gAAAA"}
    compacted = ("compacted", {"message": "", "replacement_history": [item("user", "Never."), opaque]})
    window, done = await shown(rollout(*BEFORE, compacted, *AFTER))
    assert [text for _, text in window] == ["Never.", "[compaction]", "Now paint it.", "Painted."]
    assert [(note.kind, note.line) for note in done.notes] == [("window_not_known", 6)]


async def test_a_codex_compaction_of_an_older_release_keeps_what_the_user_said__IN_5() -> None:
    context = said(item("user", "<environment_context>x</environment_context>"))
    lines = rollout(*context, *BEFORE, *AFTER, ("compacted", {"message": "A summary."}), *said(item("user", "Next.")))
    window, _ = await shown(lines)
    assert [text for _, text in window] == ["Never touch the well.", "Now paint it.", "A summary.", "Next."]


async def test_turns_that_codex_rolled_back_leave_the_window__IN_5() -> None:
    back = ("event_msg", {"type": "thread_rolled_back", "num_turns": 1})
    window, done = await shown(rollout(*BEFORE, *AFTER, back, *said(item("user", "Oil it."))))
    assert [text for _, text in window][-2:] == ["Repaired.", "Oil it."]
    assert [note.kind for note in done.notes] == ["rewind"]


def event(number: int, **more: Any) -> dict[str, Any]:
    said = {"action": "message", "source": "user" if number % 2 else "agent", "args": {"content": f"message {number}"}}
    return {"id": number, "timestamp": "2026-05-01T10:00:00", **(more or said)}


@pytest.mark.parametrize(
    "forgotten",
    [{"forgotten_event_ids": [2, 3]}, {"forgotten_events_start_id": 2, "forgotten_events_end_id": 3}],
    ids=["list", "range"],
)
@pytest.mark.parametrize("text", ["a summary", None])
@pytest.mark.parametrize("growing", [False, True])
async def test_events_that_openhands_condensed_leave_the_window__IN_16(
    forgotten: Any, text: str | None, growing: bool
) -> None:
    condensed = event(
        5, action="condensation", source="agent", args={**forgotten, "summary": text, "summary_offset": 1}
    )
    lines = [*(event(number) for number in range(1, 5)), condensed, event(7)]
    window, _ = await shown(lines, growing=growing)
    assert [said for _, said in window] == ["message 1", *([text] if text else []), "message 4", "message 7"]


def gemini(number: int, text: str) -> dict[str, Any]:
    kind = "user" if number % 2 else "gemini"
    return {"id": f"m{number}", "timestamp": "2026-05-01T10:00:00Z", "type": kind, "content": text}


@pytest.mark.parametrize("growing", [False, True])
@pytest.mark.parametrize(
    "history",
    [
        [gemini(9, "compressed"), gemini(3, "message 3")],
        [gemini(1, "message 1"), gemini(2, "masked"), gemini(3, "message 3")],
        [gemini(1, "message 1")],
        [gemini(1, "message 1"), gemini(2, "message 2"), gemini(3, "message 3"), gemini(9, "more")],
        [],
    ],
    ids=["compressed", "masked", "shorter", "longer", "empty"],
)
async def test_a_history_that_gemini_rewrote_is_the_window__IN_16(history: Any, growing: bool) -> None:
    first = {"sessionId": SESSION, "projectHash": "p", "startTime": "2026-05-01T10:00:00Z"}
    said = [gemini(number, f"message {number}") for number in range(1, 4)]
    lines = [first, *said, {"$set": {"messages": history}}, gemini(11, "Next.")]
    window, _ = await shown(lines, growing=growing)
    assert [text for _, text in window] == [*(each["content"] for each in history), "Next."]


async def test_the_session_itself_says_that_its_window_is_not_known__IN_16() -> None:
    lines = [*talk(4), claude(5, None, "user", "What did we order?")]
    ledger = ledger_over(InMemoryStore())
    await imported(talk(4), ledger)
    assert (await ledger.get_stats(SESSION)).window_not_known == 0
    await imported(lines, ledger)
    assert (await ledger.get_stats(SESSION)).window_not_known == 1
    assert (await ledger.get_stats(SESSION, version=2)).window_not_known == 0
    await ledger.clear_session(SESSION)
    assert (await ledger.get_stats(SESSION)).window_not_known == 0


async def test_a_rewind_leaves_the_window_known__IN_16() -> None:
    ledger = ledger_over(InMemoryStore())
    done = await imported([*talk(4), claude(5, 2, "user", "Instead, this.")], ledger)
    assert [note.kind for note in done.notes] == ["rewind"]
    assert (await ledger.get_stats(SESSION)).window_not_known == 0
