"""A session's state as one JSON object: exported, and imported in place of another. Source: R-000-15."""

import json
from copy import deepcopy
from typing import Any

import pytest

from ledger.errors import InvalidInput
from ledger.events.ids import namespace_id
from ledger.memory import MemoryLedger
from tests.application.conftest import SMALL, contents, talk


async def a_session(ledger: MemoryLedger, session: str = "s") -> dict[str, Any]:
    """Make a session with everything a state can hold, and return its export."""
    ledger.set_summarizer(session, lambda prompt: "They counted.")
    await ledger.update_config(session, {**SMALL, "autoCompress": False})
    await talk(ledger, 4, session=session)
    await ledger.compress(session)
    await ledger.add_tool_call(session, "shell", {"command": "ls"}, tool_call_id="c1", metadata={"n": 1})
    await ledger.add_tool_result(session, "shell", ["a"], tool_call_id="c1", tool_status="error", data={"exit": 1})
    await ledger.add_context(session, "text", "README.md", created_at="2024-01-01T00:00:00Z")
    return await ledger.export_session(session)


async def test_an_export_has_the_shape_of_the_seed(anywhere: MemoryLedger) -> None:
    exported = await a_session(anywhere)
    assert json.loads(json.dumps(exported)) == exported
    assert list(exported) == ["sessionId", "entries", "summaries", "totalTokens"]
    (summary,) = exported["summaries"]
    first, second, third, fourth, call, result, context = exported["entries"]
    assert [(entry["type"], entry["role"]) for entry in (first, call, result, context)] == [
        ("message", "user"),
        ("tool_call", "assistant"),
        ("tool_result", "tool"),
        ("context", "tool"),
    ]
    assert [entry["compressed"] for entry in exported["entries"]] == [True, True, *[False] * 5]
    assert [entry.get("summaryId") for entry in (first, second, third)] == [summary["id"], summary["id"], None]
    assert (fourth["content"], fourth["tokenCount"]) == ("message 4", 10)
    assert call["content"] == 'shell({"command":"ls"})'
    assert context["timestamp"] == "2024-01-01T00:00:00+00:00"
    assert summary["originalEntryIds"] == [first["id"], second["id"]]
    assert (summary["content"], summary["originalTokenCount"]) == ("They counted.", 20)
    assert summary["compressionRatio"] == 20 / summary["tokenCount"]
    assert summary["timeRange"] == {"start": first["timestamp"], "end": second["timestamp"]}
    assert exported["totalTokens"] == (await anywhere.get_stats("s")).total_tokens


async def test_an_imported_state_reads_and_exports_the_same(anywhere: MemoryLedger) -> None:
    exported = await a_session(anywhere)
    sent = deepcopy(exported)
    done = await anywhere.import_session("restored-session", sent)
    assert sent == exported
    assert await anywhere.export_session("restored-session") == {**exported, "sessionId": "restored-session"}
    first, other = await anywhere.get_context("s"), await anywhere.get_context("restored-session")
    assert (first.text, first.messages) == (other.text, other.messages)
    assert (done.session_id, done.total_tokens, done.claimed_tokens) == (
        "restored-session",
        exported["totalTokens"],
        None,
    )
    assert (await anywhere.get_stats("restored-session")).version == done.version
    types = {event.type for event in await anywhere.get_events("restored-session")}
    assert types == {"session.opened", "entry.added", "compaction.completed"}
    assert (await anywhere.verify()).ok


async def test_a_state_may_bring_its_own_name(anywhere: MemoryLedger) -> None:
    exported = await a_session(anywhere)
    done = await anywhere.import_session({**exported, "sessionId": "another"}, user_id="judith")
    assert done.session_id == "another"
    assert await anywhere.export_session("another", user_id="judith") == {**exported, "sessionId": "another"}


async def test_an_equal_state_is_no_event(anywhere: MemoryLedger) -> None:
    exported = await a_session(anywhere)
    before = await anywhere.get_events("s")
    assert (await anywhere.import_session(exported)).version == len(before)
    done = await anywhere.import_session("s", {**exported, "sessionId": "x", "totalTokens": 1})
    assert (done.total_tokens, done.claimed_tokens) == (exported["totalTokens"], 1)
    assert await anywhere.get_events("s") == before


async def test_another_state_takes_the_place_of_the_first_and_history_keeps_both(anywhere: MemoryLedger) -> None:
    exported = await a_session(anywhere)
    await talk(anywhere, 3, session="t")
    before = await anywhere.get_state("t")
    await anywhere.import_session("t", exported)
    assert await anywhere.export_session("t") == {**exported, "sessionId": "t"}
    assert await anywhere.get_state("t", version=before.version) == before
    await anywhere.import_session("t", {"entries": [], "summaries": []})
    assert await contents(anywhere, "t") == []


