"""The resources: what a client may read by a URI."""

import json
from typing import Any

import pytest
from mcp import MCPError
from mcp.client import Client

from ledger.adapters.mcp import server
from ledger.memory import MemoryLedger
from tests.adapters.mcp.conftest import said

pytestmark = pytest.mark.postgres


async def read(client: Client, uri: str) -> dict[str, Any]:
    """Return what a URI has."""
    (content,) = (await client.read_resource(uri)).contents
    assert content.mime_type == "application/json"
    found = json.loads(getattr(content, "text", ""))
    assert isinstance(found, dict)
    return found


async def test_the_resources_are_those_of_the_specification__MC_4(memory: MemoryLedger) -> None:
    async with Client(server(memory)) as client:
        templates = (await client.list_resource_templates()).resource_templates
    assert {template.uri_template for template in templates} == {
        "ledger://sessions{?after}",
        "ledger://sessions/{session_id}/{view}{?version,user_id,after}",
        "ledger://sessions/{session_id}/entries/{entry_id}{?version,user_id}",
    }


async def test_a_session_is_read_now_and_as_it_was__MC_4(memory: MemoryLedger) -> None:
    added = await memory.add_user_message("two words", "hello", user_id="ann")
    await memory.add_assistant_message("two words", "hi", user_id="ann")
    await memory.remove_entry("two words", added.entry_id, user_id="ann")
    here = "ledger://sessions/two%20words"
    async with Client(server(memory)) as client:
        (row,) = (await read(client, "ledger://sessions"))["sessions"]
        assert (row["session_id"], row["user_id"], row["version"]) == ("two words", "ann", 4)
        now = await read(client, f"{here}/context?user_id=ann")
        assert [item["text"] for item in now["context"]] == ["hi"]
        then = await read(client, f"{here}/context?version=3&user_id=ann")
        assert [item["text"] for item in then["context"]] == ["hello", "hi"]
        transcript = await read(client, f"{here}/transcript?user_id=ann")
        assert [(entry["text"], entry["status"]) for entry in transcript["transcript"]] == [
            ("hello", "removed"),
            ("hi", "active"),
        ]
        events = (await read(client, f"{here}/events?user_id=ann&version=2"))["events"]
        assert [event["type"] for event in events] == ["session.opened", "entry.added"]
        assert json.loads(events[1]["text"])["content"] == "hello"
        assert events[1]["previous_hash"] == events[0]["hash"]
        whole = await read(client, f"{here}/entries/{added.entry_id}?user_id=ann")
        assert (whole["status"], [change["type"] for change in whole["history"]]) == (
            "removed",
            ["entry.added", "entry.removed"],
        )


@pytest.mark.parametrize("view", ["context", "transcript", "events"])
async def test_the_pages_of_a_view_have_all_of_it_once__MC_5(memory: MemoryLedger, view: str) -> None:
    await memory.update_config("s", {"profile": "none"})
    texts = [f"{number}: " + "word " * 400 for number in range(60)]
    texts[3] = "long " * 20_000
    await memory.add_entries("s", said(*texts))
    found: dict[int, str] = {}
    uri: str | None = f"ledger://sessions/s/{view}"
    async with Client(server(memory)) as client:
        for page_number in range(50):
            if uri is None:
                break
            page = await read(client, uri)
            if not page_number:
                await memory.add_user_message("s", "written between two pages")
            for part in page[view]:
                assert len(found.get(part["version"], "")) == part["offset"]
                found[part["version"]] = found.get(part["version"], "") + part["text"]
            uri = page["next"]
            assert page["version"] == 61
    assert uri is None
    whole = [found[version] for version in sorted(found)]
    if view == "events":
        whole = [json.loads(payload)["content"] for payload in whole[1:]]
    assert whole == texts


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("ledger://sessions/none/context?version=3", "session_not_found"),
        ("ledger://sessions/none/transcript", "session_not_found"),
        ("ledger://sessions/s/transcript?version=99", "version_not_found"),
        ("ledger://sessions/s/events?version=99", "version_not_found"),
        ("ledger://sessions/s/context?version=-1", "bad_version"),
        ("ledger://sessions/s/context?version=x", "bad_version"),
        ("ledger://sessions/s/context?version=99999999999999999999", "bad_version"),
        ("ledger://sessions/s/secrets", "bad_value"),
        ("ledger://sessions/s/context?after=abc", "bad_cursor"),
        ("ledger://sessions/a%2Fb/context", "bad_name"),
        ("ledger://sessions/..%2F..%2Fetc/context", "bad_name"),
        ("ledger://sessions/s/entries/nope", "entry_not_found"),
        ("ledger://sessions?after=abc", "bad_cursor"),
    ],
)
async def test_a_wrong_uri_is_refused_with_a_code__MC_3(memory: MemoryLedger, uri: str, code: str) -> None:
    await memory.add_user_message("s", "hello")
    async with Client(server(memory)) as client:
        with pytest.raises(MCPError, match=f"^{code}: ") as refused:
            await client.read_resource(uri)
        assert refused.value.error.code == -32602
        with pytest.raises(MCPError, match=r"not found|Unknown"):
            await client.read_resource("file:///etc/passwd")
