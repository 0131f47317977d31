"""The tools, called by the SDK's own client on the server object, over PostgreSQL."""

import asyncio
import logging
from typing import Any

import pytest
from mcp.client import Client

from ledger.adapters.mcp import server
from ledger.errors import IndexBehind
from ledger.llm.tokenizers import Exact
from ledger.memory import MemoryLedger
from tests.adapters.mcp.conftest import call, refused, said

pytestmark = pytest.mark.postgres

READING = {
    "get_context",
    "search_memory",
    "get_history",
    "list_sessions",
    "compare",
    "what_if",
    "verify",
    "recall",
}
WRITING = {
    "add_memory",
    "fork_session",
    "compact_session",
    "restore_session",
    "remove_entry",
    "clear_session",
    "remember",
}


async def test_the_tools_are_those_of_the_specification_and_typed__MC_1(memory: MemoryLedger) -> None:
    async with Client(server(memory)) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert tools.keys() == READING | WRITING
    for tool in tools.values():
        assert tool.output_schema is not None
        assert tool.output_schema["type"] == "object"
        assert tool.description
        assert "context" not in tool.input_schema["properties"], "the SDK's own argument is no argument of callers"


async def test_the_annotations_say_what_a_tool_does__MC_2(memory: MemoryLedger) -> None:
    async with Client(server(memory)) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    hints = {name: tool.annotations for name, tool in tools.items()}
    assert all(hint is not None for hint in hints.values())
    assert {name for name, hint in hints.items() if hint and hint.read_only_hint} == READING
    destructive = {name for name, hint in hints.items() if hint and hint.destructive_hint}
    assert destructive == {"remove_entry", "clear_session"}
    for name in destructive:
        assert "stays in the history" in (tools[name].description or "")
    takes_key = {name for name, tool in tools.items() if "idempotency_key" in tool.input_schema["properties"]}
    assert takes_key == WRITING - {"remember"}
    assert all(hint.idempotent_hint for name, hint in hints.items() if hint and name in takes_key)
    asks_models = {name for name, hint in hints.items() if hint and hint.open_world_hint}
    assert asks_models == {"add_memory", "compact_session"}


async def test_a_read_only_server_has_only_the_tools_that_read(memory: MemoryLedger) -> None:
    async with Client(server(memory, read_only=True)) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == READING
        assert (await refused(client, "add_memory", session_id="s", entries=said("a"))).startswith("unknown_tool: ")


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
async def test_a_day_of_an_agent_in_two_revisions__MC_7(memory: MemoryLedger, revision: str) -> None:
    mode = "legacy" if revision == "2025-11-25" else revision
    async with Client(server(memory), mode=mode) as client:
        assert client.protocol_version == revision
        first = await call(client, "add_memory", session_id="s", entries=said("My order number is 8812."))
        assert [entry["version"] for entry in first["entries"]] == [2]
        asked = {"role": "assistant", "kind": "tool_call", "tool_name": "track", "tool_call_id": "c1"}
        answer = {"role": "tool", "tool_name": "track", "tool_call_id": "c1", "content": {"state": "sent"}}
        await call(client, "add_memory", session_id="s", entries=[{**asked, "arguments": {"order": 8812}}, answer])
        shown = await call(client, "get_context", session_id="s")
        assert [item["kind"] for item in shown["items"]] == ["message", "tool_call", "tool_result"]
        assert shown["items"][1]["text"] == 'track({"order":8812})'
        assert (await call(client, "get_context", session_id="s", version=2))["items"] == shown["items"][:1]
        (found,) = (await call(client, "search_memory", query="order number"))["results"][:1]
        assert (found["session_id"], found["text"]) == ("s", "My order number is 8812.")
        removed = await call(client, "remove_entry", session_id="s", entry_id=shown["items"][0]["id"])
        history = await call(client, "get_history", session_id="s")
        assert [entry["status"] for entry in history["entries"]] == ["removed", "active", "active"]
        compared = await call(client, "compare", session_id="s", before_version=removed["version"] - 1)
        assert [(change["change"], change["text"]) for change in compared["changes"]] == [
            ("removed", "My order number is 8812.")
        ]
        restored = await call(client, "restore_session", session_id="s", version=2)
        assert [item["text"] for item in (await call(client, "get_context", session_id="s"))["items"]] == [
            "My order number is 8812."
        ]
        forked = await call(client, "fork_session", session_id="s", new_session_id="s-2", version=4)
        assert (forked["forked_from"], forked["at_version"]) == ("s", 4)
        await call(client, "clear_session", session_id="s")
        assert (await call(client, "get_context", session_id="s"))["items"] == []
        assert len((await call(client, "get_history", session_id="s", version=restored["version"]))["entries"]) == 4
        rows = (await call(client, "list_sessions"))["sessions"]
        assert {row["session_id"] for row in rows} == {"s", "s-2"}
        tried = await call(client, "what_if", session_id="s-2", config={"profile": "none"}, without=[2])
        assert "8812." not in str(tried["items"])
        kept = await call(client, "remember", text="Ann prefers tea.", user_id="ann", topics=["drinks"])
        assert await call(client, "remember", text="Ann prefers tea.", user_id="ann", topics=["drinks"]) == {
            "memory_id": None,
            "known": True,
        }
        (recalled,) = (await call(client, "recall", query="tea", user_id="ann"))["memories"]
        assert (recalled["memory_id"], recalled["topics"]) == (kept["memory_id"], ["drinks"])
        verdict = await call(client, "verify")
        assert (verdict["ok"], verdict["verdict"]) == (True, "OK-CHAINED")
    assert (await memory.verify()).ok


