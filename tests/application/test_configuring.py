"""Configuring a ledger and its sessions, and choosing the summarizer. Source: R-CFG-1, R-CFG-9, R-SUM-2, R-SUM-9."""

from typing import Any

import pytest

from ledger.errors import InvalidInput
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from projections.memory_config import config as memory_config
from projections.memory_config.config import MemoryConfig
from tests.application.conftest import SMALL, talk


def fields(config: MemoryConfig) -> dict[str, Any]:
    return memory_config.dump(config)["compactions"][0]


async def test_the_seeds_update_changes_what_it_names(anywhere: MemoryLedger) -> None:
    """V-CFG-5."""
    await talk(anywhere, 1)
    changed = (await anywhere.update_config("s", {"maxTokens": 100_000, "autoCompress": False})).config
    assert (await anywhere.get_state("s")).config == changed
    default = fields(memory_config.load({}))
    assert fields(changed) == {**default, "max_tokens": 100_000, "auto_compress": False}
    assert (await anywhere.get_events("s"))[-1].type == "config.changed"


async def test_a_change_that_changes_nothing_is_no_event(anywhere: MemoryLedger) -> None:
    await talk(anywhere, 1)
    for changes in ({}, {"maxEntries": 100}, {"max_entries": None}):
        await anywhere.update_config("s", changes)
    assert (await anywhere.get_state("s")).version == 2


async def test_a_change_acts_from_the_next_batch_on_and_compacts_nothing_itself(anywhere: MemoryLedger) -> None:
    await talk(anywhere, 12)
    await anywhere.update_config("s", SMALL)
    await anywhere.settle()
    assert (await anywhere.get_stats("s")).summaries == 0
    await talk(anywhere, 1, first=13)
    assert (await anywhere.get_stats("s")).active_entries == 2


async def test_a_config_may_be_set_before_the_first_entry(anywhere: MemoryLedger) -> None:
    await anywhere.update_config("s", {"maxEntries": 7})
    await talk(anywhere, 1)
    opened, _ = await anywhere.get_events("s")
    assert opened.payload.config["compactions"][0]["max_entries"] == 7
    assert fields((await anywhere.get_state("s")).config)["max_entries"] == 7


async def test_sessions_begin_with_the_config_of_their_ledger(store: Store, namespace: str) -> None:
    async with MemoryLedger.open(namespace=namespace, store=store, config=SMALL) as ledger:
        await talk(ledger, 1)
    async with MemoryLedger.open(namespace=namespace, store=store, config={"maxEntries": 9}) as ledger:
        await talk(ledger, 1)
        await talk(ledger, 1, session="later")
        chosen = {name: fields((await ledger.get_state(name)).config)["max_entries"] for name in ("s", "later")}
        assert chosen == {"s": 5, "later": 9}


async def test_the_config_of_new_sessions_may_change(anywhere: MemoryLedger) -> None:
    """R-CFG-9: the defaults of seed 000's manager, as its `updateConfig` changes them."""
    await talk(anywhere, 1, session="old")
    changed = await anywhere.update_config(None, {"maxEntries": 7})
    assert (changed.version, fields(changed.config)["max_entries"]) == (0, 7)
    assert fields((await anywhere.update_config(None, {"autoCompress": False})).config)["max_entries"] == 7
    await talk(anywhere, 1, session="new")
    chosen = {name: fields((await anywhere.get_state(name)).config)["max_entries"] for name in ("old", "new")}
    assert chosen == {"old": 100, "new": 7}
    await anywhere.update_config(None, {"profile": "none"}, replace=True)
    await talk(anywhere, 1, session="other")
    assert (await anywhere.get_state("other")).config.compactions == ()
    with pytest.raises(InvalidInput, match="maxEntries"):
        await anywhere.update_config(None, {"profile": "memory_manager", "maxEntries": 0}, replace=True)


