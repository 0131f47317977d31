"""Sessions of the OpenAI Agents SDK on the ledger, on real PostgreSQL (adapters AD-5, AD-13, OA-1 … OA-5, OA-7)."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from agents.memory import Session
from agents.memory.session_settings import SessionSettings

from ledger.adapters.large_items import LargeValues
from ledger.adapters.openai_agents import MemoryLedgerSession
from ledger.adapters.openai_agents.response_entries import drafts_of
from ledger.errors import InvalidInput, Unavailable
from ledger.events.limits import CONTENT_BYTES
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from tests.support.counting_store import CountingStore
from tests.support.ledgers import ledger_over

HARD: list[Any] = [
    {"role": "user", "content": "x\u0000y\ud800"},
    {"type": "brand_new_item", "big": 2**80, "n": float("inf")},
    {
        "role": "developer",
        "content": [{"type": "input_text", "text": "be brief"}, {"type": "input_image", "image_url": "data:"}],
    },
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": "gAAA",
    },
    {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"a": 1.0}', "id": "fc_1"},
    {"type": "function_call_output", "call_id": "c1", "output": "found"},
    {"type": "custom_tool_call", "call_id": "c2", "name": "sql", "input": "select 1"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "x": 1.0},
    {
        "role": "assistant",
        "id": "msg_1",
        "content": [{"type": "output_text", "text": "hi", "logprobs": None}],
    },
    {"role": "user", "content": " "},
    {"deep": eval("[" * 40 + "]" * 40)},
]


ODD: list[Any] = [
    {"type": ["list"], "content": "hi"},
    {"type": {"an": "object"}, "role": "user", "content": "hi"},
    {"type": "new_call", "call_id": ["list"]},
    {"type": "new_call_output", "call_id": ["list"], "output": "found"},
]


@pytest.fixture
def opened(store: Store, namespace: str) -> MemoryLedger:
    """A ledger over each store in turn; its config would compact."""
    return ledger_over(
        store, namespace=namespace, config={"compactions": [{"type": "token_threshold", "max_entries": 2}]}
    )


@pytest.fixture
async def session(opened: MemoryLedger) -> AsyncIterator[MemoryLedgerSession]:
    """A session over it."""
    async with MemoryLedgerSession("user/42", ledger=opened) as found:
        yield found


async def test_every_item_comes_back_as_it_was__OA_3(session: MemoryLedgerSession, opened: MemoryLedger) -> None:
    """Source: adapters AD-4, AD-5: exactly, also types; in any order of batches."""
    assert isinstance(session, Session)
    await session.add_items(HARD[:4])
    await session.add_items([])
    await session.add_items(HARD[4:])
    await opened.settle()
    found = await session.get_items()
    assert found == HARD
    assert type(found[7]["x"]) is float
    entries = await opened.get_transcript("~user%2F42")
    kinds = [(entry.kind, entry.role) for entry in entries]
    assert kinds[2:7] == [
        ("message", "system"),
        ("message", "assistant"),
        ("tool_call", "assistant"),
        ("tool_result", "tool"),
        ("tool_call", "assistant"),
    ]
    assert [entries[5].content, entries[5].tool_name, entries[8].content] == ["found", "look", "hi"]
    assert "found" not in str(entries[5].data), "text is stored once"
    await opened.edit_entry("~user%2F42", entries[8].entry_id, "edited")
    assert (await session.get_items(3))[0]["content"][0]["text"] == "edited"
    assert (await opened.verify("~user%2F42")).ok


@pytest.mark.parametrize("view", ["transcript", "context"])
async def test_a_type_or_an_id_of_any_json_comes_back__AD_5(opened: MemoryLedger, view: Any) -> None:
    session = MemoryLedgerSession("odd", ledger=opened, config={"profile": "none"}, view=view)
    await session.add_items(ODD)
    assert await session.get_items() == ODD


@pytest.mark.parametrize("wrong", ["hi", None, 5])
async def test_what_is_no_object_is_refused_by_its_place(session: MemoryLedgerSession, wrong: Any) -> None:
    with pytest.raises(InvalidInput, match=r"items\[1\]: must be an object, such as"):
        await session.add_items([{"role": "user", "content": "hi"}, wrong])
    assert await session.get_items() == []


async def test_what_a_caller_does_to_an_item_is_not_in_the_session__AD_5(session: MemoryLedgerSession) -> None:
    await session.add_items(HARD)
    for item in await session.get_items():
        for part in item["content"] if isinstance(item.get("content"), list) else ():
            part["text"] = "other"
        item["content"] = "other"
        for part in [*item.get("summary", ()), *item.get("deep", ())]:
            part.clear()
    popped = await session.pop_item()
    assert [*await session.get_items(), popped] == HARD


async def test_a_mapping_that_changes_an_item_is_noticed(
    session: MemoryLedgerSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: without the item in the data, only text comes back."""
    monkeypatch.setattr("ledger.adapters.large_items.packed", lambda sdk, item, content: {"other": 1})
    await session.add_items(HARD)
    assert await session.get_items() != HARD