async def test_entries_that_came_back_by_a_restore_are_exported_once(small: MemoryLedger) -> None:
    small.set_summarizer("s", lambda prompt: "They counted.")
    await talk(small, 4)
    before = (await small.get_state("s")).version
    await small.compress("s", force=True)
    await small.restore("s", before)
    exported = await small.export_session("s")
    assert [(entry["content"], entry["compressed"]) for entry in exported["entries"]] == [
        (f"message {number}", False) for number in range(1, 5)
    ]
    await small.import_session("other", exported)
    assert await contents(small, "other") == await contents(small, "s")
    await small.remove_entry("s", exported["entries"][0]["id"])
    assert len((await small.export_session("s"))["entries"]) == 3


async def test_what_the_seed_saves_is_enough(anywhere: MemoryLedger) -> None:
    """`importSession({ sessionId, entries, summaries, totalTokens })` with the fields of its interfaces."""
    state = {
        "sessionId": "restored-session",
        "entries": [
            {
                "id": f"e{number}",
                "type": kind,
                "role": role,
                "content": content,
                "timestamp": "2024-01-01T00:00:00Z",
                "tokenCount": 5,
                "compressed": number == 1,
                **({"summaryId": "sum-1"} if number == 1 else {}),
            }
            for number, (kind, role, content) in enumerate(
                [
                    ("message", "user", "How do I add auth?"),
                    ("tool_call", "assistant", 'shell({"command":"ls"})'),
                    ("tool_result", "system", "main.py"),
                    ("context", "system", "a file"),
                ],
                start=1,
            )
        ],
        "summaries": [
            {
                "id": "sum-1",
                "content": "User asked about auth.",
                "originalEntryIds": ["e1"],
                "tokenCount": 4,
                "originalTokenCount": 5,
                "compressionRatio": 1.25,
                "createdAt": "2024-01-02T00:00:00Z",
                "timeRange": {"start": "2024-01-01T00:00:00Z", "end": "2024-01-01T00:00:00Z"},
            }
        ],
        "totalTokens": 15_000,
    }
    done = await anywhere.import_session(state)
    assert (done.total_tokens, done.claimed_tokens) == (19, 15_000)
    assert await anywhere.get_context_for_llm("restored-session") == (
        "=== Previous Conversation Summaries ===\n[2024-01-01 - 2024-01-01]\nUser asked about auth.\n\n"
        '=== Recent Conversation ===\nTool Call (shell): shell({"command":"ls"})\n'
        "Tool Result (shell): main.py\nContext: a file"
    )


async def test_calls_and_results_of_the_seed_pair_by_their_order(small: MemoryLedger) -> None:
    """Seed 000 has neither tool names nor call ids; R-GEN-8: a result leaves only with its call."""
    turns = [
        ("message", "user", "one"),
        ("tool_call", "assistant", 'shell({"command":"ls"})'),
        ("tool_call", "assistant", 'read({"path":"a"})'),
        ("tool_result", "tool", "a"),
        ("tool_result", "tool", "text of a"),
        ("tool_call", "assistant", 'shell({"command":"rm"})'),
        ("message", "user", "two"),
        ("tool_call", "assistant", 'shell({"command":"pwd"})'),
        ("tool_result", "tool", "/home"),
        ("message", "assistant", "done"),
        ("message", "user", "three"),
    ]
    entries = [
        {"type": kind, "role": role, "content": content, "timestamp": "2024-01-01T00:00:00Z", "tokenCount": 5}
        for kind, role, content in turns
    ]
    await small.import_session("s", {"entries": entries})
    active = await small.get_active_entries("s")
    calls = [entry.tool_call_id for entry in active if entry.kind == "tool_call"]
    assert len(set(calls)) == len(calls) == 4
    results = [entry for entry in active if entry.kind == "tool_result"]
    assert [entry.tool_call_id for entry in results] == [calls[0], calls[1], calls[3]]
    assert [entry.tool_name for entry in results] == ["shell", "read", "shell"]
    await small.compress("s")
    assert await contents(small) == ["done", "three"], "the abandoned call left too"
    assert await small.export_session("s") == await exported_again(small)


async def exported_again(ledger: MemoryLedger) -> dict[str, Any]:
    """Return the export of an import of the session's export."""
    await ledger.import_session("t", {**await ledger.export_session("s"), "sessionId": "t"})
    return {**await ledger.export_session("t"), "sessionId": "s"}


async def test_a_compressed_entry_without_a_summary_is_not_in_the_window(anywhere: MemoryLedger) -> None:
    entry = {"type": "message", "role": "user"}
    state = {"entries": [{**entry, "content": "gone", "compressed": True}, {**entry, "content": "here"}]}
    await anywhere.import_session("s", state)
    assert await contents(anywhere) == ["here"]
    assert (await anywhere.get_stats("s")).compressed_entries == 1


