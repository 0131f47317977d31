"""The session store of the Claude Agent SDK.

Source: adapters CL-1, CL-2, CL-3, CL-4, CL-5, CL-6, CL-7, adapters CL-8.
"""

import asyncio
import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ledger.adapters.claude_agent import LedgerSessionStore
from ledger.adapters.foreign_names import SEPARATOR, key_of, name_of
from ledger.errors import InvalidInput, Unavailable
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from tests.support.databases import Server
from tests.support.importer_samples import SAMPLES
from tests.support.ledgers import ledger_over

KEY = {"project_key": "-home-mara-garden", "session_id": "5d0c2c1e-8a51-4b0e-9d53-0f6f1f4f7a10"}
AGENT = {**KEY, "subpath": "subagents/agent-a1"}
LINES = [json.loads(line) for line in (SAMPLES / "claude_agents.jsonl").read_text().splitlines()]

Conformance = Callable[..., Any]


async def test_it_keeps_the_14_contracts_of_the_sdk__CL_8(store: Store, sdk: Any) -> None:
    numbers = count()

    def fresh() -> LedgerSessionStore:
        return LedgerSessionStore(ledger=ledger_over(store, namespace=f"contract-{id(store)}-{next(numbers)}"))

    await sdk.testing.run_session_store_conformance(fresh)


async def test_the_contracts_reject_a_store_that_forgets_agents(sdk: Any) -> None:
    """The control of the test above."""

    class Forgetful(LedgerSessionStore):
        async def list_subkeys(self, key: Any) -> list[str]:
            return []

    numbers = count()
    with pytest.raises(AssertionError):
        await sdk.testing.run_session_store_conformance(
            lambda: Forgetful(ledger=ledger_over(InMemoryStore(), namespace=f"n{next(numbers)}"))
        )


async def test_lines_come_back_whole_and_are_messages_calls_and_results__CL_2__CL_3(
    sessions: LedgerSessionStore, opened: MemoryLedger
) -> None:
    await sessions.append(KEY, LINES)
    assert await sessions.load(KEY) == LINES
    entries = await opened.get_active_entries(KEY["session_id"], user_id=KEY["project_key"])
    assert [entry.kind for entry in entries if entry.kind.startswith("tool")] == [
        "tool_call",
        "tool_call",
        "tool_result",
        "tool_result",
    ]
    assert entries[0].content == "Plan the spring work."
    whole = await opened.get_transcript(KEY["session_id"], user_id=KEY["project_key"])
    stored = json.dumps([entry.data for entry in whole])
    assert "Plan the spring work." not in stored, "a text is stored once"
    assert (await opened.verify()).ok


async def test_an_entry_says_which_agent_wrote_it__AD_12(sessions: LedgerSessionStore, opened: MemoryLedger) -> None:
    line = {"type": "assistant", "uuid": "u1", "agentId": "a1", "message": {"role": "assistant", "content": "found"}}
    await sessions.append(KEY, [line, {**line, "uuid": "u2", "agentId": None}])
    entries = await opened.get_active_entries(KEY["session_id"], user_id=KEY["project_key"])
    assert [(entry.metadata or {}).get("agent") for entry in entries] == ["a1", None]
    assert (await sessions.load(KEY) or [])[0] == line


async def test_a_line_that_is_sent_again_is_known_and_one_without_uuid_is_added__CL_2(
    sessions: LedgerSessionStore,
) -> None:
    named, plain = {"type": "user", "uuid": "u-1"}, {"type": "mode", "mode": "plan"}
    await sessions.append(KEY, [named, plain, named])
    await sessions.append(KEY, [named, plain])
    assert await sessions.load(KEY) == [named, plain, plain]


@pytest.mark.parametrize(
    "line",
    [
        {"type": "user", "message": {"role": "user", "content": "x\x00y\ud800"}},
        {"type": "brand_new", "big": 2**80, "small": 1.0},
        {"type": "x", "deep": json.loads("[" * 40 + "]" * 40)},
        {"type": "x", "wide": {f"k{number}": number for number in range(1_500)}},
        {"type": "x", "n" * 300: "a long key"},
        {"type": "assistant", "message": {"id": 5, "content": [{"type": "tool_use", "id": 7, "name": ""}]}},
        {"type": "assistant", "message": "not an object"},
        {"type": "user", "message": {"role": "user", "content": "   "}},
        {"type": "user", "message": {"role": "user", "content": "t" * 1_100_000}},
        {"type": "\x00"},
        {"type": "user", "timestamp": "0001-01-01T00:00:00+14:00", "message": {"role": "user", "content": "hi"}},
    ],
    ids=range(11),
)
async def test_lines_that_an_entry_could_not_hold_come_back_too__AD_5(
    sessions: LedgerSessionStore, line: dict[str, Any]
) -> None:
    await sessions.append(KEY, [line])
    assert await sessions.load(KEY) == [line]