async def test_limits_are_those_of_the_call_or_of_the_settings__OA_2(opened: MemoryLedger) -> None:
    session = MemoryLedgerSession("s", ledger=opened, session_settings={"limit": 2})
    assert isinstance(session.session_settings, SessionSettings)
    assert await session.get_items() == []
    await session.add_items([{"role": "user", "content": str(at)} for at in range(2_500)])
    assert [item["content"] for item in await session.get_items()] == ["2498", "2499"]
    assert len(await session.get_items(5_000)) == 2_500
    assert await session.get_items(0) == await session.get_items(-1) == []


async def test_what_is_taken_away_stays_in_the_history__OA_5(
    session: MemoryLedgerSession, opened: MemoryLedger
) -> None:
    """Callers at the same time pop different items. Source: adapters OA-4, AD-9."""
    assert await session.pop_item() is None
    await session.clear_session()
    await session.add_items([{"role": "user", "content": str(at)} for at in range(22)])
    popped = await asyncio.gather(*(session.pop_item() for _ in range(20)))
    assert sorted(int(item["content"]) for item in popped) == list(range(2, 22))
    await session.clear_session()
    assert await session.get_items() == []
    assert len((await opened.get_history("~user%2F42")).entries) == 22


async def test_the_past_is_read_and_forked__AD_13(session: MemoryLedgerSession) -> None:
    await session.add_items([{"role": "user", "content": "one"}])
    before = session.version
    await session.add_items([{"role": "user", "content": "two"}])
    past = session.at(version=before)
    assert await past.get_items() == [{"role": "user", "content": "one"}]
    for change in (past.add_items([{"role": "user", "content": "x"}]), past.pop_item(), past.clear_session()):
        with pytest.raises(InvalidInput):
            await change
    third = await past.fork("c")
    assert await third.get_items() == await past.get_items()
    assert third.version > 0
    await third.add_items([{"role": "user", "content": "on"}])
    for twin in (past, third):
        await twin.close()
    with pytest.raises(Unavailable):
        await past.get_items(0)
    other = await session.fork("b", version=before)
    await other.add_items([{"role": "user", "content": "else"}])
    assert [item["content"] for item in await other.get_items()] == ["one", "else"]
    assert [item["content"] for item in await session.get_items()] == ["one", "two"]
    with pytest.raises(InvalidInput):
        session.at()


async def test_ten_writers_at_once_split_no_batch__AD_8(store: Store, namespace: str) -> None:
    ledgers = [ledger_over(store, namespace=namespace) for _ in range(2)]
    writers = [MemoryLedgerSession("s", ledger=ledgers[at % 2]) for at in range(10)]

    def pair(writer: int, turn: int) -> list[Any]:
        call = {"call_id": f"c{writer}-{turn}", "name": "f", "arguments": "{}"}
        return [
            {"type": "function_call", **call},
            {"type": "function_call_output", "call_id": call["call_id"], "output": "x"},
        ]

    async def write(number: int) -> None:
        for turn in range(5):
            await writers[number].add_items(pair(number, turn))

    await asyncio.gather(*map(write, range(10)))
    found = await writers[0].get_items()
    assert len(found) == 100
    for call, output in zip(found[::2], found[1::2], strict=True):
        assert (call["type"], output["type"], call["call_id"]) == (
            "function_call",
            "function_call_output",
            output["call_id"],
        )
    for number in range(10):
        own = [item["call_id"] for item in found[::2] if item["call_id"].startswith(f"c{number}-")]
        assert own == [f"c{number}-{turn}" for turn in range(5)]