async def test_importing_compacts_nothing(small: MemoryLedger) -> None:
    entries = [{"type": "message", "role": "user", "content": "many words " * 20}] * 30
    await small.import_session("s", {"entries": entries})
    await small.settle()
    assert (await small.get_stats("s")).active_entries == 30


USER = {"id": "a", "type": "message", "role": "user", "content": "hello"}
OTHER = {**USER, "id": "b"}
SUMMARY = {"id": "s1", "content": "Short.", "originalEntryIds": ["a"], "tokenCount": 1}

ROLLING = {
    "window": {"type": "rolling", "size": 3, "unit": "entry"},
    "compactions": [{"type": "rolling_blocks", "size": 3, "max_summaries": 3, "unit": "entry"}],
}


async def spoken(ledger: MemoryLedger, session: str) -> tuple[str, list[Any]]:
    """Return the text for the model, and the blocks of its summaries."""
    context = await ledger.get_context(session)
    return context.text, [(summary.key, summary.block.number) for summary in context.summaries]


async def test_memory_goes_on_after_an_import_and_a_restore__LAW_28(anywhere: MemoryLedger) -> None:
    for session in ("s", "t"):
        await anywhere.update_config(session, ROLLING)
    for number in range(1, 14):
        await talk(anywhere, 1, first=number)
    await anywhere.import_session("t", json.loads(json.dumps(await anywhere.export_session("s"))))
    then, before = await anywhere.get_state("s"), await spoken(anywhere, "s")
    await anywhere.clear_session("s")
    await talk(anywhere, 5, first=20)
    restored = await anywhere.restore("s", then.version)
    assert await spoken(anywhere, "s") == await spoken(anywhere, "t") == before
    assert await anywhere.restore("s", then.version) == restored, "nothing to restore again"
    for number in range(14, 28):
        for session in ("s", "t"):
            await talk(anywhere, 1, session=session, first=number)
        assert (after := await spoken(anywhere, "s")) == await spoken(anywhere, "t")
    assert after[1] == [("rolling_blocks", number) for number in (8, 7, 6)]
    assert (await anywhere.verify()).ok


@pytest.mark.parametrize("number", [-(2**63), -1, 0, 2**63 - 1])
async def test_a_continuation_may_claim_any_number(ledger: MemoryLedger, number: int) -> None:
    counted = {"starts": [number, 1, number], "dropped": number, "strays": [[number, number], [1, number]]}
    block = {"number": number, "first_item": number, "last_item": number}
    folded = {"seen": number, "edge": number, "number": number}
    folded["retained"] = [{"block": block, "covered": [[1, number]]}]
    failed = {"key": "rolling_blocks", "block": number, "count": number, "entries_since": number}
    await ledger.update_config("s", ROLLING)
    state = {
        "entries": [
            {"id": "a", "type": "message", "role": "user", "content": "x", "timestamp": "2024-01-01T00:00:00Z"}
        ],
        "continuation": {
            "items": {"interactions": counted, "messages": counted, "waiting": [[number, True], [1, False]]},
            "watermarks": [["rolling_blocks", number]],
            "failures": [failed],
            "progress": [{"config": ROLLING["compactions"][0], "folded": folded}],
        },
    }
    await ledger.import_session("s", state)
    await talk(ledger, 9)
    assert "message 9" in (await ledger.get_context("s")).text
    assert (await ledger.verify()).ok