async def test_an_edited_entry_is_loaded_edited(sessions: LedgerSessionStore, opened: MemoryLedger) -> None:
    line = {"type": "user", "uuid": "u-1", "message": {"role": "user", "content": "The code is 4417."}}
    await sessions.append(KEY, [line])
    await opened.edit_entry(KEY["session_id"], "u-1", "The code is ****.", user_id=KEY["project_key"])
    loaded = await sessions.load(KEY)
    assert loaded is not None
    assert loaded[0]["message"]["content"] == "The code is ****."


async def test_what_another_writer_added_is_a_line_too__AD_6(
    sessions: LedgerSessionStore, opened: MemoryLedger
) -> None:
    await sessions.append(KEY, LINES[:3])
    await opened.add_user_message(KEY["session_id"], "By hand.", user_id=KEY["project_key"])
    loaded = await sessions.load(KEY)
    assert loaded is not None
    assert (loaded[-1]["type"], loaded[-1]["message"]) == ("user", {"role": "user", "content": "By hand."})


async def test_a_deleted_session_and_its_agents_are_gone_and_their_history_stays__CL_6(
    sessions: LedgerSessionStore, opened: MemoryLedger
) -> None:
    await sessions.append(KEY, LINES)
    await sessions.append(AGENT, LINES[:1])
    await sessions.delete(KEY)
    assert await sessions.load(KEY) is None
    assert await sessions.load(AGENT) is None
    assert await sessions.list_sessions(KEY["project_key"]) == []
    history = await opened.get_history(KEY["session_id"], user_id=KEY["project_key"])
    assert len(history.entries) == len(LINES)
    await sessions.append(KEY, LINES)
    assert await sessions.load(KEY) == LINES, "the id may be used again"


async def test_a_store_may_refuse_to_delete__AD_9(opened: MemoryLedger) -> None:
    store = LedgerSessionStore(ledger=opened, on_delete="refuse")
    await store.append(KEY, LINES)
    with pytest.raises(InvalidInput, match="must stay"):
        await store.delete(KEY)
    assert await store.load(KEY) == LINES
    with pytest.raises(InvalidInput, match="end or refuse"):
        LedgerSessionStore(ledger=opened, on_delete="erase")  # type: ignore[arg-type]  # what is refused


async def test_writers_at_once_lose_nothing_and_the_summary_counts_all__CL_5(sessions: LedgerSessionStore) -> None:
    batches = [
        [
            {"type": "user", "uuid": f"u-{writer}-{number}", "timestamp": f"2026-03-01T00:00:{writer:02d}.000Z"}
            for number in range(3)
        ]
        for writer in range(12)
    ]
    titled = [{"type": "custom-title", "customTitle": f"title {number}"} for number in range(4)]
    await asyncio.gather(*(sessions.append(KEY, batch) for batch in [*batches, titled]))
    loaded = await sessions.load(KEY)
    assert loaded is not None
    places = {line.get("uuid"): at for at, line in enumerate(loaded)}
    assert len(loaded) == 40
    for batch in batches:
        at = places[batch[0]["uuid"]]
        assert loaded[at : at + 3] == batch, "a batch is together"
    (summary,) = await sessions.list_session_summaries(KEY["project_key"])
    assert summary["data"]["custom_title"] == "title 3"
    first = next(line for line in loaded if "uuid" in line)
    assert summary["data"]["created_at"] == 1_772_323_200_000 + 1_000 * int(first["uuid"].split("-")[1])


@pytest.mark.parametrize(("key", "name"), [("a#b", "~a%23b"), ("subagents/agent-1", "~subagents%2Fagent-1")])
def test_keys_are_names_and_come_back__AD_3(key: str, name: str) -> None:
    assert name_of(key, separators=SEPARATOR) == name
    assert key_of(name) == key