async def test_a_compaction_takes_entries_out_of_the_context_and_not_of_the_history(memory: MemoryLedger) -> None:
    memory.set_summarizer("s", lambda prompt: "Doors are blue.")
    for number in range(40):
        await memory.add_user_message("s", f"Fact {number}: the colour of door {number} is blue. " * 4)
        await memory.add_assistant_message("s", f"Noted door {number}. " * 4)
    async with Client(server(memory)) as client:
        done = await call(client, "compact_session", session_id="s", force=True, idempotency_key="k")
        assert (done["status"], done["summary"]) == ("done", "Doors are blue.")
        assert done["tokens_after"] < done["tokens_before"]
        again = await call(client, "compact_session", session_id="s", force=True, idempotency_key="k")
        assert (again["version"], again["replayed"]) == (done["version"], True)
        shown = await call(client, "get_context", session_id="s", max_tokens=100_000)
        assert "summary" in {item["type"] for item in shown["items"]}
        history = await call(client, "get_history", session_id="s", max_tokens=100_000)
        assert len(history["entries"]) == 80
        assert {entry["status"] for entry in history["entries"]} == {"active", "covered"}


async def test_a_repeated_call_with_its_key_writes_once(memory: MemoryLedger) -> None:
    async with Client(server(memory)) as client:
        arguments: dict[str, Any] = {"session_id": "s", "entries": said("once"), "idempotency_key": "k-1"}
        first = await call(client, "add_memory", **arguments)
        again = await call(client, "add_memory", **arguments)
        assert (first["replayed"], again["replayed"]) == (False, True)
        assert again["entries"][0]["hash"] == first["entries"][0]["hash"]
        other = {**arguments, "entries": said("twice")}
        assert (await refused(client, "add_memory", **other)).startswith("idempotency_mismatch: ")
        await call(client, "add_memory", session_id="s", entries=said("once"))  # the control: without a key
    assert len(await memory.get_active_entries("s")) == 2


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("get_context", {"session_id": "none", "version": 3}, "session_not_found: session 'none' has no events; list_"),
        ("get_context", {"session_id": "s", "version": 99}, "version_not_found: "),
        ("get_context", {"session_id": "s", "version": 1, "at": "2026-01-01T00:00:00Z"}, "bad_version: at: "),
        ("get_context", {"session_id": "s", "at": "yesterday"}, "bad_time: at: "),
        ("get_context", {"session_id": "s", "cursor": "abc"}, "bad_cursor: cursor: "),
        ("get_context", {"session_id": "s", "cursor": "ü"}, "bad_cursor: cursor: "),
        ("get_context", {"session_id": "s", "max_tokens": 1}, "bad_arguments: max_tokens: must be at least 200"),
        ("get_context", {"sesion_id": "s"}, "unknown_field: 'sesion_id': is not a field of get_context; did you mean"),
        ("get_history", {}, "bad_arguments: session_id: is required"),
        ("remove_entry", {"session_id": "s", "entry_id": "nope"}, "entry_not_found: entry 'nope' was never in "),
        ("restore_session", {"session_id": "s", "version": 0}, "bad_arguments: version: must be at least 1"),
        ("fork_session", {"session_id": "s", "new_session_id": "s"}, "session_exists: "),
        ("add_memory", {"session_id": "a/b", "entries": [{"role": "user", "content": "x"}]}, "bad_name: session_id: "),
        ("remember", {"text": ""}, "empty_content: text: must not be empty"),
        ("remember", {"text": "a", "memory_id": "a\0"}, "nul_not_allowed: memory_id: must not contain NUL"),
        ("remember", {"text": "a", "user_id": "x/y"}, "bad_name: user_id: must not contain slashes"),
        ("add_memory", {"session_id": "s", "entries": []}, "bad_arguments: entries: must have at least 1 items"),
        ("add_memory", {"session_id": "s", "entries": [{"role": "user", "content": " "}]}, "empty_content: entries["),
        ("add_memory", {"session_id": "s", "entries": [{"role": "robot"}]}, "bad_arguments: entries.0.role: must be "),
        ("what_if", {"session_id": "s", "config": {"window": {"type": "magic"}}}, "bad_config: window.type: "),
        ("delete_everything", {}, "unknown_tool: this server has add_memory, "),
    ],
)  # fmt: skip
async def test_an_error_is_a_code_and_what_to_do__MC_3(
    memory: MemoryLedger, tool: str, arguments: dict[str, Any], words: str
) -> None:
    await memory.add_user_message("s", "hello")
    async with Client(server(memory)) as client:
        told = await refused(client, tool, **arguments)
        assert told.startswith(words), told
        assert "Error executing" not in told
        assert "library" not in told, "a client has the tools alone"
        assert "pydantic" not in told
        assert (await call(client, "get_context", session_id="s"))["version"] == 2, "nothing was half-written"


