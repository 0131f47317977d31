"""An edit changes the text of an entry, and what else it is found by stays. Source: R-REC-1, R-GEN-4."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from ledger.memory import MemoryLedger
from ledger.ports import Store

DAY = datetime(2024, 3, 5, tzinfo=UTC)
#: Each by its kind, and the word that its text does not have.
ENTRIES = {
    "compass": {"kind": "tool_call", "tool_name": "compass", "tool_call_id": "c", "arguments": {}, "content": "old"},
    "lantern": {"kind": "tool_result", "tool_name": "lantern", "tool_call_id": "d", "content": "old"},
    "meadow": {"kind": "context", "content": "old", "metadata": {"source": "a.txt", "caption": "a green meadow"}},
    "Ada": {"kind": "message", "role": "user", "content": "old", "metadata": {"name": "Ada"}},
}


@pytest.fixture
async def ledger(store: Store, namespace: str) -> AsyncIterator[MemoryLedger]:
    config = {"profile": "none", "window": {"type": "recall", "max_tokens": 50}}
    async with MemoryLedger.open(namespace=namespace, store=store, config=config) as opened:
        await opened.add_entries("s", [{**entry, "created_at": DAY, "tokens": 10} for entry in ENTRIES.values()])
        yield opened


async def edit_all(ledger: MemoryLedger, session: str) -> None:
    for entry in await ledger.get_active_entries(session):
        await ledger.edit_entry(session, entry.entry_id, "new")


async def found(ledger: MemoryLedger, word: str, session: str = "s") -> list[tuple[str, float]]:
    """Return the text and score of each hit."""
    hits = await ledger.search(word, session_id=session)
    return [(hit.text, hit.score) for hit in hits]


@pytest.mark.parametrize("word", ENTRIES)
async def test_an_edited_entry_is_found_by_its_tool_its_captions_and_its_speaker(
    ledger: MemoryLedger, word: str
) -> None:
    before = await found(ledger, word)
    assert [text for text, *_ in before] == ["old"]
    await edit_all(ledger, "s")
    assert await found(ledger, word) == [("new", before[0][1])]
    assert await found(ledger, "old") == []


async def test_an_edited_entry_is_of_the_day_that_it_was_of(ledger: MemoryLedger) -> None:
    question = "what did Ada say on March 5, 2024?"
    before = await found(ledger, question)
    await edit_all(ledger, "s")
    assert [score for _, score in await found(ledger, question)] == [score for _, score in before]


async def test_a_fork_that_edits_an_entry_of_its_parent_finds_it_as_the_parent_does(ledger: MemoryLedger) -> None:
    await ledger.fork("s", "fork")
    await edit_all(ledger, "fork")
    for word in ENTRIES:
        assert [text for text, *_ in await found(ledger, word, "fork")] == ["new"], word
        assert [text for text, *_ in await found(ledger, word)] == ["old"], word


async def test_an_edited_entry_is_as_old_as_it_was(ledger: MemoryLedger) -> None:
    """R-REC-1: of equal scores the newest entry is first, not the one whose text is the newest."""
    for text in ("violin", "a", "b", "c", "d", "orchid"):
        await ledger.add_context("t", text, source=text, tokens=10)
    for entry in await ledger.get_active_entries("t"):
        if entry.content == "violin":
            await ledger.edit_entry("t", entry.entry_id, "orchid")
    (newest, newest_score), (oldest, oldest_score) = [
        (hit.version, hit.score) for hit in await ledger.search("orchid", session_id="t")
    ]
    assert newest > oldest
    assert newest_score == oldest_score


async def test_the_past_has_the_same_words(ledger: MemoryLedger) -> None:
    """R-REC-1: what is searched by itself, as at an old version, and what the index has."""
    await edit_all(ledger, "s")
    for number in range(8):
        await ledger.add_user_message("s", f"filler {number}", tokens=10)
    version = (await ledger.get_state("s")).version
    now = [(await ledger.get_context("s", query=word)).window.recalled for word in ENTRIES]
    await ledger.add_user_message("s", "more")
    then = [(await ledger.get_context("s", query=word, version=version)).window.recalled for word in ENTRIES]
    assert [[version for version, _ in recalled] for recalled in now] == [[2], [3], [4], [5]]
    assert [[version for version, _ in recalled] for recalled in then] == [[2], [3], [4], [5]]


async def test_verify_expects_the_same_pieces(ledger: MemoryLedger) -> None:
    await edit_all(ledger, "s")
    await found(ledger, "new")
    assert (await ledger.verify(caches=True)).findings == ()
