"""A file becomes the session its name says, and never goes on with another conversation."""

import pytest

from ledger.errors import InvalidInput, SessionExists
from ledger.events.names import check_name
from ledger.formats.importers import TranscriptFile, documents, read, session_name_of
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.support.driver import SetClock
from tests.support.ledgers import ledger_over

HELLO = b'[{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]'
ALIKE = b'[{"role": "user", "content": "hello"}, {"role": "assistant", "content": "another answer"}]'
EDITED = b'[{"role": "user", "content": "hello, edited"}, {"role": "assistant", "content": "hi"}]'
OTHER = b'[{"role": "user", "content": "another talk"}]'
LONGER = HELLO[:-1] + b', {"role": "user", "content": "and then?"}]'


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("chat.json", "chat"),
        ("r1/chat.jsonl.gz", "chat"),
        ("gpt4__t-0.00__p-0.95__astropy-1.traj", "gpt4__t-0.00__p-0.95__astropy-1"),
        ("v1.2.json", "v1.2"),
        (".json", "json"),
        ("-", "imported"),
        ("会話 その1.json", "会話-その1"),
        ("Разговор.jsonl", "Разговор"),
        ("हिन्दी.json", "हिन्दी"),
        ("Ge\u0301rald.json", "G\xe9rald"),  # a name as macOS writes it
        ("a\u200bb\u202e.json", "a-b"),
    ],
)
def test_only_endings_that_name_a_format_are_left_out(path: str, name: str) -> None:
    assert session_name_of(path) == name


def test_different_names_give_different_sessions() -> None:
    names = ["🎉.json", "🎂.json", "\udcff.json", "…", "x" * 300 + "1", "x" * 300 + "2", "語" * 300, "語" * 299]
    found = [session_name_of(name) for name in names]
    assert len(set(found)) == len(names)
    assert found[0].startswith("imported-")
    assert all(check_name(name, field="session") and len(name) < 250 for name in found)


async def test_a_file_goes_on_only_with_its_own_conversation(ledger: MemoryLedger) -> None:
    await ledger.import_conversations(read(documents(HELLO), name="chat"))
    with pytest.raises(SessionExists, match="chat"):
        await ledger.import_conversations(read(documents(OTHER), name="chat"))
    again = await ledger.import_conversations(read(documents(LONGER), name="chat"))
    assert (again.entries, again.skipped) == (1, 2)
    assert [entry.content for entry in await ledger.get_active_entries("chat")] == ["hello", "hi", "and then?"]


async def test_a_file_goes_on_in_a_new_life_if_the_session_has_expired(namespace: str) -> None:
    clock = SetClock()
    ledger = ledger_over(InMemoryStore(clock), namespace=namespace, clock=clock)
    await ledger.import_conversations(read(documents(HELLO), name="chat"))
    await ledger.set_expiry("chat", 60)
    clock.advance(60)
    await ledger.import_conversations(read(documents(LONGER), name="chat"))
    assert [entry.content for entry in await ledger.get_active_entries("chat")] == ["and then?"]


@pytest.mark.parametrize("other", [ALIKE, EDITED])
async def test_two_conversations_that_share_messages_are_not_mixed(ledger: MemoryLedger, other: bytes) -> None:
    await ledger.import_conversations(read(documents(HELLO), name="chat"))
    await ledger.add_user_message("chat", "said since, which is no other file")
    with pytest.raises(SessionExists, match="chat"):
        await ledger.import_conversations(read(documents(other), name="chat"))
    again = await ledger.import_conversations(read(documents(LONGER), name="chat"))
    assert (again.entries, again.skipped) == (1, 2)


async def test_a_session_that_was_talked_in_takes_no_file(ledger: MemoryLedger) -> None:
    await ledger.add_user_message("chat", "live")
    with pytest.raises(SessionExists):
        await ledger.import_conversations(read(documents(HELLO), name="chat"))


async def test_a_given_name_is_the_session_as_it_is(ledger: MemoryLedger) -> None:
    lines = HELLO.splitlines(keepends=True)
    done = await ledger.import_conversations(TranscriptFile(lambda: iter(lines), name="chat", session_id="会話 1"))
    assert done.session_ids == ("会話 1",)
    with pytest.raises(InvalidInput, match="session_id: must not contain slashes"):
        await ledger.import_conversations(TranscriptFile(lambda: iter(lines), name="chat", session_id="a/b"))


async def test_a_conversation_without_messages_is_no_session(ledger: MemoryLedger) -> None:
    several = b'{"messages": []}\n{"messages": [{"role": "user", "content": "hello"}]}\n{"messages": []}'
    for number in (1, 2):
        done = await ledger.import_conversations(read(documents(several), name="chat"))
        assert (done.sessions, done.entries, done.skipped) == (1, 2 - number, number - 1)
        assert done.session_ids == ("chat-2",)
    assert [session.session_id for session in await ledger.list_sessions()] == ["chat-2"]
    alone = await ledger.import_conversations(read(documents(b'{"messages": []}'), name="chat-2"))
    assert (alone.sessions, alone.entries, alone.session_ids) == (0, 0, ())