async def test_the_tail_is_swapped_only_if_nobody_wrote_meanwhile__OA_7(session: MemoryLedgerSession) -> None:
    await session.add_items([{"role": "user", "content": str(at)} for at in range(5)])
    snapshot = await session._get_compaction_snapshot(3)
    assert snapshot is not None
    assert ([item["content"] for item in snapshot.items], snapshot.complete) == (["2", "3", "4"], False)
    assert await snapshot.replace_suffix(1, [{"role": "user", "content": "short"}])
    assert [item["content"] for item in await session.get_items()] == ["0", "1", "2", "short"]
    assert not await snapshot.replace_suffix(1, []), "the session has changed"
    stale = await session._get_compaction_snapshot(3)
    assert stale is not None
    await session.add_items([{"role": "user", "content": "meanwhile"}])
    assert not await stale.replace_suffix(0, []), "also by this very object"
    await session.pop_item()
    assert await session._atomic_replace_items([{"role": "user", "content": "all"}])
    assert await session.get_items() == [{"role": "user", "content": "all"}]


async def test_a_result_in_another_batch_has_the_name_of_its_tool__OA_3(
    session: MemoryLedgerSession, opened: MemoryLedger
) -> None:
    await session.add_items(
        [{"type": "function_call", "call_id": f"c{at}", "name": "f", "arguments": ""} for at in "12"]
    )
    results = [{"type": "function_call_output", "call_id": f"c{at}", "output": "x"} for at in "13"]
    await session.add_items([{"role": "user", "content": "hm"}, *results])
    assert (await session.get_items())[-2:] == results
    entries = await opened.get_transcript("~user%2F42")
    assert [entry.tool_name for entry in entries] == ["f", "f", None, "f", None], "no call has the id c3"


async def test_a_session_that_compacts_pops_and_replaces_what_it_shows__AD_6(
    session: MemoryLedgerSession, opened: MemoryLedger
) -> None:
    items: list[Any] = [{"role": ("system", "user")[at > 0], "content": f"{at} " + "word " * 30} for at in range(8)]
    await session.add_items(items)
    config = {"compactions": [{"type": "token_threshold", "max_entries": 2, "recent_window": 1}]}
    await opened.update_config("~user%2F42", config)
    await opened.compress("~user%2F42", force=True)
    assert len(await opened.get_active_entries("~user%2F42")) < 8, "or this proves nothing"
    assert await session.get_items() == items
    assert [await session.pop_item() for _ in range(2)] == items[:5:-1]
    snapshot = await session._get_compaction_snapshot(3)
    assert snapshot is not None
    assert await snapshot.replace_suffix(0, items[7:])
    assert await session.get_items() == [*items[:3], items[7]]
    assert await session._atomic_replace_items(items[:1])
    assert await session.get_items() == items[:1]
    assert (await opened.verify("~user%2F42")).ok


async def test_entries_of_other_writers_are_items_too__AD_6(session: MemoryLedgerSession, opened: MemoryLedger) -> None:
    await session.add_items([{"role": "user", "content": "hello"}])
    await opened.add_assistant_message("~user%2F42", "hi")
    await opened.add_tool_call("~user%2F42", "look", {"a": 1}, tool_call_id="c1")
    await opened.add_tool_result("~user%2F42", "look", "found", tool_call_id="c1")
    assert (await session.get_items())[1:] == [
        {"role": "assistant", "content": "hi"},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "found"},
    ]


def test_a_session_of_its_own_ledger_is_used_from_any_loop__AD_2(store: Store, namespace: str) -> None:
    shared = InMemoryStore()
    one, two = (MemoryLedgerSession("s", store=shared) for _ in range(2))
    for session in (one, two):
        asyncio.run(session.add_items([{"role": "user", "content": "x"}]))
    assert len(asyncio.run(two.get_items())) == 2
    asyncio.run(one.close())
    with pytest.raises(Unavailable):
        asyncio.run(one.get_items())
    assert asyncio.run(two.ledger.get_stats("s")).total_entries == 2
    asyncio.run(two.close())


def test_items_over_the_limit_of_a_write_are_refused_by_their_place__LF_5(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ledger.session.attachments.BESIDE_BYTES", 2 * CONTENT_BYTES)
    items = [{"role": "user", "content": f"{number} " + "y" * CONTENT_BYTES} for number in range(2)]
    with pytest.raises(InvalidInput, match=r"items\[1\]: must have at most 2 MiB .* fewer items"):
        drafts_of(items, LargeValues())


async def test_a_session_that_the_process_knows_is_read_from_its_memory__OA_9() -> None:
    """All that the store is asked for is the newest event, to see whether another process wrote."""
    counting: Any = CountingStore(InMemoryStore())
    session = MemoryLedgerSession("s", ledger=ledger_over(counting))
    await session.add_items([{"role": "user", "content": str(at)} for at in range(1_000)])
    for most in (None, 20):
        await session.get_items(most)
        counting.reset()
        assert len(await session.get_items(most)) == (most or 1_000)
        assert (counting.events_read, len(counting.calls)) == (1, 1)