async def test_keys_of_any_text_are_listed_as_they_were__AD_3(sessions: LedgerSessionStore) -> None:
    assert name_of("x" * 300).startswith("~~0d4e2ca9")
    odd = {"project_key": "C:\\work / é", "session_id": "x" * 300}
    await sessions.append(odd, LINES[:1])
    await sessions.append({**KEY, "subpath": "y" * 120 + "/é"}, LINES[:1])
    assert [row["session_id"] for row in await sessions.list_sessions(odd["project_key"])] == ["x" * 300]
    assert await sessions.list_subkeys(KEY) == ["y" * 120 + "/é"]
    with pytest.raises(InvalidInput, match="subpath"):
        await sessions.load({**KEY, "subpath": ""})
    with pytest.raises(InvalidInput, match="project_key"):
        await sessions.list_subkeys({})


def test_a_store_of_its_own_works_on_any_loop_and_raises_when_closed__AD_2(
    server: Server, shared_database: str, namespace: str, sdk: Any
) -> None:
    with server.login("ledger_app") as login:
        store = LedgerSessionStore(server.url_of(login, shared_database), namespace=namespace, allow_unsafe=True)
        asyncio.run(store.append(KEY, LINES))
        assert asyncio.run(store.load(KEY)) == LINES
        asyncio.run(store.close())
    with pytest.raises(Unavailable, match="closed"):
        asyncio.run(store.load(KEY))


async def test_a_write_that_began_is_finished_although_it_is_cancelled__AD_11(
    sessions: LedgerSessionStore, opened: MemoryLedger
) -> None:
    writing = asyncio.ensure_future(sessions.append(KEY, LINES))
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert await sessions.load(KEY) == LINES


def test_importing_the_ledger_imports_no_sdk(source: Path) -> None:
    assert source.exists()
    text = (Path(__file__).parents[3] / "ledger" / "adapters" / "claude_agent" / "claude_session_store.py").read_text()
    assert "import claude_agent_sdk" not in text


async def test_the_past_of_a_transcript_and_a_fork_of_it__AD_13(
    sessions: LedgerSessionStore, opened: MemoryLedger
) -> None:
    await sessions.append(KEY, LINES[:2])
    version = await sessions.version_of(KEY)
    await sessions.append(KEY, LINES[2:])
    past = sessions.at(version=version)
    assert await past.load(KEY) == LINES[:2]
    assert await past.load({**KEY, "session_id": "unknown"}) is None
    with pytest.raises(InvalidInput, match="can only be read"):
        await past.append(KEY, LINES)
    with pytest.raises(InvalidInput, match="can only be read"):
        await past.delete(KEY)
    forked = await sessions.fork(KEY, "another try", version=version)
    assert await sessions.load(forked) == LINES[:2]
    assert {each["session_id"] for each in await sessions.list_sessions(KEY["project_key"])} == {
        KEY["session_id"],
        "another try",
    }
    assert (await sessions.ledger.verify()).ok
    assert (await sessions.version_of({**KEY, "session_id": "unknown"})) == 0
    with pytest.raises(InvalidInput, match="give a version or a moment"):
        sessions.at()


async def test_the_summary_of_a_fork_is_that_of_its_lines__CL_5(sessions: LedgerSessionStore) -> None:
    """Also of a fork from between the lines of one write, and after more lines."""

    def said(text: str) -> dict[str, Any]:
        return {"type": "user", "uuid": text, "message": {"role": "user", "content": text}}

    await sessions.append(KEY, [said("first")])
    await sessions.append(KEY, [said("second"), {"type": "custom-title", "customTitle": "Later"}])
    for version, titles in ((2, []), (await sessions.version_of(KEY), ["Later"]), (None, ["Later"])):
        forked = await sessions.fork(KEY, f"fork-{version}", version=version)
        await sessions.append(forked, [said(f"third {version}")])
        lines = await sessions.load(forked)
        [found] = [
            each
            for each in await sessions.list_session_summaries(KEY["project_key"])
            if each["session_id"] == forked["session_id"]
        ]
        assert lines is not None
        assert lines[0]["message"]["content"] == "first"
        assert found["data"]["first_prompt"] == "first"
        assert [text for text in [found["data"].get("custom_title")] if text] == titles