async def test_a_fault_of_the_server_is_in_its_log_and_not_in_the_answer__MC_3(
    memory: MemoryLedger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the secret is 42")

    async def behind(*_: object, **__: object) -> None:
        raise IndexBehind

    async with Client(server(memory)) as client:
        monkeypatch.setattr(type(memory), "search", broken)
        with caplog.at_level(logging.ERROR):
            told = await refused(client, "search_memory", query="x")
        assert told.startswith("internal_error: search_memory failed; ")
        assert "42" not in told
        (record,) = [record for record in caplog.records if record.exc_info]
        assert "the secret is 42" in caplog.text
        assert record.levelno == logging.ERROR
        monkeypatch.setattr(type(memory), "search", behind)  # the control: an error of ours says what to do
        assert (await refused(client, "search_memory", query="x")).startswith("index_behind: the index is being")


async def test_ten_clients_at_once_lose_nothing__MC_7(memory: MemoryLedger) -> None:
    async def write(name: int) -> list[str]:
        async with Client(server(memory)) as client:
            hashes = []
            for number in range(10):
                added = await call(client, "add_memory", session_id="s", entries=said(f"{name}-{number}", "second"))
                versions = [entry["version"] for entry in added["entries"]]
                assert versions[1] == versions[0] + 1, "a batch is in one piece"
                hashes.append(added["entries"][0]["hash"])
            return hashes

    written = await asyncio.gather(*map(write, range(10)))
    stored = [event.hash for event in (await memory.get_log("s", limit=1_000, type="entry.added")).events]
    assert len(stored) == 200
    assert {each for hashes in written for each in hashes} <= set(stored)
    assert (await memory.verify("s")).ok


async def test_a_server_opens_its_own_ledger_where_none_is_given(app_url: str, namespace: str) -> None:
    async with Client(server(database_url=app_url, namespace=namespace)) as client:
        await call(client, "add_memory", session_id="s", entries=said("hello"))
    async with Client(server(database_url=app_url, namespace=namespace)) as client:
        assert (await call(client, "get_context", session_id="s"))["version"] == 2


async def pages(client: Client, tool: str, field: str, **arguments: Any) -> list[dict[str, Any]]:
    """Return the parts of all pages, and check that no page is too large."""
    parts: list[dict[str, Any]] = []
    cursor: str | None = None
    for _ in range(500):
        more = {} if cursor is None else {"cursor": cursor}
        page = await call(client, tool, **arguments, **more)
        tokens = sum(Exact().count_text(str(item["text"])).tokens for item in page[field])
        assert tokens <= arguments["max_tokens"]
        assert page[field], "each page has something"
        parts += page[field] if tool != "get_context" else page[field][::-1]
        cursor = page["next_cursor"]
        if cursor is None:
            return parts
    raise AssertionError("the pages do not end")


def joined(parts: list[dict[str, Any]]) -> dict[str, str]:
    """Return the whole texts by id."""
    texts: dict[str, str] = {}
    for part in parts:
        assert len(texts.get(part["id"], "")) == part["offset"]
        texts[part["id"]] = texts.get(part["id"], "") + part["text"]
    return texts


@pytest.mark.parametrize(("tool", "field"), [("get_context", "items"), ("get_history", "entries")])
async def test_pages_have_all_of_a_long_session_while_others_write__MC_5(
    memory: MemoryLedger, tool: str, field: str
) -> None:
    await memory.update_config("s", {"profile": "none"})
    texts = [f"message {number} " + "word " * (37 * number % 900) for number in range(130)]
    texts[7] = "long " * 5_000 + "ende ünï 漢字 " * 400
    for start in range(0, len(texts), 65):
        await memory.add_entries("s", said(*texts[start : start + 65]))
    async with Client(server(memory)) as client:
        first = await call(client, tool, session_id="s", max_tokens=2_000)
        assert first["next_cursor"] is not None
        found = await pages(client, tool, field, session_id="s", max_tokens=2_000)
        whole = joined(found)
        assert sorted(whole.values()) == sorted(texts)
        await memory.add_user_message("s", "written between two pages")
        after = await call(client, tool, session_id="s", max_tokens=2_000, cursor=first["next_cursor"])
        assert after["version"] == first["version"], "a cursor stays at its version"
        told = await refused(client, tool, session_id="other", max_tokens=2_000, cursor=first["next_cursor"])
        assert told.startswith("bad_cursor: ")
        big = await call(client, tool, session_id="s", max_tokens=200_000)  # the control: one page is enough
        assert big["next_cursor"] is None