BAD: dict[str, tuple[Any, str, str]] = {
    "a list": ([USER], "wrong_type", "state"),
    "a text": ("{}", "wrong_type", "state"),
    "an unknown field": ({"entrees": []}, "unknown_field", "state.entrees"),
    "entries that are no list": ({"entries": {"a": USER}}, "wrong_type", "entries"),
    "an entry that is a text": ({"entries": ["hello"]}, "wrong_type", "entries[0]"),
    "an unknown field of an entry": ({"entries": [USER, {**OTHER, "x": 1}]}, "unknown_field", "entries[1].x"),
    "an entry of no kind": ({"entries": [{**USER, "type": "note"}]}, "unknown_kind", "entries[0].type"),
    "a blank entry": ({"entries": [USER, {**OTHER, "content": " "}]}, "empty_content", "entries[1].content"),
    "a naive time": ({"entries": [{**USER, "timestamp": "2024-01-01"}]}, "bad_time", "entries[0].timestamp"),
    "a count that is true": ({"entries": [{**USER, "tokenCount": True}]}, "wrong_type", "entries[0].tokenCount"),
    "compressed that is a text": (
        {"entries": [{**USER, "compressed": "no"}]},
        "wrong_type",
        "entries[0].compressed",
    ),
    "a tokenizer that is a number": (
        {"entries": [{**USER, "tokenizer": 5}]},
        "wrong_type",
        "entries[0].tokenizer",
    ),
    "an id twice": ({"entries": [USER, USER]}, "duplicate_id", "entries"),
    "a summary of nobody": (
        {"entries": [USER], "summaries": [{**SUMMARY, "originalEntryIds": ["z"]}]},
        "dangling_id",
        "summaries[0].originalEntryIds",
    ),
    "a summary of a list": (
        {"entries": [USER], "summaries": [{**SUMMARY, "originalEntryIds": [["a"]]}]},
        "dangling_id",
        "summaries[0].originalEntryIds",
    ),
    "a summary of nothing": (
        {"entries": [USER], "summaries": [{**SUMMARY, "originalEntryIds": []}]},
        "dangling_id",
        "summaries[0].originalEntryIds",
    ),
    "a summary that names an entry twice": (
        {"entries": [USER], "summaries": [{**SUMMARY, "originalEntryIds": ["a", "a"]}]},
        "duplicate_id",
        "summaries[0].originalEntryIds",
    ),
    "an entry of no summary": (
        {"entries": [{**USER, "compressed": True, "summaryId": "s2"}], "summaries": [SUMMARY]},
        "dangling_id",
        "entries[0].summaryId",
    ),
    "an entry of a summary that is a list": (
        {"entries": [{**USER, "compressed": True, "summaryId": ["s1"]}], "summaries": [SUMMARY]},
        "wrong_type",
        "entries[0].summaryId",
    ),
    "an entry in two summaries": (
        {"entries": [{**USER, "compressed": True}], "summaries": [SUMMARY, {**SUMMARY, "id": "s2"}]},
        "duplicate_id",
        "summaries[1]",
    ),
    "two summaries of one id": (
        {"entries": [USER, OTHER], "summaries": [SUMMARY, {**SUMMARY, "originalEntryIds": ["b"]}]},
        "duplicate_id",
        "summaries[1]",
    ),
    "a summary of some that are compressed": (
        {
            "entries": [{**USER, "compressed": True}, OTHER],
            "summaries": [{**SUMMARY, "originalEntryIds": ["a", "b"]}],
        },
        "inconsistent",
        "summaries[0]",
    ),
    "a summary without text": (
        {"entries": [USER], "summaries": [{**SUMMARY, "content": " "}]},
        "empty_content",
        "summaries[0].content",
    ),
    "a summary with a bad id": (
        {"entries": [USER], "summaries": [{**SUMMARY, "id": "a b"}]},
        "bad_id",
        "summaries[0].id",
    ),
    "a summary without a count": (
        {"entries": [USER], "summaries": [{**SUMMARY, "tokenCount": None}]},
        "wrong_type",
        "summaries[0].tokenCount",
    ),
    "a time range that is a text": (
        {"entries": [USER], "summaries": [{**SUMMARY, "timeRange": "today"}]},
        "wrong_type",
        "summaries[0].timeRange",
    ),
    "a time range with a middle": (
        {"entries": [USER], "summaries": [{**SUMMARY, "timeRange": {"middle": 1}}]},
        "unknown_field",
        "summaries[0].timeRange.middle",
    ),
    "a key with a space": (
        {"entries": [USER], "summaries": [{**SUMMARY, "key": "a b"}]},
        "bad_value",
        "summaries[0].key",
    ),
    "a block without a number": (
        {"entries": [USER], "summaries": [{**SUMMARY, "block": {"first_item": 1, "last_item": 2}}]},
        "bad_value",
        "summaries[0].block",
    ),
    "a continuation of another shape": ({"continuation": {"items": 5}}, "bad_value", "continuation"),
    "a total that is a text": ({"totalTokens": "15000"}, "wrong_type", "totalTokens"),
    "NUL": ({"entries": [{**USER, "content": "\0"}]}, "nul_not_allowed", "state"),
    "a name that is a number": ({"sessionId": 5}, "wrong_type", "state.sessionId"),
}


@pytest.mark.parametrize("name", BAD)
async def test_a_state_that_is_wrong_is_refused_and_changes_nothing(
    ledger: MemoryLedger, namespace: str, name: str
) -> None:
    state, code, field = BAD[name]
    for there in (False, True):
        if there:
            await talk(ledger, 1)
        before = await ledger._handle.services.store.events.overview(namespace_id(namespace))
        with pytest.raises(InvalidInput) as refused:
            await ledger.import_session("s", state)
        assert (refused.value.code, refused.value.field) == (code, field)
        assert await ledger._handle.services.store.events.overview(namespace_id(namespace)) == before


@pytest.mark.parametrize("arguments", [("s",), ({"entries": []},), (None, {"entries": []})])
async def test_an_import_needs_a_name_and_a_state(ledger: MemoryLedger, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidInput) as refused:
        await ledger.import_session(*arguments)
    assert refused.value.code == "missing_field"