@pytest.mark.parametrize(
    "options",
    [{"existing": True}, {"user_id": "mia"}, {"expected_version": 0}, {"idempotency_key": "k"}],
    ids=lambda options: next(iter(options)),
)
async def test_the_config_of_new_sessions_belongs_to_no_session(small: MemoryLedger, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        await small.update_config(None, {"maxEntries": 7}, **options)
    assert (refused.value.code, refused.value.field) == ("needs_session", next(iter(options)))


async def test_a_config_may_be_given_loaded(namespace: str) -> None:
    loaded = memory_config.load({"profile": "rolling_interactions", "size": 4})
    async with MemoryLedger.open(namespace=namespace, store=InMemoryStore(), config=loaded) as ledger:
        await talk(ledger, 1)
        assert (await ledger.get_state("s")).config == loaded


async def test_a_bad_config_opens_nothing(namespace: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        async with MemoryLedger.open(namespace=namespace, store=InMemoryStore(), config={"maxEntries": 0}):
            pass
    assert (refused.value.code, refused.value.field) == ("bad_config", "maxEntries")


@pytest.mark.parametrize("empty", [[], "", 0, False])
async def test_an_empty_config_of_another_type_is_not_the_default(empty: Any) -> None:
    with pytest.raises(InvalidInput):
        async with MemoryLedger.open(store=InMemoryStore(), config=empty):
            pass


async def test_a_refused_change_leaves_the_config_as_it_was(anywhere: MemoryLedger) -> None:
    await talk(anywhere, 1)
    with pytest.raises(InvalidInput):
        await anywhere.update_config("s", {"maxEntries": 7, "compressionRatio": 1})
    assert (await anywhere.get_state("s")).config == memory_config.load({})


async def texts(ledger: MemoryLedger, *sessions: str) -> list[str]:
    """Return the summary each session gets at its sixth entry."""
    for session in sessions:
        await ledger.clear_session(session)
        await ledger.add_entries(session, [{"role": "user", "content": "many words " * 20}] * 6)
    await ledger.settle()
    return [(await ledger.get_summaries(session))[0].text.split("\n")[0] for session in sessions]


async def test_a_session_may_have_a_summarizer_of_its_own(small: MemoryLedger) -> None:
    heuristic = "[Previous conversation summary]"
    assert await texts(small, "a", "b") == [heuristic, heuristic]
    small.set_summarizer(None, lambda prompt: "of the ledger")
    small.set_summarizer("a", lambda prompt: "of the session")
    assert await texts(small, "a", "b") == ["of the session", "of the ledger"]
    small.set_summarizer("a", None)
    assert await texts(small, "a", "b") == [heuristic, "of the ledger"]
    small.set_summarizer(None, None)
    assert await texts(small, "a", "b") == [heuristic, heuristic]


async def test_a_summarizer_belongs_to_the_session_of_one_user(small: MemoryLedger) -> None:
    small.set_summarizer("a", lambda prompt: "of judith", user_id="judith")
    assert await texts(small, "a") == ["[Previous conversation summary]"]
    await small.add_entries("a", [{"role": "user", "content": "many words " * 20}] * 6, user_id="judith")
    await small.settle()
    assert (await small.get_summaries("a", user_id="judith"))[0].text == "of judith"


async def test_the_summarizer_gets_the_seeds_prompt(small: MemoryLedger) -> None:
    prompts: list[str] = []

    def summarize(prompt: str) -> str:
        prompts.append(prompt)
        return "Short."

    small.set_summarizer("s", summarize)
    await talk(small, 6)
    (prompt,) = prompts
    assert prompt.startswith("Summarize the following conversation, preserving:\n1. Key topics discussed\n")
    assert "User: message 1\nUser: message 2\nUser: message 3\nUser: message 4\n" in prompt
    assert "message 5" not in prompt


async def test_a_summarizer_may_be_given_when_opening(namespace: str) -> None:
    ledger = MemoryLedger.open(
        namespace=namespace, store=InMemoryStore(), config=SMALL, summarizer=lambda prompt: "Mine."
    )
    async with ledger as opened:
        assert await texts(opened, "s") == ["Mine."]


@pytest.mark.parametrize("order", ["newest_first", "chronological"])
async def test_chat_messages_are_oldest_first_in_either_order(anywhere: MemoryLedger, order: str) -> None:
    """R-001-9, seed 001: newest first is the text; an endpoint answers the last message."""
    blocks = {"type": "rolling_blocks", "size": 2, "max_summaries": 2}
    config = {"window": {"type": "rolling", "size": 2, "order": order}, "compactions": [blocks]}
    await anywhere.update_config("s", config, replace=True)
    anywhere.set_summarizer("s", lambda prompt: "Of " + prompt.partition("User: ")[2].partition("\n")[0])
    await anywhere.add_entries("s", [{"role": "system", "content": "Be brief."}])
    for number in range(1, 7):
        await anywhere.add_user_message("s", f"q{number}")
        await anywhere.add_assistant_message("s", f"a{number}")
        await anywhere.settle()
    await anywhere.add_user_message("s", "now?")
    context = await anywhere.get_context("s")
    spoken = ["Be brief.", "Of q2", "Of q4", "q6", "a6", "now?"]
    assert [message["content"].rpartition("\n")[2] for message in context.messages] == spoken
    assert [message["content"].rpartition("\n")[2] for message in context.formatted()] == spoken
    newest_first = context.text.index("now?") < context.text.index("q6") < context.text.index("Of q4")
    assert newest_first == (order == "newest_first")


@pytest.mark.parametrize(
    ("profile", "shown", "blocks"),
    [
        ("rolling", 21, [(23, 43), (44, 64), (65, 85)]),
        ("rolling_messages", 21, [(23, 43), (44, 64), (65, 85)]),
        ("rolling_interactions", 41, [(2, 22)]),
    ],
)
async def test_the_acceptance_criteria_of_seed_001_have_a_profile(
    namespace: str, profile: str, shown: int, blocks: list[tuple[int, int]]
) -> None:
    """V-001-4 with 85 messages, as its page says."""
    async with MemoryLedger.open(namespace=namespace, store=InMemoryStore(), config={"profile": profile}) as ledger:
        for number in range(1, 86):
            await (ledger.add_user_message if number % 2 else ledger.add_assistant_message)("s", f"message {number}")
            await ledger.settle()
        context = await ledger.get_context("s")
        messages = [message["content"] for message in context.messages[len(context.summaries) :]]
        assert messages == [f"message {number}" for number in range(86 - shown, 86)]
        found = [(each.block.first_item, each.block.last_item) for each in reversed(context.summaries)]
        assert found == blocks
        assert (await ledger.get_state("s")).config.profile == profile
